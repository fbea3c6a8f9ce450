"""Break the package on purpose and see that the tests notice: `python tools/mutants.py [elements|blocks] [--most N]`.

Every operator, comparison and constant of the bodies and of the rows, or of what runs recipes, is a candidate; a sample of them is changed, one at a
time, in a copy of the package, and the tests against the definition run there. A mutant that no test notices is printed
as SURVIVED; each has to be explained (the two spellings mean the same) or a test is missing.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
#: what becomes of a piece of source; only inside functions' code, not in docstrings or comments
CHANGES = (
    (r" \+ ", " - "), (r" - ", " + "), (r" & ", " | "), (r" \| ", " & "), (r" \^ ", " | "), (r" >> ", " << "),
    (r" << ", " >> "), (r" > ", " >= "), (r" < ", " <= "), (r" >= ", " > "), (r" <= ", " < "), (r" == ", " != "),
    (r"\bONE\b", "ZERO"), (r"\bZERO\b", "ONE"), (r"\bABS\b", "SIGN"), (r"\bSIGN\b", "ABS"), (r"\bINF_BITS\b", "ABS"),
    (r"\blesser\(", "greater("), (r"\bgreater\(", "lesser("), (r" - 1\b", " - 2"), (r" \+ 1\b", ""), (r"\bTrue\b", "False"),
    (r"\bR\.OVER\b", "R.LARGEST"), (r"\bR\.LAST\b", "R.LARGEST"), (r"\bR\.UP\b", "R.DOWN"), (r"\bmin\(", "max("),
)  # fmt: skip


class Target(NamedTuple):
    """Files of the package, and the tests that have to notice."""

    files: tuple[str, ...]
    tests: tuple[str, ...]
    chosen: str


TARGETS = {
    "elements": Target(
        ("kernels/bodies.py", "compile_row.py", "kernels/philox.py", "randomness.py", "scalars.py"),
        ("tests/test_reference.py", "tests/test_random.py"),
        "(vector and (e4m3 or e5m2 or e2m1 or bf16 or fp16 or e8m0 or toy or int8 or binary8p4se or ue4m3 or e3m2 or e8m3)"
        " and not float16) or integers or limited or ptx or textbook or words",
    ),
    "blocks": Target(
        tuple(f"blocks/{name}.py" for name in "affine expressions recipe run scales scaling tiles".split()),
        ("tests/test_blocks_model.py", "tests/test_blocks.py", "tests/test_integers.py"),
        "hostile or beside or axis or ragged or shapes or quantize or decode or zero_point or absmax or one_chunk",
    ),
}


def candidates(files: tuple[str, ...]) -> list[tuple[str, int, int, int, str]]:
    """(file, line, start, end, new text) of every possible change."""
    out = []
    for name in files:
        inside_text = False
        for number, line in enumerate((ROOT / "fpformats" / name).read_text().splitlines()):
            quotes = line.count('"""')
            if inside_text or quotes:
                inside_text ^= quotes == 1
                continue
            code = line.split("  #")[0]
            if code.lstrip().startswith(("#", "import", "from", '"', "def ", "@", "__all__")) or "->" in code:
                continue
            for pattern, new in CHANGES:
                out += [(name, number, m.start(), m.end(), new) for m in re.finditer(pattern, code)]
    return out


def survives(mutant: tuple[str, int, int, int, str], target: Target) -> bool:
    """Whether the tests pass with this change."""
    name, number, start, end, new = mutant
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "fpformats"
        shutil.copytree(ROOT / "fpformats", copy, ignore=shutil.ignore_patterns("__pycache__", "data"))
        lines = (copy / name).read_text().splitlines(keepends=True)
        lines[number] = lines[number][:start] + new + lines[number][end:]
        (copy / name).write_text("".join(lines))
        shutil.copytree(ROOT / "tests", Path(folder) / "tests", ignore=shutil.ignore_patterns("__pycache__", "data"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        env = {**os.environ, "PYTHONPATH": folder, "FPFORMATS_CACHE_DIR": str(Path(folder) / "cache")}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            target.chosen,
            *target.tests,
        ]
        try:
            return subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=600).returncode == 0
        except subprocess.TimeoutExpired:
            return False


def main() -> int:
    """Try a sample; exit status 1 when one survived."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="?", choices=TARGETS, default="elements")
    parser.add_argument("--most", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    target = TARGETS[options.what]
    everything = candidates(target.files)
    chosen = random.Random(options.seed).sample(everything, min(options.most, len(everything)))
    alive = 0
    for mutant in chosen:
        name, number, start, end, new = mutant
        line = (ROOT / "fpformats" / name).read_text().splitlines()[number]
        survived = survives(mutant, target)
        alive += survived
        print(f"{'SURVIVED' if survived else 'killed'}: {name}:{number + 1}: {line.strip()}", end="")
        print(f"   [{line[start:end].strip()} -> {new.strip() or 'nothing'}, column {start}]", flush=True)
    print(f"{len(chosen) - alive} of {len(chosen)} mutants killed ({len(everything)} possible)")
    return int(alive > 0)


if __name__ == "__main__":
    raise SystemExit(main())
