"""Vector files: what is written is what the definition says, what is read comes back, and bad lines are named."""

from __future__ import annotations

import io
import json
import math
import os
import re
import subprocess
import sys
import zipfile
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import zoo
from strategies import TOY

import fpformats as fp
from fpformats import reference
from fpformats.cli import main
from fpformats.cli.vectors import BLOCK_SOURCES, KINDS, SETS
from fpformats.rounding import Rules
from fpformats.testing import boundary_inputs, vector_sets, vectors
from fpformats.testing.flags import Facts, flag_bits, flag_names
from fpformats.testing.source import Source
from fpformats.testing.vectors import Job

CASES = [("e4m3", "fp32", Rules()), ("e2m1", "fp16", Rules("toward_zero", nan="max")), ("e8m0", "bf16", Rules("toward_positive")),
         ("e5m2", "fp64", Rules(overflow="saturate")), ("fp16", "fp32", Rules()), ("s4", "fp32", Rules(nan="zero")),
         (TOY, "fp32", Rules(nan="max"))]  # fmt: skip


def made(fmt, source, rules, how, **options):
    return b"".join(vectors.write_vectors(Job(fp.get(fmt), fp.get(source), rules, **options), how))


def written(*arguments, **options):
    return made(*arguments, **options).decode()


def read(data, job):
    parts = list(vectors.read_vectors(io.BytesIO(data), "file", job))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def test_the_commands_tables_are_the_modules():
    assert SETS == vectors.SETS
    assert tuple(vectors.FORMATS) == KINDS
    for name in BLOCK_SOURCES:
        fp.encode_blocks(np.ones(32), "mxfp8")
        assert fp.get(name).bits in (16, 32)


@pytest.mark.parametrize("how", vectors.FORMATS)
@pytest.mark.parametrize(
    ("fmt", "source", "rules"),
    CASES,
    ids=lambda case: getattr(case, "name", case) if not isinstance(case, Rules) else "",
)
def test_round_trip(how, fmt, source, rules):
    """Pairs are the definition's; reading gives them back; the same arguments, the same bytes."""
    options = {"which": "random", "seed": 3, "count": 400}
    data = made(fmt, source, rules, how, **options)
    assert data == made(fmt, source, rules, how, **options)
    assert data != made(fmt, source, rules, how, **{**options, "seed": 4})
    row, kind = fp.get(fmt), fp.get(source)
    job = Job(row, kind, rules)
    part = read(data, job)
    inputs, outputs = part["input"][:, 0], part["output"][:, 0]
    assert inputs.size == 400
    for bits, code in zip(inputs.tolist(), outputs.tolist(), strict=True):
        assert code == reference.encode(reference.decode(bits, kind), row, rules, source=kind) or np.isnan(
            float(reference.decode(bits, kind))
        )
    report = vectors.verify_vectors(io.BytesIO(data), "file", job, title="t", nan_codes="exact")
    assert report
    assert report.inputs == 400


def test_lines_look_like_this():
    """TestFloat's look, $readmemh's, and a table's; widths are those of the types."""
    looks = {"hex": r"[0-9a-f]{8} [0-9a-f]{2}", "csv": "0x[0-9a-f]{8},0x[0-9a-f]{2}", "memh": "[0-9a-f]{8}_[0-9a-f]{2}"}
    heads = {
        "hex": [],
        "csv": ["input,output"],
        "memh": [
            "// fp32 to e4m3, nearest_even, saturate, set boundary",
            "// input (one code of 8 digits), output (one code of 2 digits)",
        ],
    }
    for how, look in looks.items():
        lines = written("e4m3", "fp32", Rules(), how).splitlines()
        assert lines[: len(heads[how])] == heads[how]
        body = lines[len(heads[how]) :]
        assert len(body) == boundary_inputs("e4m3").size
        assert all(re.fullmatch(look, line) for line in body)


def test_exhaustive_is_everything_in_order_and_streams():
    text = written("e5m2", "fp16", Rules(), "hex", which="exhaustive").splitlines()
    assert [int(line.split()[0], 16) for line in text] == list(range(1 << 16))
    job = Job(fp.get("e4m3"), fp.get("fp32"), Rules(), which="exhaustive")
    assert next(vectors.write_vectors(job, "csv")) == b"input,output\n"  # at once: 2^32 lines are not made before
    parts = vectors.write_vectors(job, "json")
    assert next(parts).endswith(b'"vectors": [\n')
    assert next(parts).startswith(b'  {"id": 1, "input": "00000000", "output": "00", "flags": ["Zero", "Exact"]},\n')


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


def test_a_forgotten_source_is_guessed(tmp_path, capsys):
    path = tmp_path / "v.hex"
    assert main(["vectors", "e5m2", "--source", "float16", "--out", str(path)]) == 0
    assert main(["verify", "e5m2", str(path)]) == 1
    assert "every input is below 0x10000: are they codes of a narrower type than fp32?" in capsys.readouterr().out
    assert main(["verify", "e5m2", str(path), "--source", "float16"]) == 0


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
        (
            "3f800000 zz\n",
            "line 1: '3f800000 zz'; two hexadecimal numbers were expected, input and output; x and z are bits",
        ),
        ("3f800000 0x\n", "input and output; x and z are bits"),
        ("3f800000 hello\n", "two hexadecimal numbers were expected, input and output\n"),
        ("\n3f8000000 38\n", "line 2: the input 0x3f8000000 has more than 32 bits"),
        ("3f800000 138\n", "line 1: the output 0x138 has more than 8 bits"),
        ("-1 38\n", "line 1: '-1 38'; two hexadecimal numbers were expected"),
        ("+3f800000 38\n", "line 1: '+3f800000 38'; two hexadecimal"),
        ("\u0663\u0663 38\n", "two hexadecimal numbers were expected"),  # int() reads these digits
        ("f" * 5000 + " 38\n", "line 1: the input 0xffffffffffffffff... has more than 32 bits"),
        ("3f800000 38 40000000 40\n", "input and output; each vector on a line of its own"),
        ("", "holds no pairs"),
        ("// nothing\n", "holds no pairs"),
    ],
)
def test_malformed_files(text, message, tmp_path, capsys):
    path = tmp_path / "bad.txt"
    path.write_text(text, encoding="utf-8")
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
        (["vectors", "mxfp4", "--set", "exhaustive"], 2, "too many blocks"),
        (["vectors", "mxfp4", "--source", "float64"], 2, "blocks are of fp32, bf16, fp16"),
        (["vectors", "mxfp4", "--rounding", "toward_zero"], 2, "has its own, nearest_even"),
        (["vectors", "mxfp4", "--overflow", "saturate"], 2, "the recipe decides overflow"),
        (["vectors", "mxfp4", "--tensor-amax", "3"], 2, "has no second level"),
        (["vectors", "e4m3", "--tensor-amax", "3"], 2, "has no second level"),
        (["verify", "mxfp4", "--nan-codes", "bits", "-"], 2, "class"),
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
    lines = [line for line in written("e4m3", "fp32", Rules(), "memh").splitlines() if not line.startswith("//")]
    assert len(lines) == int(last) + 1
    assert len(lines[0].replace("_", "")) * 4 == int(width) + 1


# --- JSON and npz -----------------------------------------------------------------------------------------
SCHEMA = Path(fp.__file__).parent / "data" / "vectors-1.schema.json"


@pytest.mark.peers
@pytest.mark.parametrize(
    ("fmt", "source", "rules", "options"),
    [
        ("e4m3", "fp32", Rules(), {}),
        ("e2m1", "fp16", Rules("toward_zero", nan="max", via=None), {"which": "exhaustive"}),
        ("e5m2", "fp64", Rules(), {"which": "random", "count": 50}),
        ("nvfp4", "fp32", None, {}),
        ("mxfp8", "bf16", None, {"which": "random", "count": 50}),
        ("int4_1x128_compressed_tensors_asymmetric", "fp16", None, {}),
        ("fp8_e4m3_tensor_te", "fp32", None, {"which": "random", "count": 2}),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_json_follows_its_schema(fmt, source, rules, options):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema (extra peers) is not installed")
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    file = json.loads(written(fmt, source, rules, "json", **options))
    assert len(file["vectors"]) > 1
    some = {**file, "vectors": [*file["vectors"][:40], *file["vectors"][40::997]]}
    jsonschema.Draft202012Validator(schema).validate(some)
    assert [vector["id"] for vector in file["vectors"]] == list(range(1, len(file["vectors"]) + 1))
    names = {field["name"] for field in file["fields"]}
    for vector in file["vectors"]:
        assert vector.keys() == names | {"id", "flags"}
        assert set(vector["flags"]) <= file["flags"].keys()
    for key in ("rules", "fields", "flags", "vectors"):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(schema).validate({k: v for k, v in some.items() if k != key})


def facts_of(x, fmt, grid):
    """Flags by exact arithmetic; the grid has the format's magnitudes, and what the next one would be."""
    if isinstance(x, float) and not math.isfinite(x):
        return {"NaN" if math.isnan(x) else "Infinity"}
    size = reference.exact(x)[1]
    found = set()
    if size == 0:
        found.add("Zero")
    if size in grid[:-1]:
        found.add("Exact")
    if size in {(a + b) / 2 for a, b in pairwise(grid)}:
        found.add("Tie")
    if 0 < size < Fraction(fmt.smallest_normal):
        found.add("Subnormal")
    if 0 < size < next(v for v in grid if v):
        found.add("Tiny")
    if size > grid[-2]:
        found.add("Overflow")
    if 0 < size < Fraction(1, 2**126):
        found.add("SubnormalInput")
    return found


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e3m2"])
def test_flags_are_facts(name):
    """Each flag of each vector, and every flag comes."""
    row = fp.get(name)
    file = json.loads(written(name, "fp32", Rules(nan="max"), "json"))
    held = [reference.decode(code, row) for code in range(1 << row.bits)]
    grid = sorted({abs(Fraction(v)) for v in held if isinstance(v, Fraction) or math.isfinite(v)})
    grid.append(Fraction(row.value_of_line(row.max_line + 1)))
    seen = set()
    first = {flag: next(v for v in file["vectors"] if flag in v["flags"]) for flag in file["flags"]}
    for vector in (*file["vectors"][::61], *first.values()):
        x = reference.decode(int(vector["input"], 16), fp.get("fp32"))
        wanted = facts_of(x, row, grid)
        if name == "e3m2":  # it has neither infinity nor NaN: nothing lies above its largest value
            wanted -= {"Tie"} if "Overflow" in wanted else set()
        assert set(vector["flags"]) == wanted, vector
        seen |= wanted
    assert seen == set(file["flags"])


def test_flags_of_blocks():
    """Of x over its scale, which is a power of two here: by hand."""
    bits = np.zeros((5, 32), np.uint32)
    bits[0] = np.float32(1).view(np.uint32)  # over 2^-2 it is 4: exact
    bits[1, 0] = np.float32(4).view(np.uint32)
    bits[1, 1] = np.float32(2.5).view(np.uint32)  # between 2 and 3
    bits[2, 0] = np.float32(7.5).view(np.uint32)  # beyond 6
    bits[3, 3] = np.float32(np.nan).view(np.uint32)
    case = vector_sets.block_case(fp.get("mxfp4"), fp.get("fp32"), bits, None, np.zeros(bits.shape, np.uint8), None)
    cast = Facts(case.scaled(case.due.scales), fp.get("e2m1"))
    numbers = Facts(Source(bits.reshape(-1), fp.get("fp32")), fp.get("e2m1"))
    assert [flag_names(int(f)) for f in flag_bits(numbers, cast, bits.shape)] == [
        ["Exact"], ["Tie"], ["Overflow"], ["NaN"], ["Zero", "Exact"]
    ]  # fmt: skip


def test_npz_has_plain_arrays(tmp_path):
    path = tmp_path / "v.npz"
    path.write_bytes(made("e4m3", "fp32", Rules(), "npz"))
    with np.load(path, allow_pickle=False) as file:
        assert sorted(file) == ["flags", "input", "metadata", "output"]
        x, codes, header = file["input"], file["output"], json.loads(str(file["metadata"]))
        assert (x.dtype, codes.dtype, file["flags"].shape) == (np.uint32, np.uint8, x.shape)
    same = boundary_inputs("e4m3").view(np.uint32)
    np.testing.assert_array_equal(x, same)
    assert (header["format"]["name"], header["rules"]["rounding"], header["schema"]) == (
        "e4m3",
        "nearest_even",
        json.loads(SCHEMA.read_text())["$id"],
    )


def test_the_bytes_of_npz_do_not_change(tmp_path, monkeypatch):
    """Neither with the time nor with the place."""
    import time

    first = made("nvfp4", "fp32", None, "npz")
    monkeypatch.setattr(time, "time", lambda: 2e9)
    assert made("nvfp4", "fp32", None, "npz") == first
    path = tmp_path / "v.npz"
    assert main(["vectors", "nvfp4", "--to", "npz", "--out", str(path)]) == 0
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("name", "begins"), [("v.json", b"{"), ("v.NPZ", b"PK"), ("v.csv", b"input,"), ("v.txt", b"00000000 0\n")]
)
def test_the_suffix_says_the_kind(name, begins, tmp_path):
    assert main(["vectors", "e2m1", "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_other_peoples_json_is_read():
    """Pretty-printed, without our header, in another order."""
    job = Job(fp.get("e4m3"), fp.get("fp32"), Rules())
    text = json.dumps({"vectors": [{"output": "0x38", "input": "3F800000", "comment": "one"}]}, indent=4)
    assert read(b"\n \n" + text.encode(), job)["output"].tolist() == [[0x38]]
    assert read(json.dumps(json.loads(text)).encode(), job)["input"].tolist() == [[0x3F800000]]


@pytest.mark.parametrize("name", ["e4m3", "nvfp4"])
def test_a_wrong_code_is_found_in_every_kind(name, tmp_path, capsys):
    for how in KINDS:
        path = tmp_path / f"v.{how}"
        assert main(["vectors", name, "--set", "random", "--count", "40", "--to", how, "--out", str(path)]) == 0
        data = bytearray(path.read_bytes())
        if how == "npz":
            with np.load(path) as file:
                arrays = dict(file)
            arrays["output"].reshape(-1)[5] ^= 1
            np.savez(path, **arrays)
        else:  # the last digit of the last output
            at = data.rindex(b'", "flags"') - 1 if how == "json" else -2
            data[at] = ord("0") if data[at] != ord("0") else ord("1")
            path.write_bytes(data)
        assert main(["verify", name, str(path)]) == 1
        assert re.search("1 of 40 (codes|blocks) differ", capsys.readouterr().out), how


# --- blocks -------------------------------------------------------------------------------------------------
BLOCKS = ["mxfp8", "nvfp4", "nvfp4_torchao", "nvfp4_te_rowscaled", "mxfp6_e3m2", "fp8_e4m3_tensor_te",
          "fp8_e4m3_128x1_torchao_blockwise", "int4_1x128_compressed_tensors_asymmetric", "nvfp4_te_16x16"]  # fmt: skip


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("name", BLOCKS)
def test_block_vectors_stand_for_themselves(name, how):
    """Each block by itself, with the tensor amax that stands beside it, gives what the file says."""
    row = fp.get(name)
    job = Job(row, fp.get("fp32"), which="random", seed=1, count=12)
    part = read(b"".join(vectors.write_vectors(job, how)), job)
    height, width = (row.block[0] or 1, row.block[1] or 64)
    for i in range(12):
        x = part["input"][i].view(np.float32).reshape(height, width)
        given = {"tensor_amax": part["tensor_amax"][i].view(np.float32)} if row.z else {}
        due = fp.encode_blocks(x, row, **given)
        assert part["output"][i].tolist() == due.codes.reshape(-1).tolist()
        assert part["scale"][i].tobytes() == due.scales.tobytes()
        if row.second:
            assert part["second_level"][i].tobytes() == np.asarray(due.tensor_scale).tobytes()
        if row.zero_point:
            bits = (1 << fp.get(row.element).bits) - 1
            assert part["zero_point"][i, 0] == int(due.zero_points.reshape(-1)[0]) & bits


def test_block_vectors_in_a_given_tensor():
    job = Job(fp.get("nvfp4"), fp.get("fp32"), tensor_amax=1e6)
    part = read(b"".join(vectors.write_vectors(job, "hex")), job)
    assert (part["tensor_amax"].view(np.float32) == 1e6).all()
    x = part["input"].view(np.float32)
    assert part["output"].tolist() == fp.encode_blocks(x, "nvfp4", tensor_amax=1e6).codes.tolist()
    assert fp.encode_blocks(x, "nvfp4").codes.tolist() != part["output"].tolist()


def test_block_lines_look_like_this():
    fields = {"hex": r"[0-9a-f]{128} [0-9a-f]{8} [0-9a-f]{16} [0-9a-f]{2} [0-9a-f]{8}",
              "memh": "[0-9a-f]{128}_[0-9a-f]{8}_[0-9a-f]{16}_[0-9a-f]{2}_[0-9a-f]{8}",
              "csv": "(0x[0-9a-f]{8},){17}(0x[0-9a-f],){16}0x[0-9a-f]{2},0x[0-9a-f]{8}"}  # fmt: skip
    for how, look in fields.items():
        *head, last = written("nvfp4", "fp32", None, how).splitlines()
        assert re.fullmatch(look, last), (how, last)
    assert head[0].startswith("input_0,input_1,") or how != "csv"
    text = written("nvfp4", "fp32", None, "hex").splitlines()[0].split()
    assert text[0][:8] == "40c00000"  # the first number comes first: 6, an e2m1's largest
    assert text[2][0] == "7"


@pytest.mark.parametrize("recipe", ["nvfp4_torchao", "nvfp4_compressed_tensors"])
def test_another_recipes_blocks_are_named(recipe, tmp_path, capsys):
    path = tmp_path / "v.json"
    x = boundary_inputs("nvfp4")
    q = fp.encode_blocks(x, recipe)
    amax = np.float32(np.abs(x).max()).view(np.uint32)
    rows = zip(x.view(np.uint32).tolist(), q.codes.tolist(), q.scales.ravel().tolist(), strict=True)
    found = [
        {
            "input": [f"{v:08x}" for v in bits],
            "tensor_amax": f"{amax:08x}",
            "output": [f"{c:x}" for c in codes],
            "scale": f"{scale:02x}",
            "second_level": f"{amax:08x}",
        }
        for bits, codes, scale in rows
    ]
    path.write_text(json.dumps({"vectors": found}))
    assert main(["verify", "nvfp4", str(path)]) == 1
    assert f"likely cause: what recipe '{recipe}' does" in capsys.readouterr().out


def test_wrong_second_levels_are_named(tmp_path, capsys):
    path = tmp_path / "v.hex"
    lines = written("nvfp4", "fp32", None, "hex").splitlines()
    path.write_text("\n".join(line[:-8] + "3f800000" for line in lines))
    assert main(["verify", "nvfp4", str(path)]) == 1
    assert "a second level is 1 = 0x3f800000, " in capsys.readouterr().out


WHOLE = '{\n "vectors": [\n  {"input": "3f800000", "output": "38"},\n  {"input": "3f800000", "output": "38"}\n ]\n}'
BLOCK_LINE = "0" * 256 + " " + "0" * 64 + " 00"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("mxfp8", "3f800000 38 7f\n", "line 1: '3f800000 38 7f'; input (32 codes of 8 digits), output (32 codes of 2 digits), scale"),
        ("mxfp8", f"{BLOCK_LINE}\n{BLOCK_LINE[:-3]}\n", "line 2:"),
        ("mxfp8", "", "holds no vectors: input (32 codes of 8 digits)"),
        ("e4m3", '{"vectors": [\n{"input": "3f800000"}\n]}', "vector 1: output is null; output (one code of 2 digits)"),
        ("e4m3", '{\n "vectors": [\n  {"input": "3f800000", "output": "38"},\n  {"input": oops\n ]\n}', "line 4: Expecting value"),
        ("e4m3", '{\n "vectors": [\n  {"input": "3f800000", "output": "38"},\n', "line 3: the file ends among its vectors"),
        ("e4m3", '{\n "vectors": [\n  {"input": "3f800000", "output": "138"}\n ]\n}', "line 3: the output 0x138 has more than 8 bits"),
        ("e4m3", '{"vectors": {}}', 'with "vectors", a list, was expected'),
        ("e4m3", '{"format": {"name": "e5m2"},\n "vectors": [\n ]}', "its format is e5m2, e4m3 was expected"),
        ("e4m3", '{"rules": {"rounding": "toward_zero"}, "vectors": []}', "its rounding is 'toward_zero', 'nearest_even' was asked for"),
        ("e4m3", "{\n", "line 2: "),
        ("e4m3", "PK\x03\x04nothing", "an .npz file was expected"),
        ("e4m3", '{"vectors": [{"input": 10, "output": "38"}]}', "vector 1: input is 10; input (one code of 8 digits), in hexadecimal"),
        ("e4m3", '{"vectors": [{"input": "-1", "output": "38"}]}', 'vector 1: input is "-1"; input'),
        ("e4m3", '{"vectors": ' + "[" * 100_000, "; JSON with a list of vectors was expected"),
        ("e4m3", '{\n "vectors": [\n' + "[" * 100_000 + "\n", "; JSON with a list of vectors was expected"),
        ("e4m3", f'{{"vectors": [{{"input": {"1" * 5000}}}]}}', "bad: Exceeds the limit"),
        ("e4m3", WHOLE + WHOLE, "from line 5 on: Extra data; the end of the one JSON object was expected"),
        ("e4m3", WHOLE[:-2], "from line 5 on: Expecting ',' delimiter"),
    ],
)  # fmt: skip
def test_malformed_vectors(name, text, message, tmp_path, capsys):
    path = tmp_path / "bad"
    path.write_text(text)
    assert main(["verify", name, str(path)]) == 1
    captured = capsys.readouterr()
    assert message in " ".join(captured.err.split()), captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"input": np.zeros(3, np.uint32)}, "no array output"),
        ({"input": np.zeros(3, np.uint32), "output": np.zeros(2, np.uint8)}, "3 of input, 2 of output"),
        ({"input": np.zeros((3, 2), np.uint32), "output": np.zeros(3, np.uint8)}, "input has shape (3, 2)"),
        ({"input": np.zeros(3), "output": np.zeros(3, np.uint8)}, "float64"),
        ({"input": np.zeros(3, np.uint32), "output": np.int64([1, 256, 0])}, "vector 2: the output 0x100 has more than 8 bits"),
        ({"input": np.zeros(3, np.uint32), "output": np.int8([1, 2, -1])}, "vector 3: the output -0x1"),
    ],
)  # fmt: skip
def test_malformed_npz(arrays, message, tmp_path, capsys):
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    assert main(["verify", "e4m3", str(path)]) == 1
    assert message in capsys.readouterr().err


def test_broken_npz(tmp_path, capsys):
    """Archives that lie or cannot be unpacked end in one line that names the file, and are never half read."""

    def verified(**members):
        with zipfile.ZipFile(tmp_path / "v.npz", "w") as archive:
            for name, data in members.items():
                archive.writestr(f"{name}.npy", data)
        assert main(["verify", "e4m3", str(tmp_path / "v.npz")]) == 1
        return capsys.readouterr().err

    def array(dtype, claimed, data):
        file = io.BytesIO()
        header = {"descr": dtype, "fortran_order": False, "shape": (claimed,)}
        np.lib.format.write_array_header_1_0(file, header)
        return file.getvalue() + data

    good = {"input": array("<u4", 9, bytes(36)), "output": array("|u1", 9, bytes(9))}
    assert "v.npz: input is shorter than its own header says" in verified(**good | {"input": good["input"][:-4]})
    assert "v.npz: output is shorter than its own header says" in verified(**good | {"output": good["output"][:-1]})
    claims = {"input": array("<u4", 1 << 60, bytes(36)), "output": array("|u1", 1 << 60, bytes(9))}
    assert "v.npz: input is shorter" in verified(**claims)
    assert "v.npz: input: EOF: reading magic string" in verified(**good | {"input": b"none"})
    file = io.BytesIO()
    np.save(file, np.array("{nope"))
    assert "v.npz: metadata: Expecting property name" in verified(**good, metadata=file.getvalue())
    assert "v.npz: metadata: " in verified(**good, metadata=file.getvalue()[:-1])
    verified(**good | {"input": b"none"})
    data = bytearray((tmp_path / "v.npz").read_bytes())
    for offset, message in ((8, "is encrypted"), (10, "compression method is not supported")):
        changed = data.copy()
        changed[changed.find(b"PK\1\2") + offset] = 1 if offset == 8 else 99
        (tmp_path / "v.npz").write_bytes(changed)
        assert main(["verify", "e4m3", str(tmp_path / "v.npz")]) == 1
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("how", ["hex", "csv", "memh", "json"])
@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends(how, end, tmp_path, capsys):
    path = tmp_path / "v"
    data = made("e4m3", "fp16", Rules(), how).decode()
    path.write_bytes(data.replace("\n", end).encode())
    assert main(["verify", "e4m3", str(path), "--source", "fp16"]) == 0
    assert "all 6336 codes" in capsys.readouterr().out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_devices_and_links_are_written_to(tmp_path, capsys):
    """They are not replaced by a file of their name: as root that would be /dev/null."""
    expected = made("e2m1", "fp16", Rules(), "hex")
    (tmp_path / "to.hex").write_bytes(b"old")
    (tmp_path / "link.hex").symlink_to("to.hex")
    vectors_of = ["vectors", "e2m1", "--nan", "raise", "--source", "fp16", "--out"]
    assert main([*vectors_of, str(tmp_path / "link.hex")]) == 0
    assert (tmp_path / "link.hex").is_symlink()
    assert (tmp_path / "to.hex").read_bytes() == expected
    os.mkfifo(tmp_path / "pipe.hex")
    reader = os.open(tmp_path / "pipe.hex", os.O_RDONLY | os.O_NONBLOCK)
    assert main([*vectors_of, str(tmp_path / "pipe.hex")]) == 0
    assert (tmp_path / "pipe.hex").is_fifo()
    assert os.read(reader, 1 << 16) == expected
    os.close(reader)
    (tmp_path / "folder.hex").mkdir()
    assert main([*vectors_of, str(tmp_path / "folder.hex")]) == 1
    assert "folder.hex: is a directory; a file's name was expected" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["folder.hex", "link.hex", "pipe.hex", "to.hex"]


def test_npz_through_a_pipe(tmp_path):
    data = made("mxfp4", "fp32", None, "npz")
    done = subprocess.run([sys.executable, "-m", "fpformats", "verify", "mxfp4", "-"], input=data, capture_output=True)
    assert done.returncode == 0, done
    early = f"{sys.executable} -m fpformats vectors e4m3 --set level2 | head -1"
    done = subprocess.run(["bash", "-c", early], capture_output=True, text=True)
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read from /proc")
@pytest.mark.parametrize("how", ["hex", "json"])
def test_all_float32_vectors_are_never_in_memory(how):
    """Of 2^32 vectors, 40 MB are read; the writer holds less than its 17 GB of inputs by far."""
    arguments = ["vectors", "e4m3", "--set", "exhaustive", "--to", how]
    with subprocess.Popen([sys.executable, "-m", "fpformats", *arguments], stdout=subprocess.PIPE) as writer:
        taken = 0
        while taken < 40_000_000:
            part = writer.stdout.read(1 << 20)
            assert part
            taken += len(part)
        with open(f"/proc/{writer.pid}/status") as status:
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        writer.kill()
    assert peak < 600_000  # kB
