"""The kernels against the definition: every format, mode, rule and source, both instantiations."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from strategies import CUSTOM, DETERMINISTIC, OVERFLOWS, boundary

import fpformats as fp
from fpformats import engine, reference
from fpformats.registry import FORMATS
from fpformats.rounding import Rules

P3109 = ("binary3p1se", "binary3p2sf", "binary4p2ue", "binary6p3sf", "binary8p1se", "binary8p3uf", "binary8p4se",
         "binary8p5ue", "binary9p4se", "binary16p5se", "binary16p9sf", "binary16p12ue", "binary12p1uf")  # fmt: skip
FORMATS_HERE = [fp.get(name) for name in (*FORMATS, *P3109)] + list(CUSTOM)


@pytest.fixture(params=["vector", "compiled"])
def backend(request, monkeypatch):
    """Run in either instantiation of the kernels."""
    if request.param == "vector":
        monkeypatch.setattr(engine, "_compiled", None)
        monkeypatch.setattr(engine, "WORTH_COMPILING", float("inf"))
    else:
        fp.warmup()
    return request.param


def as_values(codes, fmt, dtype):
    out = []
    for code in codes:
        try:
            out.append(float(reference.decode(code, fmt)))
        except OverflowError:
            out.append(np.inf if reference.decode(code, fmt) > 0 else -np.inf)
    with np.errstate(all="ignore"):
        return np.array(out).astype(dtype)


def same_values(a, b):
    """Equal bit for bit, NaN by class."""
    uint = f"u{a.itemsize}"
    return (a.view(uint) == b.view(uint)) | (np.isnan(a) & np.isnan(b))


def check(x, fmt, rules, source):
    """encode and quantize against the reference, over one array."""
    keywords = {
        "rounding": rules.rounding,
        "overflow": rules.overflow,
        "nan": rules.nan,
        "subnormals": rules.subnormals,
    }
    expected = [reference.encode(float(v), fmt, rules, source=source) for v in x]
    got = fp.encode(x, fmt, **keywords)
    wrong = np.flatnonzero(got.astype(object) != np.array(expected, dtype=object))
    assert not wrong.size, (fmt.name, rules, x.dtype, float(x[wrong[0]]).hex(), int(got[wrong[0]]), expected[wrong[0]])
    values = fp.quantize(x, fmt, **keywords)
    wanted = as_values(expected, fmt, values.dtype)
    wrong = np.flatnonzero(~same_values(values, wanted))
    assert not wrong.size, (fmt.name, rules, x.dtype, float(x[wrong[0]]).hex(), values[wrong[0]], wanted[wrong[0]])


@pytest.mark.parametrize("fmt", FORMATS_HERE, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_every_mode_and_overflow(fmt, dtype, backend):
    x = boundary(fmt, dtype, 30 if backend == "compiled" else 9)
    source = {np.float32: "fp32", np.float64: "fp64", np.float16: "fp16"}[dtype]
    for mode in DETERMINISTIC:
        for overflow in OVERFLOWS[1:]:
            check(x, fmt, Rules(mode, overflow, "max"), source)


@pytest.mark.parametrize("fmt", FORMATS_HERE, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("flush", ["flush_inputs", "flush_before_rounding", "flush_after_rounding"])
def test_flushing(fmt, flush, backend):
    for dtype, source in ((np.float32, "fp32"), (np.float64, "fp64")):
        x = boundary(fmt, dtype, 12)
        for mode in DETERMINISTIC:
            check(x, fmt, Rules(mode, None, "zero", flush), source)


@pytest.mark.parametrize("fmt", FORMATS_HERE, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("mode", ["stochastic", "stochastic_b", "stochastic_c"])
def test_stochastic_with_explicit_bits(fmt, mode, backend):
    """The definition in Fractions, for several numbers of bits, next to the thresholds too."""
    rng = np.random.default_rng(5)
    for dtype, source in ((np.float32, "fp32"), (np.float64, "fp64")):
        x = np.repeat(boundary(fmt, dtype, 12), 3)
        x = x[~np.isnan(x)]
        for bits in (1, 5, 13, 32):
            words = rng.integers(0, 1 << bits, x.size, dtype=np.uint32)
            words[::7], words[1::7] = 0, (1 << bits) - 1
            rules = Rules(mode, nan="max", random_bits=bits)
            expected = [
                reference.encode(float(v), fmt, rules, random=(int(w), bits), source=source)
                for v, w in zip(x, words, strict=True)
            ]
            got = fp.encode(x, fmt, rounding=mode, nan="max", rng=(words, bits))
            wrong = np.flatnonzero(got.astype(object) != np.array(expected, dtype=object))
            assert not wrong.size, (fmt.name, bits, float(x[wrong[0]]).hex(), hex(words[wrong[0]]), expected[wrong[0]])
            values = fp.quantize(x, fmt, rounding=mode, nan="max", rng=(words, bits))
            assert same_values(values, as_values(expected, fmt, values.dtype)).all()


@pytest.mark.parametrize("fmt", FORMATS_HERE, ids=lambda fmt: fmt.name)
def test_decode(fmt, backend):
    """Every code of up to 16 bits (a sample above), into binary64 and binary32, and back."""
    if fmt.bits <= 16:
        codes = np.arange(1 << fmt.bits, dtype=np.uint64)
    else:
        codes = np.unique(np.random.default_rng(3).integers(0, 1 << fmt.bits, 3000, dtype=np.uint64))
    if fmt.emax is not None:
        codes = codes[(codes & np.uint64(fmt.sign_bit - 1)) <= np.uint64(fmt.max_code)]
    for dtype in (np.float64, np.float32):
        got = fp.decode(codes, fmt, dtype=dtype)
        assert same_values(got, as_values(codes.tolist(), fmt, dtype)).all()
    exact = fp.decode(codes, fmt, dtype=np.float64)
    if max(abs(fmt.emin - fmt.mantissa_bits), fmt.maxexp) < 1000:
        back = fp.encode(exact, fmt, overflow="nonfinite").astype(np.uint64)
        normal = fmt.subnormals or (codes & np.uint64((fmt.sign_bit or 1 << fmt.bits) - 1)) >= 1 << fmt.mantissa_bits
        same = (back == codes) | np.isnan(exact) | ~np.broadcast_to(normal, codes.shape)
        assert same.all()


def test_integers_are_rounded_once():
    """int64 and uint64 beyond 2**53: a double would round twice."""
    rng = np.random.default_rng(11)
    for dtype in (np.int64, np.uint64):
        info = np.iinfo(dtype)
        x = np.concatenate([
            rng.integers(info.min, info.max, 500, dtype=dtype, endpoint=True),
            np.array([0, 1, 2**53 - 1, 2**53 + 1, 2**53 + 3, 2**60 + 1, 2**62 + 2**51, 2**62 + 2**51 + 1, info.max, info.min], dtype=dtype),
        ])  # fmt: skip
        for name in ("fp64", "fp32", "bf16", "tf32", "e5m2", "e4m3"):
            for mode in ("nearest_even", "toward_zero", "to_odd", "nearest_away"):
                expected = [reference.encode(int(v), name, Rules(mode)) for v in x]
                assert fp.encode(x, name, rounding=mode).tolist() == expected, (name, mode, dtype)


@pytest.mark.parametrize("fmt", ["e4m3", "bf16", "fp16", "fp32", "e2m1"])
def test_single_numbers(fmt):
    """Fractions, decimals, big integers and strings are taken exactly."""
    from decimal import Decimal

    for x in (Fraction(1, 3), Decimal("0.1"), "1e-3", "3.0000000000000000000000001", 2**60 + 1, 10**30, -7, True, 0.1):
        code = fp.encode(x, fmt)
        assert type(code) is int
        assert code == reference.encode(x, fmt)
        assert fp.quantize(x, fmt) == float(reference.decode(code, fmt))
