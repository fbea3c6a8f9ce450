"""The command: what it prints, what it writes, how it refuses."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import fpformats as fp
from fpformats.cli import SAMPLE, files, jobs, main, terminal


@pytest.fixture
def run(capsys):
    """Run the command in this process: (status, standard output, standard error)."""

    def run(*arguments: object) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def refused(run):
    """Run the command and require a refusal in one line."""

    def refused(status: int, message: str, *arguments: object) -> None:
        got, out, err = run(*arguments)
        assert got == status, err
        assert out == ""
        assert err.startswith("fpformats: error: ")
        assert err.count("\n") == 1
        assert message in err

    return refused


def process(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fpformats", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


def raw_safetensors(path: Path, entries: dict[str, tuple[str, list[int], bytes]]) -> Path:
    """A .safetensors file by the letter of its specification."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, (dtype, shape, raw) in entries.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


# --- tables -----------------------------------------------------------------------------------


def test_help_and_version(run):
    assert run()[0] == 0
    assert "compare" in run()[1]
    assert run("--version")[1].split()[-1] == fp.__version__
    for name in ("formats", "info", "explain", "compare", "quantize"):
        assert run(name, "--help")[0] == 0


def test_formats(run):
    status, out, err = run("formats")
    assert (status, err) == (0, "")
    rows = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert set(fp.formats("element")) - {name for name in fp.formats("element") if name.startswith("binary")} <= set(
        rows
    )
    assert rows["e4m3"].split() == [
        "e4m3",
        "8",
        "s1",
        "e4",
        "m3",
        "7",
        "448",
        "2^-6",
        "2^-9",
        "2^-3",
        "-",
        "yes",
        "yes",
    ]
    assert "504 formats of IEEE P3109" in out
    assert "binary8p4se" not in out


@pytest.fixture
def weights(tmp_path):
    """Two matrices in one file, and one of them in another."""
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=(8, 64)).astype(np.float32), rng.normal(size=(3, 32)).astype(np.float16)
    np.savez(tmp_path / "both.npz", w=w, b=b)
    np.save(tmp_path / "w.npy", w)
    return tmp_path, w, b


def test_compare_block_formats(run, refused, weights):
    folder, w, b = weights
    status, out, err = run("compare", folder / "w.npy", "--to", "mxfp8,nvfp4,e4m3")
    assert (status, err) == (0, "")
    table = {line.split()[0]: line.split()[1] for line in out.splitlines()[2:] if len(line.split()) > 5}
    assert {name: table[name] for name in ("mxfp8_e4m3", "nvfp4_te", "e4m3")} == {
        "mxfp8_e4m3": "8.25", "nvfp4_te": "4.562", "e4m3": "8",
    }  # fmt: skip
    data = json.loads(run("compare", folder / "both.npz", "--to", "mxfp4", "--json")[1])["formats"]["mxfp4"]
    assert data["count"] == w.size + b.size
    assert data["bits"] == 4.25
    for axis in (0, 1):
        data = json.loads(run("compare", folder / "w.npy", "--to", "nvfp4", "--axis", axis, "--json")[1])
        assert data["formats"]["nvfp4_te"] == fp.compare(w, "nvfp4", axis=axis).as_dict()["nvfp4_te"]
    refused(1, "w: axis=3: x has 2 dimensions", "compare", folder / "w.npy", "--to", "nvfp4", "--axis", 3)
    refused(2, "the recipe decides nan", "compare", folder / "w.npy", "--to", "e4m3,nvfp4", "--nan", "zero")
    refused(2, "unknown format 'nvfp5'", "compare", folder / "w.npy", "--to", "nvfp5")


def test_quantize_block_formats(run, refused, weights):
    folder, w, b = weights
    assert run("quantize", folder / "w.npy", "--to", "nvfp4", "--out", folder / "out.npy")[0] == 0
    np.testing.assert_array_equal(np.load(folder / "out.npy"), fp.quantize(w, "nvfp4"))
    assert run("quantize", folder / "both.npz", "--to", "mxfp4", "--out", folder / "out.npz", "--axis", 0)[0] == 0
    with np.load(folder / "out.npz") as made:
        np.testing.assert_array_equal(made["w"], fp.quantize(w, "mxfp4", axis=0))
        np.testing.assert_array_equal(made["b"], fp.quantize(b, "mxfp4", axis=0))
        assert made["b"].dtype == np.float16
    for name in ("codes.npz", "codes.safetensors"):
        if name.endswith("safetensors"):
            pytest.importorskip("safetensors", reason="safetensors is not installed (pip install '.[files]')")
        assert run("quantize", folder / "w.npy", "--to", "nvfp4", "--codes", "--out", folder / name)[0] == 0
        assert fp.BlockArray.load(folder / name) == fp.encode_blocks(w, "nvfp4")
    stochastic = ("--rounding", "stochastic", "--rng", 5)
    assert run("quantize", folder / "w.npy", "--to", "mxfp8", *stochastic, "--out", folder / "out.npy")[0] == 0
    np.testing.assert_array_equal(np.load(folder / "out.npy"), fp.quantize(w, "mxfp8", rounding="stochastic", rng=5))
    before = sorted(path.name for path in folder.iterdir())
    arguments = ("--to", "nvfp4", "--codes", "--out")
    refused(1, "go into .npz or .safetensors", "quantize", folder / "w.npy", *arguments, folder / "codes.npy")
    refused(1, "--tensor chooses one of 2", "quantize", folder / "both.npz", *arguments, folder / "new.npz")
    assert sorted(path.name for path in folder.iterdir()) == before


def test_formats_all(run):
    data = json.loads(run("formats", "--all", "--json")[1])
    assert [row["name"] for row in data] == list(fp.formats("element"))
    assert next(row for row in data if row["name"] == "binary8p4se")["max"] == 224.0
    assert next(row for row in data if row["name"] == "binary16p1se")["max"] == "2^16382"  # beyond float64
    assert len(json.loads(run("formats", "--json")[1])) < 30


def test_info(run):
    status, out, _ = run("info", "float8_e4m3fn")
    assert status == 0
    facts = dict(line.strip().split("  ", 1) for line in out.splitlines()[1:])
    assert out.splitlines()[0] == "e4m3"
    assert facts["max"].strip() == "448 = 7*2^6"
    assert facts["NaN"].strip() == "0x7f"
    assert facts["infinity"].strip() == "none"
    assert "OFP8" in facts["source"]
    assert run("info", "e2m1")[1].splitlines()[-1].split(None, 1)[1] == "0, 0.5, 1, 1.5, 2, 3, 4, 6"


def test_block_formats(run, refused):
    assert run("info", "nvfp4")[1].rstrip("\n") == fp.get("nvfp4").explain()
    assert json.loads(run("info", "mxfp8_e4m3_torchao018_rceil", "--json")[1])["rule"] == "ceil_log2f"
    data = json.loads(run("formats", "--blocks", "--json")[1])
    assert [row["name"] for row in data] == list(fp.formats("block"))
    names = [line.split()[0] for line in run("formats", "--blocks")[1].splitlines() if line.strip()]
    assert set(fp.formats("block")) <= set(names)
    refused(2, "nvfp4_te is a block format", "compare", "--sample", "--to", "e4m3", "--via", "nvfp4")


def test_explain_block_formats(run, refused):
    status, out, _ = run("explain", "3.1,-0.2", "--to", "mxfp4,nvfp4")
    assert status == 0
    assert out.rstrip("\n") == "\n\n".join(str(fp.explain(["3.1", "-0.2"], name)) for name in ("mxfp4", "nvfp4"))
    data = json.loads(run("explain", "1/3", "--to", "mxfp8,e4m3", "--json")[1])
    assert data["mxfp8_e4m3"]["numbers"][0]["x"] == float(np.float32(1 / 3))
    assert data["e4m3"]["format"] == "e4m3"
    refused(2, "e4m3 takes one number; only block formats take several", "explain", "1,2", "--to", "mxfp8,e4m3")
    refused(2, "VALUE", "explain", "1,two", "--to", "mxfp8")
    refused(2, "the recipe decides overflow", "explain", "1", "--to", "mxfp8", "--overflow", "saturate")
    refused(2, "rounding='stochastic' needs rng", "explain", "1", "--to", "mxfp8", "--rounding", "stochastic")
    refused(1, "a block of mxfp8_e4m3 has at most 32", "explain", ",".join("1" * 33), "--to", "mxfp8")


def test_info_json(run):
    data = json.loads(run("info", "e5m2", "--json")[1])
    assert (data["max"], data["smallest_subnormal"], data["inf_code"], data["nan_code"]) == (
        57344.0,
        2.0**-16,
        0x7C,
        0x7E,
    )
    assert "float8_e5m2" in data["aliases"]


@pytest.mark.parametrize(
    "name", [name for name in fp.formats("element") if not name.startswith("binary")] + ["binary16p1uf", "binary3p1se"]
)
def test_info_of_every_format(run, name):
    assert run("info", name)[0] == 0
    json.loads(run("info", name, "--json")[1], parse_constant=pytest.fail)


# --- explain ----------------------------------------------------------------------------------


def test_explain(run):
    status, out, _ = run("explain", "3.1", "--to", "e4m3,e2m1")
    assert status == 0
    assert "result       3 = code 0x44 = 0 1000 100" in out
    assert "result       3 = code 0x5 = 0 10 1" in out
    data = json.loads(run("explain", "-3.1", "--to", "e4m3", "--json")[1])
    assert data["e4m3"]["exact"] == "-31/10"
    assert data["e4m3"]["code"] == 0xC4


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("-.5", "-0.5"),
        ("-inf", "-448"),
        ("0x1.8p3", "12"),
        ("1/3", "0.34375"),
        ("-1e-9", "-0"),
        (" 2 ", "2"),
        ("nan", "nan"),
    ],
)
def test_explain_takes_any_number(run, value, result):
    status, out, _ = run("explain", value, "--to", "e4m3")
    assert status == 0
    assert f"  result       {result} = code" in out


def test_explain_takes_options(run):
    options = ("--to", "e2m1", "--rounding", "stochastic", "--random", 4, 3, "--json")
    assert json.loads(run("explain", "2.5", *options)[1])["e2m1"]["value"] == 3.0
    x = 1 + 2.0**-4 + 2.0**-40
    assert (
        json.loads(run("explain", f"{x!r}", "--to", "e4m3", "--profile", "torch", "--json")[1])["e4m3"]["via"] == 1.0625
    )


def test_explain_refuses(refused):
    refused(2, "'x' is not a decimal", "explain", "x", "--to", "e4m3")
    refused(2, "did you mean e4m3", "explain", "1", "--to", "e4m4")
    refused(2, "decimal exponent", "explain", "1e999999999", "--to", "e4m3")
    refused(2, "Missing option '--to'", "explain", "1")
    refused(2, "already decides rounding", "explain", "1", "--to", "e4m3", "--profile", "torch", "--rounding", "to_odd")
    refused(2, "'nearest' is not one of", "explain", "1", "--to", "e4m3", "--rounding", "nearest")
    refused(1, "NaN has no code in e2m1", "explain", "nan", "--to", "e2m1")


# --- compare ----------------------------------------------------------------------------------


def test_the_sample_in_every_format(run):
    status, out, err = run("compare", "--sample", "--to", "all")
    assert (status, err) == (0, "")
    assert out.startswith("sample: 147456 values (384 x 384)\n")
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    assert {"fp32", "bf16", "e4m3", "e5m2", "e2m1", "e8m0"} <= set(rows)
    assert rows["fp32"][2] == "inf"


def test_the_sample_is_the_layer_it_says():
    weight = np.load(SAMPLE, allow_pickle=False)
    assert (weight.dtype, weight.shape) == (np.dtype("<f4"), (384, 384))
    assert SAMPLE.stat().st_size < 600_000
    provenance = (SAMPLE.parent / "README.md").read_text(encoding="utf-8")
    from hashlib import sha256

    assert sha256(SAMPLE.read_bytes()).hexdigest() in provenance
    assert SAMPLE.name in provenance


def test_compare_json_has_the_counts(run, tmp_path):
    np.save(tmp_path / "x.npy", np.array([1.0, 500.0, 0.001, 1e-5], np.float32))
    data = json.loads(run("compare", tmp_path / "x.npy", "--to", "e4m3", "--to", "fp16", "--json")[1])
    assert (data["values"], data["tensors"]) == (4, ["x"])
    assert list(data["formats"]) == ["e4m3", "fp16"]
    row = data["formats"]["e4m3"]
    assert (row["saturated"], row["flushed"], row["subnormal"], row["bits"]) == (1, 1, 1, 8)
    assert row["max_rel_error"] == 1.0
    np.save(tmp_path / "y.npy", np.array([1e6], np.float32))
    text = run("compare", tmp_path / "y.npy", "--to", "fp16", "--json")[1]
    assert json.loads(text, parse_constant=pytest.fail)["formats"]["fp16"]["sqnr_db"] == "-inf"


X = np.array([[0.1, -1.5, 500.0], [0.001, 1e-5, 2.0]], np.float32)


def test_every_kind_of_file_gives_the_same_report(run, tmp_path):
    np.save(tmp_path / "c.npy", X)
    np.save(tmp_path / "fortran.npy", np.asfortranarray(X))
    np.save(tmp_path / "swapped.npy", X.astype(">f4"))
    np.savez(tmp_path / "a.npz", w=X)
    np.savez_compressed(tmp_path / "b.npz", w=X)
    np.savetxt(tmp_path / "a.csv", X, delimiter=",", fmt="%.17g")
    (tmp_path / "titled.csv").write_text("a,b,c\n" + (tmp_path / "a.csv").read_text(), encoding="utf-8-sig")
    raw_safetensors(tmp_path / "a.safetensors", {"w": ("F32", [2, 3], X.astype("<f4").tobytes())})
    expected = fp.compare(X, ["e4m3", "fp16"]).as_dict()
    for path in sorted(tmp_path.iterdir()):
        status, out, err = run("compare", path, "--to", "e4m3,fp16", "--json")
        assert (status, err) == (0, ""), path
        got = json.loads(out)
        assert got["values"] == 6
        for name, row in expected.items():
            assert got["formats"][name] == pytest.approx(row), path


def test_low_precision_safetensors_without_torch(run, tmp_path):
    """Codes on disk are the numbers they stand for: bf16 0x3fc0 is 1.5, e4m3 0x7e is 448, e5m2 0x01 is 2^-16."""
    raw_safetensors(
        tmp_path / "low.safetensors",
        {
            "bf16": ("BF16", [2], np.array([0x3FC0, 0xC000], "<u2").tobytes()),
            "e4m3": ("F8_E4M3", [1], b"\x7e"),
            "e5m2": ("F8_E5M2", [1], b"\x01"),
            "fnuz": ("F8_E4M3FNUZ", [1], b"\x7f"),
            "scale": ("F8_E8M0", [1], b"\x80"),
            "half": ("F16", [1], np.array([0.5], "<f2").tobytes()),
        },
    )
    values = {t.name: np.concatenate(list(t.chunks(5))).tolist() for t in files.read(tmp_path / "low.safetensors")}
    assert values == {
        "bf16": [1.5, -2.0],
        "e4m3": [448.0],
        "e5m2": [2.0**-16],
        "fnuz": [240.0],
        "scale": [2.0],
        "half": [0.5],
    }
    data = json.loads(run("compare", tmp_path / "low.safetensors", "--to", "fp32", "--json")[1])
    assert data["values"] == 7
    assert data["formats"]["fp32"]["sqnr_db"] == "inf"


def test_safetensors_agree_with_the_library(run, tmp_path):
    """Both ways: its files are read here, and ours are read there."""
    library = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed (pip install '.[files]')")
    tensors = {"a": X, "b": np.arange(4, dtype=np.float64), "empty": np.zeros((0, 2), np.float32)}
    library.save_file(tensors, tmp_path / "in.safetensors")
    read = {t.name: (t.shape, t.dtype) for t in files.read(tmp_path / "in.safetensors")}
    assert read == {name: (value.shape, value.dtype) for name, value in tensors.items()}
    assert run("quantize", tmp_path / "in.safetensors", "--to", "e4m3", "--out", tmp_path / "out.safetensors")[0] == 0
    back = library.load_file(tmp_path / "out.safetensors")
    for name, value in tensors.items():
        np.testing.assert_array_equal(back[name], fp.quantize(value, "e4m3"))
        assert back[name].dtype == value.dtype


def test_integers_beside_floats_are_passed_over(run, tmp_path):
    np.savez(tmp_path / "m.npz", ids=np.arange(500), w=X)
    status, out, err = run("compare", tmp_path / "m.npz", "--to", "e4m3", "--json")
    assert (status, json.loads(out)["tensors"]) == (0, ["w"])
    assert err.startswith("note: ")
    assert "ids" in err
    assert (
        json.loads(run("compare", tmp_path / "m.npz", "--to", "e4m3", "--tensor", "ids", "--json")[1])["values"] == 500
    )
    np.save(tmp_path / "ids.npy", np.arange(500))
    assert (
        json.loads(run("compare", tmp_path / "ids.npy", "--to", "e4m3", "--json")[1])["formats"]["e4m3"]["saturated"]
        == 51
    )


def test_options_reach_the_casts(run, tmp_path):
    np.save(tmp_path / "x.npy", np.array([500.0, np.nan], np.float32))

    def row(*options: str) -> dict[str, float]:
        return json.loads(run("compare", tmp_path / "x.npy", "--to", "e4m3", *options, "--json")[1])["formats"]["e4m3"]

    assert (row()["nan"], row()["saturated"]) == (1, 1)
    assert row("--overflow", "nonfinite")["nan"] == 2
    assert row("--profile", "ml_dtypes")["nan"] == 2
    assert row("--profile", "torch")["nan"] == 1
    np.save(tmp_path / "y.npy", np.array([0.01], np.float32))
    assert (
        json.loads(run("compare", tmp_path / "y.npy", "--to", "e4m3", "--json")[1])["formats"]["e4m3"]["flushed"] == 0
    )
    flush = ("--subnormals", "flush_after_rounding", "--json")
    assert json.loads(run("compare", tmp_path / "y.npy", "--to", "e4m3", *flush)[1])["formats"]["e4m3"]["flushed"] == 1


def test_chunks_do_not_show(run, tmp_path, monkeypatch):
    """A file read in pieces gives what the whole array gives, stochastic rounding included."""
    x = np.random.default_rng(5).standard_normal((37, 11)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    monkeypatch.setattr(jobs, "CHUNK", 16)
    options = ("--to", "e4m3", "--rounding", "stochastic", "--rng", "3")
    assert run("quantize", tmp_path / "x.npy", *options, "--out", tmp_path / "q.npy")[0] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "q.npy"), fp.quantize(x, "e4m3", rounding="stochastic", rng=3))
    np.save(tmp_path / "bad.npy", np.where(np.arange(407).reshape(37, 11) == 300, np.nan, x).astype(np.float32))
    error = run("compare", tmp_path / "bad.npy", "--to", "e2m1")[2]
    assert "bad[27, 3] is NaN, which e2m1 cannot hold" in error  # 300 = 27 * 11 + 3, in the tensor and not in the piece


# --- quantize ---------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors", ".csv"])
def test_quantize_writes(run, tmp_path, suffix):
    np.save(tmp_path / "x.npy", X)
    out = tmp_path / f"q{suffix}"
    status, printed, _ = run("quantize", tmp_path / "x.npy", "--to", "e4m3", "--out", out)
    assert status == 0
    assert "e4m3" in printed
    (tensor,) = files.read(out)
    values = np.concatenate(list(tensor.chunks(4))).reshape(tensor.shape)
    np.testing.assert_array_equal(values, fp.quantize(X, "e4m3"))
    assert tensor.name == ("q" if suffix in (".npy", ".csv") else "x")
    assert values.dtype == (np.float64 if suffix == ".csv" else np.float32)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["x.npy", out.name])


def test_quantize_writes_codes(run, tmp_path):
    np.save(tmp_path / "x.npy", X)
    assert (
        run("quantize", tmp_path / "x.npy", "--to", "e4m3,fp16", "--codes", "--out", tmp_path / "{format}.npy")[0] == 0
    )
    for name, dtype in (("e4m3", np.uint8), ("fp16", np.uint16)):
        codes = np.load(tmp_path / f"{name}.npy")
        assert codes.dtype == dtype
        np.testing.assert_array_equal(codes, fp.encode(X, name))
    np.testing.assert_array_equal(np.load(tmp_path / "fp16.npy").view(np.float16), X.astype(np.float16))


def test_quantize_may_replace_its_input(run, tmp_path):
    np.save(tmp_path / "x.npy", X)
    assert run("quantize", tmp_path / "x.npy", "--to", "bf16", "--out", tmp_path / "x.npy")[0] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), fp.quantize(X, "bf16"))


def test_a_failure_leaves_what_was_there(refused, tmp_path):
    np.save(tmp_path / "x.npy", np.array([1.0, np.nan]))
    (tmp_path / "q.npy").write_text("mine")
    refused(1, "NaN", "quantize", tmp_path / "x.npy", "--to", "e2m1", "--out", tmp_path / "q.npy")
    assert (tmp_path / "q.npy").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["q.npy", "x.npy"]


def test_0d_and_3d(run, tmp_path):
    np.save(tmp_path / "scalar.npy", np.float32(3.1))
    np.save(tmp_path / "cube.npy", np.full((2, 3, 4), 3.1, np.float16))
    for name, suffix in (("scalar", ".npy"), ("cube", ".npz"), ("cube", ".csv"), ("scalar", ".csv")):
        assert (
            run("quantize", tmp_path / f"{name}.npy", "--to", "e4m3", "--out", tmp_path / f"{name}-q{suffix}")[0] == 0
        )
    assert np.load(tmp_path / "scalar-q.npy").shape == ()
    assert np.load(tmp_path / "cube-q.npz")["cube"].shape == (2, 3, 4)


# --- refusals ---------------------------------------------------------------------------------


def test_usage_errors(refused, tmp_path):
    refused(2, "No such command 'nosuch'", "nosuch")
    refused(2, "No such option", "formats", "--nosuch")
    refused(2, "Missing option '--to'", "compare", "--sample")
    refused(2, "give FILE, or --sample", "compare", "--to", "e4m3")
    refused(2, "not both", "compare", "x.npy", "--sample", "--to", "e4m3")
    refused(2, "did you mean e4m3", "compare", "--sample", "--to", "e4m4")
    refused(2, "did you mean", "info", "E4M3")
    refused(2, "already decides nan", "compare", "--sample", "--to", "e4m3", "--profile", "torch", "--nan", "max")
    refused(2, "says nothing of fp64", "compare", "--sample", "--to", "fp64", "--profile", "torch")
    refused(2, "--codes needs --out", "quantize", "--sample", "--to", "e4m3", "--codes")
    refused(2, "{format}", "quantize", "--sample", "--to", "e4m3,e5m2", "--out", tmp_path / "x.npy")
    refused(2, "rng", "compare", "--sample", "--to", "e4m3", "--rng", "1")


def broken_files(folder: Path) -> dict[str, tuple[Path, str]]:
    """Every way we know for a file to be useless, and what has to be said of it."""
    good = folder / "good.npy"
    np.save(good, X)
    np.savez(folder / "good.npz", w=X)
    whole = (folder / "good.npz").read_bytes()

    def write(name: str, data: bytes) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    def saved(name: str, array: np.ndarray) -> Path:
        np.save(folder / name, array, allow_pickle=True)
        return folder / name

    def header(text: str, data: bytes = b"") -> bytes:
        return len(text).to_bytes(8, "little") + text.encode() + data

    with zipfile.ZipFile(folder / "noarray.npz", "w") as archive:
        archive.writestr("readme.txt", "nothing")
    return {
        "missing": (folder / "nosuch.npy", "no such file"),
        "folder": (folder, "was expected, not"),
        "folder.npy": ((folder / "d.npy", (folder / "d.npy").mkdir())[0], "is not a file"),
        "suffix": (write("x.bin", b"1"), ".npy, .npz, .safetensors, .csv was expected, not .bin"),
        "empty npy": (write("e.npy", b""), "cannot be read as .npy"),
        "not npy": (write("n.npy", b"hello, world"), "cannot be read as .npy"),
        "cut npy": (write("cut.npy", good.read_bytes()[:-5]), "ends early, after 4 of 6 values"),
        "objects": (saved("o.npy", np.array([{}], dtype=object)), "is object"),
        "complex": (saved("z.npy", np.ones(2, complex)), "is complex128; real numbers"),
        "text": (saved("t.npy", np.array(["1.0"])), "real numbers"),
        "records": (saved("r.npy", np.zeros(2, [("a", "f4")])), "real numbers"),
        "no values": (saved("v.npy", np.zeros((0, 3))), "holds no values"),
        "not npz": (write("n.npz", b"PK\x03\x04 nonsense"), "cannot be read as .npz"),
        "cut npz": (write("cut.npz", whole[:-30]), "cannot be read as .npz"),
        "bad npz": (write("crc.npz", whole.replace(X.tobytes(), X.tobytes()[::-1])), "CRC"),
        "no array": (folder / "noarray.npz", "holds no tensor"),
        "empty csv": (write("e.csv", b""), "holds no values"),
        "words csv": (write("w.csv", b"a,b\nc,d\n"), "could not convert string 'c'"),
        "ragged csv": (write("g.csv", b"1,2\n3\n"), "columns changed"),
        "bytes csv": (write("b.csv", b"\xff\xfe\x00"), "cannot be read as .csv"),
        "empty safetensors": (write("e.safetensors", b""), "not a safetensors file"),
        "long header": (write("l.safetensors", b"\xff" * 16), "ends within its header"),
        "bad header": (write("h.safetensors", header("{nonsense")), "cannot be read as .safetensors"),
        "list header": (write("a.safetensors", header("[1]")), "not a JSON object"),
        "no offsets": (write("no.safetensors", header('{"w": {"dtype": "F32", "shape": [1]}}')), "data_offsets"),
        "packed": (
            write("p.safetensors", header('{"w": {"dtype": "F4", "shape": [2], "data_offsets": [0, 1]}}', b"1")),
            "w is F4; one of F64",
        ),
        "outside": (
            write("out.safetensors", header('{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}', b"1234")),
            "w's bytes 0 to 8",
        ),
        "size": (
            write("size.safetensors", header('{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}', b"1234")),
            "w's bytes 0 to 4",
        ),
    }


def test_useless_files(refused, tmp_path):
    for path, message in broken_files(tmp_path).values():
        refused(1, message, "compare", path, "--to", "e4m3")
        refused(1, message, "quantize", path, "--to", "e4m3", "--out", tmp_path / "result.npy")
    assert not (tmp_path / "result.npy").exists()


def test_data_errors(refused, tmp_path):
    np.savez(tmp_path / "two.npz", a=X, b=X)
    np.save(tmp_path / "nan.npy", np.array([1.0, math.nan]))
    refused(1, "no tensor 'c'; it holds a, b", "compare", tmp_path / "two.npz", "--to", "e4m3", "--tensor", "c")
    refused(1, "holds one tensor", "quantize", tmp_path / "two.npz", "--to", "e4m3", "--out", tmp_path / "q.npy")
    refused(1, "not .txt", "quantize", "--sample", "--to", "e4m3", "--out", tmp_path / "q.txt")
    refused(1, "cannot be written", "quantize", "--sample", "--to", "e4m3", "--out", tmp_path / "nosuch" / "q.npy")
    refused(1, "NaN", "compare", tmp_path / "nan.npy", "--to", "e2m1")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="file permissions do not bind this user")
def test_unreadable(refused, tmp_path):
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "x.npy").chmod(0)
    refused(1, "Permission denied", "compare", tmp_path / "x.npy", "--to", "e4m3")


# --- as a process -----------------------------------------------------------------------------


def test_piped_output_is_plain_and_whole():
    done = process("compare", "--sample", "--to", "all", env={**os.environ, "COLUMNS": "40", "TERM": "xterm-256color"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "…" not in done.stdout
    assert "e4m3b11fnuz" in done.stdout


def test_output_that_cannot_show_lines():
    done = process("formats", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "e4m3" in done.stdout


def test_errors_are_one_line_and_no_traceback():
    done = process("compare", "nosuch.npy", "--to", "e4m3")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "fpformats: error: nosuch.npy: no such file\n"


@pytest.mark.skipif(os.name != "posix", reason="pipes of a POSIX shell")
def test_a_reader_that_stops():
    command = f"set -o pipefail; {sys.executable} -m fpformats formats --all --json | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "[\n"
    assert done.stderr == ""


def test_light_commands_import_no_numba():
    script = "import sys; from fpformats.cli import main; main({}); sys.exit('numba' in sys.modules)"
    for arguments in (["formats"], ["info", "e4m3"], ["explain", "3.1", "--to", "e4m3"]):
        done = subprocess.run(
            [sys.executable, "-c", script.format(arguments)], capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 0, arguments


def test_progress_is_for_terminals(run, monkeypatch, tmp_path):
    """On a terminal long work shows a bar, on standard error; the report stays what it was."""
    np.save(tmp_path / "x.npy", X)
    plain = run("compare", tmp_path / "x.npy", "--to", "e4m3")
    monkeypatch.setattr(terminal, "LONG_WORK", 0)
    assert run("compare", tmp_path / "x.npy", "--to", "e4m3") == plain
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    status, out, _ = run("compare", tmp_path / "x.npy", "--to", "e4m3")
    assert (status, out) == plain[:2]
