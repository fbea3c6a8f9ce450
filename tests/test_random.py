"""Counter-based random bits: known answers, and the hardware's use of them."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import fpformats as fp
from fpformats import engine
from fpformats.kernels import compiled
from fpformats.kernels.philox import philox

#: Random123's published vectors for Philox4x32-10 that a 64-bit counter and key can reach
KNOWN = [
    (0, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
]


def textbook(counter, key):
    """Philox4x32-10 in Python integers, from the paper's definition."""
    c, k, mask = list(counter), list(key), 0xFFFFFFFF
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & mask, (p0 >> 32) ^ c[3] ^ k[1], p0 & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def test_the_textbook_gives_the_published_vectors():
    """All three of Random123's kat_vectors for philox4x32 10."""
    ones = 0xFFFFFFFF
    assert textbook([0] * 4, [0] * 2) == list(KNOWN[0][2])
    assert textbook([ones] * 4, [ones] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    counter, key = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]
    assert textbook(counter, key) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, 2**32, 2**63 - 1])
@pytest.mark.parametrize("start", [0, 4, 16384, 4 * (2**32 - 2)])
def test_both_generators_are_the_textbook(seed, start):
    expected = [
        word
        for block in range(start // 4, start // 4 + 5)
        for word in textbook([block & 0xFFFFFFFF, block >> 32, 0, 0], [seed & 0xFFFFFFFF, seed >> 32])
    ]
    inner = compiled._philox()
    machine = numba.njit(lambda out, seed, start: inner(out, seed, start))
    for generator in (philox, machine):
        out = np.zeros(20, dtype=np.uint32)
        generator(out, seed, start)
        assert out.tolist() == expected


@pytest.mark.parametrize("use", ["vector", "compiled"])
def test_a_seed_draws_these_words(use, monkeypatch):
    """Element i takes word i: the same as handing the words over."""
    if use == "compiled":
        fp.warmup()
    else:
        monkeypatch.setattr(engine, "_compiled", None)
        monkeypatch.setattr(engine, "WORTH_COMPILING", float("inf"))
    x = np.random.default_rng(2).standard_normal(40_001).astype(np.float32)
    words = np.array(
        [w for block in range(-(-x.size // 4)) for w in textbook([block, 0, 0, 0], [99, 0])], dtype=np.uint32
    )[: x.size]
    for fmt in ("e4m3", "e2m1", "bf16", "fp16", "tf32"):
        seeded = fp.encode(x, fmt, rounding="stochastic", rng=99)
        np.testing.assert_array_equal(seeded, fp.encode(x, fmt, rounding="stochastic", rng=words))
        ten = fp.encode(x, fmt, rounding="stochastic", rng=(99, 10))
        np.testing.assert_array_equal(ten, fp.encode(x, fmt, rounding="stochastic", rng=(words >> np.uint32(22), 10)))
    assert (
        fp.encode(float(x[0]), "e4m3", rounding="stochastic", rng=99)
        == fp.encode(x[:1], "e4m3", rounding="stochastic", rng=99)[0]
    )


def test_limited_bits_by_hand():
    """x = 1 + 1/32 in E4M3 is 1/4 of the way from 1 to 1.125: A, B and C with one and two bits."""
    x = np.full(4, 1.03125, dtype=np.float32)
    up = fp.encode(1.125, "e4m3")
    two = (np.arange(4, dtype=np.uint8), 2)
    # A, N = 2: floor(0.25 * 4) + R >= 4 for R = 3 alone
    assert (fp.encode(x, "e4m3", rounding="stochastic", rng=two) == up).tolist() == [False, False, False, True]
    # B, N = 2: floor(0.25 * 8) + 2R + 1 >= 8 for R = 3 alone
    assert (fp.encode(x, "e4m3", rounding="stochastic_b", rng=two) == up).tolist() == [False, False, False, True]
    one = (np.array([0, 1, 0, 1], dtype=np.uint8), 1)
    # A, N = 1: floor(0.25 * 2) = 0: never up
    assert (fp.encode(x, "e4m3", rounding="stochastic", rng=one) == up).sum() == 0
    # B, N = 1: floor(0.25 * 4) + 2R + 1 >= 4 for R = 1
    assert (fp.encode(x, "e4m3", rounding="stochastic_b", rng=one) == up).tolist() == [False, True, False, True]
    # C, N = 1: 0.5 rounds half-even to 0: never up; 3/8 of the way it rounds to 1
    assert (fp.encode(x, "e4m3", rounding="stochastic_c", rng=one) == up).sum() == 0
    assert (fp.encode(x + np.float32(1 / 64), "e4m3", rounding="stochastic_c", rng=one) == up).tolist() == [
        False,
        True,
        False,
        True,
    ]


def test_ptx_words():
    """cvt.rs x4: a and e read their half-word bit-reversed; x = 1 + 2^-4 is half-way in E4M3."""
    x = np.full(4, 1.0625, dtype=np.float32)
    down, up = (int(code) for code in fp.encode(np.array([1.0, 1.125]), "e4m3"))
    # k = floor(0.5 + R / 2^16): up when the top bit of R is set
    for word, expected in (
        (0x80000000, [down, up, down, down]),
        (0x00010000, [up, down, down, down]),
        (0x00008000, [down, down, down, up]),
        (0x00000001, [down, down, up, down]),
        (0xFFFFFFFF, [up, up, up, up]),
        (0x7FFE7FFE, [down, down, down, down]),
    ):
        assert fp.encode(x, "e4m3", profile="ptx_rs", rng=np.array([word], dtype=np.uint32)).tolist() == expected
    # FP4 takes bytes 3 and 1 for a and b; x = 1.25 is half-way from 1 to 1.5
    y = np.full(4, 1.25, dtype=np.float32)
    low, high = (int(code) for code in fp.encode(np.array([1.0, 1.5]), "e2m1"))
    word = np.array([0x80000100], dtype=np.uint32)
    assert fp.encode(y, "e2m1", profile="ptx_rs", rng=word).tolist() == [high, high, low, low]
    # fp16 pairs: 13 bits, the upper half-word for the first
    z = np.full(2, 1 + 2**-11, dtype=np.float32)
    pair = fp.encode(z, "fp16", profile="ptx_rs", rng=np.array([0x10000FFF], dtype=np.uint32))
    assert pair.tolist() == [0x3C01, 0x3C00]
