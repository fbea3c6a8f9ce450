"""Vector files: what is written is what the definition says, what is read comes back, and bad lines are named."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zoo
from strategies import TOY

import fpformats as fp
from fpformats import reference
from fpformats.cli import main
from fpformats.cli.vectors import SETS, TEXTS
from fpformats.rounding import Rules
from fpformats.testing import boundary_inputs, vectors

CASES = [("e4m3", "fp32", Rules()), ("e2m1", "fp16", Rules("toward_zero", nan="max")), ("e8m0", "bf16", Rules("toward_positive")),
         ("e5m2", "fp64", Rules(overflow="saturate")), ("fp16", "fp32", Rules()), ("s4", "fp32", Rules(nan="zero")),
         (TOY, "fp32", Rules(nan="max"))]  # fmt: skip


def written(fmt, source, rules, how, **options):
    return b"".join(vectors.write_vectors(fp.get(fmt), fp.get(source), rules, how, **options)).decode()


def test_the_commands_tables_are_the_modules():
    assert SETS == vectors.SETS
    assert TEXTS == tuple(vectors.FORMATS)


@pytest.mark.parametrize("how", vectors.FORMATS)
@pytest.mark.parametrize(
    ("fmt", "source", "rules"),
    CASES,
    ids=lambda case: getattr(case, "name", case) if not isinstance(case, Rules) else "",
)
def test_round_trip(how, fmt, source, rules):
    """Pairs are the definition's; reading gives them back; the same arguments, the same bytes."""
    options = {"which": "random", "seed": 3, "count": 400}
    text = written(fmt, source, rules, how, **options)
    assert text == written(fmt, source, rules, how, **options)
    assert text != written(fmt, source, rules, how, **{**options, "seed": 4})
    row, kind = fp.get(fmt), fp.get(source)
    parts = list(vectors.read_vectors(io.StringIO(text), "file", row, kind))
    inputs, outputs = (np.concatenate(column) for column in zip(*parts, strict=True))
    assert inputs.size == 400
    for bits, code in zip(inputs.tolist(), outputs.tolist(), strict=True):
        assert code == reference.encode(reference.decode(bits, kind), row, rules, source=kind) or np.isnan(
            float(reference.decode(bits, kind))
        )
    report = vectors.verify_vectors(io.StringIO(text), "file", row, kind, rules, title="t", nan_codes="exact")
    assert report
    assert report.inputs == 400


def test_lines_look_like_this():
    """TestFloat's look, $readmemh's, and a table's; widths are those of the types."""
    looks = {"hex": r"[0-9a-f]{8} [0-9a-f]{2}", "csv": "0x[0-9a-f]{8},0x[0-9a-f]{2}", "memh": "[0-9a-f]{8}_[0-9a-f]{2}"}
    heads = {"hex": [], "csv": ["input,output"], "memh": ["// fp32 to e4m3, nearest_even, saturate, set boundary"]}
    for how, look in looks.items():
        lines = written("e4m3", "fp32", Rules(), how).splitlines()
        assert lines[: len(heads[how])] == heads[how]
        body = lines[len(heads[how]) :]
        assert len(body) == boundary_inputs("e4m3").size
        assert all(re.fullmatch(look, line) for line in body)


def test_exhaustive_is_everything_in_order_and_streams():
    text = written("e5m2", "fp16", Rules(), "hex", which="exhaustive").splitlines()
    assert [int(line.split()[0], 16) for line in text] == list(range(1 << 16))
    first = next(iter(vectors.write_vectors(fp.get("e4m3"), fp.get("fp32"), Rules(), "csv", which="exhaustive")))
    assert first == b"input,output\n"  # at once: 2^32 lines are not made before


def test_nan_are_left_out_where_nobody_says():
    text = written("e2m1", "fp32", Rules(), "hex").splitlines()
    x = np.array([int(line.split()[0], 16) for line in text], np.uint32).view(np.float32)
    assert x.size
    assert not np.isnan(x).any()
    assert np.isnan(
        np.array(
            [int(line.split()[0], 16) for line in written("e2m1", "fp32", Rules(nan="zero"), "hex").splitlines()],
            np.uint32,
        ).view(np.float32)
    ).any()


def test_a_wrong_kernels_file_is_explained(tmp_path, capsys):
    x = boundary_inputs("e5m2")
    codes = zoo.TiesAway("e5m2")(x)
    path = tmp_path / "kernel.txt"
    path.write_text(
        "# from the simulator\n\n"
        + "".join(f"{b:08X} {c:02X} 00\n" for b, c in zip(x.view(np.uint32).tolist(), codes.tolist(), strict=True))
    )
    assert main(["verify", "e5m2", str(path)]) == 1
    out = capsys.readouterr().out
    assert "likely cause: ties away from zero" in out
    assert main(["verify", "e5m2", str(path), "--rounding", "nearest_away"]) == 0
    assert f"all {x.size} codes as expected" in capsys.readouterr().out


def test_files_and_pipes(tmp_path, capsys):
    path = tmp_path / "v.memh"
    assert main(["vectors", "e4m3", "--profile", "torch<=2.12", "--to", "memh", "--out", str(path)]) == 0
    assert main(["verify", "e4m3", str(path), "--profile", "torch<=2.12", "--nan-codes", "exact"]) == 0
    assert main(["verify", "e4m3", str(path)]) == 1
    assert "likely cause: overflow rule 'nonfinite'" in capsys.readouterr().out
    made = subprocess.run(
        [sys.executable, "-m", "fpformats", "vectors", "e2m1", "--set", "random", "--count", "7"],
        capture_output=True,
        check=True,
    )
    assert made.stdout.count(b"\n") <= 7
    done = subprocess.run(
        [sys.executable, "-m", "fpformats", "verify", "e2m1", "-"], input=made.stdout, capture_output=True
    )
    assert done.returncode == 0, done


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3f800000 38\n3f800000\n", "line 2: '3f800000'; two hexadecimal numbers were expected"),
        ("3f800000 zz\n", "line 1: '3f800000 zz'"),
        ("\n3f8000000 38\n", "line 2: the input 0x3f8000000 has more than 32 bits"),
        ("3f800000 138\n", "line 1: the output 0x138 has more than 8 bits"),
        ("-1 38\n", "line 1: the input -0x1"),
        ("", "holds no pairs"),
        ("// nothing\n", "holds no pairs"),
    ],
)
def test_malformed_files(text, message, tmp_path, capsys):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    assert main(["verify", "e4m3", str(path)]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["vectors", "e4m3", "--source", "float64", "--set", "exhaustive"], 2, "2^64 inputs"),
        (["vectors", "e4m3", "--rounding", "stochastic"], 2, "two outcomes"),
        (["vectors", "nosuch"], 2, "unknown format"),
        (["vectors", "mxfp4"], 2, "block format"),
        (["vectors", "e4m3", "--source", "int8"], 2, "a float format was expected"),
        (["vectors", "e4m3", "--profile", "numpy"], 2, "says nothing of e4m3"),
        (["verify", "e4m3", "/nonexistent"], 2, "No such file"),
    ],
)
def test_what_is_refused(arguments, status, message, capsys):
    assert main(arguments) == status
    assert message in capsys.readouterr().err


def test_nothing_half_written_is_left(tmp_path, monkeypatch, capsys):
    real = vectors.write_vectors

    def breaks(*arguments, **options):
        yield next(real(*arguments, **options))
        raise OSError("disk full")

    monkeypatch.setattr(vectors, "write_vectors", breaks)
    assert main(["vectors", "e4m3", "--to", "csv", "--out", str(tmp_path / "v.csv")]) == 1
    assert os.listdir(tmp_path) == []
    capsys.readouterr()


def test_the_pages_testbench_has_room_for_all():
    page = Path(__file__).parents[1] / "docs" / "testing.md"
    if not page.exists():
        pytest.skip("docs/ is not beside the tests: not a checkout")
    width, last = re.search(r"reg \[(\d+):0\] vector \[0:(\d+)\]", page.read_text()).groups()
    lines = written("e4m3", "fp32", Rules(), "memh").splitlines()[1:]
    assert len(lines) == int(last) + 1
    assert len(lines[0].replace("_", "")) * 4 == int(width) + 1
