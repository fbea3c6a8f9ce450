"""Any array in, the same kind of array out."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

import fpformats as fp

VALUES = [0.0, -0.0, 1.06, -2.3, 449.0, 3e-3, 1e-9, 7.0]


def expected(dtype=np.float32):
    return fp.quantize(np.array(VALUES, dtype=dtype), "e4m3")


def test_dtype_depends_on_dtype_and_format_alone():
    cases = {
        ("float32", "e4m3"): "float32",
        ("float64", "e4m3"): "float64",
        ("float16", "e4m3"): "float16",
        ("float16", "e5m2"): "float16",
        ("float16", "bf16"): "float32",
        ("float32", "fp64"): "float32",
        ("int8", "e4m3"): "float32",
        ("int64", "fp64"): "float64",
        ("int64", "fp32"): "float32",
        ("bool", "e2m1"): "float32",
        ("float16", "e8m0"): "float32",
    }
    for (source, fmt), result in cases.items():
        x = np.ones(3, dtype=source)
        assert fp.quantize(x, fmt).dtype == result, (source, fmt)
        assert fp.quantize(x[:0], fmt).dtype == result


@pytest.mark.parametrize("dtype", [">f4", "<f4", ">f8", ">f2"])
def test_byte_order(dtype):
    x = np.array(VALUES).astype(dtype)
    got = fp.quantize(x, "e4m3")
    assert got.dtype == np.dtype(dtype).newbyteorder("=")
    np.testing.assert_array_equal(got.astype(np.float64), fp.quantize(x.astype(dtype[1:]), "e4m3").astype(np.float64))


@pytest.mark.parametrize("make", [
    lambda x: x[::2], lambda x: x[::-1], lambda x: x.reshape(2, 4).T, lambda x: np.asfortranarray(x.reshape(2, 2, 2)),
    lambda x: x[:0], lambda x: x[3], lambda x: x[3:4].reshape(()), lambda x: np.broadcast_to(x, (3, 8)),
    lambda x: x.reshape(2, 1, 4)[:, :, 1::2],
])  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_shapes_and_strides(make, dtype):
    x = make(np.array(VALUES, dtype=dtype))
    for got, each in ((fp.quantize(x, "e4m3"), fp.quantize), (fp.encode(x, "e4m3"), fp.encode)):
        assert np.shape(got) == np.shape(x)
        one_by_one = [each(np.array([v], dtype=dtype), "e4m3")[0] for v in np.ravel(x)]
        np.testing.assert_array_equal(np.ravel(got), np.array(one_by_one, dtype=np.asarray(got).dtype))


def test_read_only_and_unaligned(tmp_path):
    fp.warmup()
    x = np.array(VALUES * 5000, dtype=np.float32)
    wanted = fp.quantize(x, "e4m3")
    frozen = x.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(fp.quantize(frozen, "e4m3"), wanted)
    raw = np.zeros(x.nbytes + 1, dtype=np.uint8)
    unaligned = raw[1:].view(np.float32)
    unaligned[:] = x
    np.testing.assert_array_equal(fp.quantize(unaligned, "e4m3"), wanted)
    np.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(fp.quantize(np.load(tmp_path / "x.npy", mmap_mode="r"), "e4m3"), wanted)
    strided = np.zeros(2 * x.size, dtype=np.float32)
    assert fp.quantize(x, "e4m3", out=strided[::2]) is not None
    np.testing.assert_array_equal(strided[::2], wanted)
    assert not strided[1::2].any()


def test_lists_numbers_and_numpy_scalars():
    np.testing.assert_array_equal(fp.quantize(VALUES, "e4m3"), expected(np.float64))
    assert fp.quantize([[1, 2], [3, 500]], "e4m3").tolist() == [[1.0, 2.0], [3.0, 448.0]]
    assert type(fp.quantize(1.06, "e4m3")) is float
    assert type(fp.quantize(3, "e4m3")) is float
    assert type(fp.encode(1.06, "e4m3")) is int
    scalar = fp.quantize(np.float32(1.06), "e4m3")
    assert type(scalar) is np.float32
    assert scalar == 1.0
    assert fp.quantize([2**60 + 1, 0.5], "fp32").tolist() == [float(2**60), 0.5]


def test_ml_dtypes_arrays():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    x = np.array(VALUES, dtype=ml_dtypes.bfloat16)
    got = fp.quantize(x, "e4m3")
    assert got.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(got.astype(np.float32), fp.quantize(x.astype(np.float32), "e4m3"))
    small = x.astype(ml_dtypes.float8_e5m2)
    assert fp.quantize(small, "e2m1", nan="max").dtype == ml_dtypes.float8_e5m2
    assert fp.quantize(small, "fp16").dtype == np.float32
    for name in ("float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "float8_e8m0fnu", "float8_e4m3fnuz"):
        codes = np.arange(16, dtype=np.uint8)
        low = codes.view(getattr(ml_dtypes, name))
        np.testing.assert_array_equal(fp.encode(low, name), codes)
        decoded = fp.decode(codes, name, dtype=getattr(ml_dtypes, name))
        np.testing.assert_array_equal(decoded.view(np.uint8), codes)


def test_torch_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.tensor(VALUES)
    got = fp.quantize(x, "e4m3")
    assert isinstance(got, torch.Tensor)
    assert got.dtype == torch.float32
    np.testing.assert_array_equal(got.numpy(), expected())
    low = fp.quantize(x.bfloat16().reshape(2, 4).T, "e4m3")
    assert low.dtype == torch.bfloat16
    assert low.shape == (4, 2)
    codes = fp.encode(x, "e4m3")
    assert codes.dtype == torch.uint8
    assert torch.equal(codes.view(torch.float8_e4m3fn).float(), x.to(torch.float8_e4m3fn).float())
    eight = x.to(torch.float8_e5m2)
    assert torch.equal(fp.encode(eight, "e5m2"), eight.view(torch.uint8))
    assert fp.quantize(eight, "e2m1").dtype == torch.float8_e5m2
    assert fp.decode(codes, "e4m3").dtype == torch.float32
    assert fp.quantize(torch.tensor([2**62 + 1]), "e4m3").item() == 448.0
    grad = torch.ones(3, requires_grad=True)
    assert not fp.quantize(grad, "e4m3").requires_grad
    with pytest.raises(TypeError, match="complex64"):
        fp.quantize(torch.ones(2, dtype=torch.complex64), "e4m3")


def test_jax_arrays(need):
    need(SimpleNamespace(available=lambda: None if find_spec("jax") else "jax is not installed"))
    import jax

    x = jax.numpy.array(VALUES, dtype=jax.numpy.float32)
    got = fp.quantize(x, "e4m3")
    assert isinstance(got, jax.Array)
    np.testing.assert_array_equal(np.asarray(got), expected())
    low = fp.quantize(x.astype(jax.numpy.bfloat16), "e4m3")
    assert low.dtype == jax.numpy.bfloat16
    assert fp.encode(x, "e4m3").dtype == jax.numpy.uint8


def test_stochastic_depends_on_seed_and_index_alone():
    """Chunks, threads and order never change a bit; exact values never move."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(40_000).astype(np.float32)
    whole = fp.quantize(x, "e4m3", rounding="stochastic", rng=7)
    np.testing.assert_array_equal(whole[:100], fp.quantize(x[:100], "e4m3", rounding="stochastic", rng=7))
    np.testing.assert_array_equal(whole, fp.quantize(x.reshape(200, 200), "e4m3", rounding="stochastic", rng=7).ravel())
    assert (whole != fp.quantize(x, "e4m3", rounding="stochastic", rng=8)).any()
    np.testing.assert_array_equal(fp.quantize(whole, "e4m3", rounding="stochastic", rng=1), whole)
    # the mean of many roundings comes back to x: 4 standard errors of a spacing of 1/8
    many = fp.quantize(np.full(1 << 16, 1.03, np.float32), "e4m3", rounding="stochastic", rng=3)
    assert set(many.tolist()) == {1.0, 1.125}
    assert abs(float(many.mean(dtype=np.float64)) - 1.03) < 4 * 0.0625 / 2**8


def test_threads_never_change_a_bit():
    code = (
        "import numpy as np, fpformats as fp, hashlib, sys; rng = np.random.default_rng(0); "
        "x = rng.standard_normal((1 << 22) + 77).astype(np.float32); h = hashlib.sha256(); "
        "[h.update(fp.quantize(x, f).tobytes()) for f in ('e4m3', 'e2m1', 'bf16')]; "
        "h.update(fp.encode(x, 'e4m3', rounding='stochastic', rng=5).tobytes()); "
        "h.update(fp.encode(x.astype(np.float16), 'e5m2').tobytes()); print(h.hexdigest())"
    )
    import os

    digests = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "FPFORMATS_NUM_THREADS": threads},
        ).stdout
        for threads in ("1", "2", "3")
    }  # fmt: skip
    assert len(digests) == 1


@pytest.mark.parametrize("offset", [0, 1, 3, 15, 16, 31])
@pytest.mark.parametrize("what", ["quantize", "encode", "decode"])
def test_results_past_the_caches(what, offset):
    """From 2^25 bytes on a result is written in whole cache lines, wherever it begins and ends; nothing beside it is."""
    size = (1 << 25) + 77
    x = np.arange(size, dtype=np.uint32) * np.uint32(2654435761)
    x = x.astype(np.uint8) if what == "decode" else x.view(np.float32)
    room = np.full(size + 64, 7, dtype=np.uint8 if what == "encode" else np.float32)
    out = room[offset : offset + size]
    call = {
        "quantize": lambda x, out: fp.quantize(x, "e4m3", out=out, rounding="toward_zero"),
        "encode": lambda x, out: fp.encode(x, "e5m2", out=out),
        "decode": lambda x, out: fp.decode(x, "e4m3", out=out),
    }[what]
    assert call(x, out) is out
    small = 1 << 20
    for start in range(0, size, small):
        part = slice(start, min(start + small, size))
        np.testing.assert_array_equal(out[part], call(x[part], None))
    assert (room[:offset] == 7).all()
    assert (room[offset + size :] == 7).all()


@pytest.mark.parametrize("size", [1, 511, 512, 513, 4096 + 5])
@pytest.mark.parametrize("rounding", ["nearest_even", "toward_zero", "nearest_away"])
def test_in_place(size, rounding):
    x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    x[0] = np.nan
    expected = fp.quantize(x, "e4m3", rounding=rounding)
    assert fp.quantize(x, "e4m3", rounding=rounding, out=x) is x
    np.testing.assert_array_equal(x, expected)
