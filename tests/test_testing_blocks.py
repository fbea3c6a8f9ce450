"""Wrong block quantizers are told apart, right ones raise no alarm, and recipes are named with a block that shows it."""

from __future__ import annotations

import re

import block_zoo
import numpy as np
import pytest

import fpformats as fp
from fpformats.testing import CastError, assert_quantized, boundary_inputs, check_cast, identify
from fpformats.testing.block_causes import kin


def finite(name, blocks=400):
    """Boundary blocks and random ones, without NaN and infinities, as the zoo takes them; the largest is negative."""
    x = boundary_inputs(name)
    rng = np.random.default_rng(5)
    more = (rng.standard_normal((blocks, x.shape[1])) * 2.0 ** rng.integers(-12, 2, (blocks, 1))).astype(np.float32)
    x = np.concatenate([x, more])
    x = x[np.isfinite(x).all(axis=1)]
    if fp.get(name).second:
        x[3, 2] = -9
    else:
        x = x[(np.abs(x).max(axis=1) < 1e30) & ((np.abs(x).max(axis=1) > 1e-30) | (x == 0).all(axis=1))]
    return x


@pytest.mark.parametrize(("cast", "name"), block_zoo.RIGHT, ids=lambda case: case if isinstance(case, str) else "")
def test_no_false_alarm(cast, name):
    report = check_cast(cast, name, x=finite(name))
    assert report, str(report)
    assert (report.causes, report.first, report.wrong) == ((), None, 0)
    assert str(report) == f"{fp.get(name).name}, from fp32: all {report.inputs} blocks as expected"
    random = check_cast(cast, name, x=None, random=300) if fp.get(name).second else report
    assert random, str(random)


@pytest.mark.parametrize("wrong", block_zoo.BLOCK_ZOO, ids=str)
def test_wrong_blocks_are_identified(wrong):
    x = finite(wrong.fmt)
    report = check_cast(wrong.cast, wrong.fmt, x=x)
    assert not report
    assert len(report.causes) == len(wrong.causes), str(report)
    for part, cause in zip(wrong.causes, report.causes, strict=True):
        assert part in cause, str(report)
    assert 0 < report.wrong <= report.inputs
    with pytest.raises(AssertionError, match="likely cause"):
        report.check()


@pytest.mark.parametrize("wrong", block_zoo.BLOCK_ZOO[::4], ids=str)
def test_the_assert_says_so_too(wrong):
    x = finite(wrong.fmt)
    with pytest.raises(AssertionError) as caught:
        assert_quantized(wrong.cast(x), x, wrong.fmt)
    assert all(part in str(caught.value) for part in wrong.causes)


def test_a_message_in_full():
    x = np.float32([[6.5] + [0.25] * 31, [4] + [3] * 31])
    with pytest.raises(AssertionError) as caught:
        assert_quantized(block_zoo.Ceil()(x), x, "mxfp4")
    text = str(caught.value)
    assert text.startswith("""\
mxfp4: 1 of 64 codes differ
  likely cause: scale rule 'ceil 2' in place of 'floor 2'; it explains every code and scale
    what fits as well: """)
    assert text.endswith("""
  1 of 2 scales differ
  scale [0, 0]: the block's amax = 6.5 = 0x1.a000000000000p+2
    got       0x80 = 10000000 = 2
    expected  0x7f = 01111111 = 1""")


def test_what_a_broken_block_holds_is_nobodys_business():
    """Where the scale is NaN every value is: the codes do not count, unless bit for bit is asked for."""
    x = np.zeros((2, 32), np.float32)
    x[1] = 1
    x[0, 3] = np.nan
    q = fp.encode_blocks(x, "mxfp4")
    codes = q.codes.copy()
    codes[0, 7] = 5
    assert_quantized((codes, q.scales), x, "mxfp4")
    with pytest.raises(AssertionError, match="1 of 64"):
        assert_quantized((codes, q.scales), x, "mxfp4", nan_codes="exact")
    codes[1, 7] = 5
    with pytest.raises(AssertionError, match=r"element \[1, 7\]"):
        assert_quantized((codes, q.scales), x, "mxfp4")


def test_values_second_levels_and_zero_points():
    x = finite("nvfp4", 20)
    q = fp.encode_blocks(x, "nvfp4")
    assert check_cast(lambda x: fp.quantize(x, "nvfp4"), "nvfp4", x=x)
    assert check_cast(lambda x: (q.codes, q.scales, 9.0), "nvfp4", x=x)
    report = check_cast(lambda x: (q.codes, q.scales, 8.0), "nvfp4", x=x)
    assert "the second level is 8.0, 9.0 was expected" in str(report)
    report = check_cast(lambda x: fp.quantize(x, "nvfp4_torchao"), "nvfp4", x=x)
    assert report.causes == ("what recipe 'nvfp4_torchao' does",)
    name = "int4_1x128_compressed_tensors_asymmetric"
    assert check_cast(lambda x: fp.encode_blocks(x, name), name)
    made = fp.encode_blocks(boundary_inputs(name), name)
    report = check_cast(lambda x: (made.codes, made.scales, made.zero_points - (made.zero_points > 0)), name)
    assert "a zero point is" in str(report)


def test_other_sources_and_options():
    assert check_cast(lambda x: fp.encode_blocks(x, "mxfp8"), "mxfp8", source="float16", level=2)
    assert check_cast(lambda x: fp.encode_blocks(x, "nvfp4", tensor_amax=100), "nvfp4", tensor_amax=100, random=64)
    assert not check_cast(lambda x: fp.encode_blocks(x, "nvfp4", tensor_amax=100), "nvfp4", random=64)
    assert not check_cast(lambda x: fp.encode_blocks(x, "mxfp4", rounding="toward_zero"), "mxfp4")
    assert check_cast(lambda x: fp.encode_blocks(x, "mxfp4", rounding="toward_zero"), "mxfp4", rounding="toward_zero")
    scaled = "fp8_e4m3_tensor_te"
    assert check_cast(lambda x: fp.encode_blocks(x, scaled, scale=2.0), scaled, scale=2.0)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: None, "gave back None; .codes, scales., a BlockArray or values of mxfp4 were expected"),
        (lambda x: (x, x, x, x), r"4 parts; \(codes, scales\) were expected"),
        (lambda x: (x,), r"1 parts; \(codes, scales\) were expected"),
        (lambda x: (np.zeros(3, np.uint8), np.zeros(len(x), np.uint8)), r"codes have shape \(3,\), x has"),
        (lambda x: (np.zeros(x.shape, np.uint8), np.zeros(3, np.uint8)), r"has 3 scales, \d+ were expected for 1x32 blocks"),
        (lambda x: (np.full(x.shape, 16, np.uint8), np.zeros(len(x), np.uint8)), "codes of e2m1 are 0 ... 0xf"),
        (lambda x: 1 / 0, r"raised ZeroDivisionError: .*shape \(\d+, 32\); by itself on block 0"),
        (lambda x: fp.encode_blocks(x, "mxfp8"), "is in mxfp8_e4m3, mxfp4 was expected"),
    ],
)  # fmt: skip
def test_functions_that_are_no_quantizers(function, message):
    for check in (check_cast, identify):
        with pytest.raises(CastError, match=message):
            check(function, "mxfp4")


@pytest.mark.parametrize("x", [np.float32(3), 3.0, np.zeros((), np.float32)])
def test_one_number_is_no_array_of_blocks(x):
    with pytest.raises(ValueError, match=r"x is one number, .*; an array of blocks was expected"):
        check_cast(lambda x: fp.encode_blocks(x, "mxfp4"), "mxfp4", x=x)


def test_the_argument_is_named():
    with pytest.raises(ValueError, match=r"^nan_codes='bits': one of class, exact was expected"):
        check_cast(lambda x: fp.encode_blocks(x, "mxfp4"), "mxfp4", nan_codes="bits")


def test_random_blocks_are_the_same_everywhere():
    """The first block of a seed, bit for bit, and what a seed and a size change."""
    seen = []
    for count in (5, 300):
        check_cast(lambda x: seen.append(x) or fp.encode_blocks(x, "mxfp4"), "mxfp4", random=count, seed=3)
    small, large = seen
    assert (small.shape, large.shape) == ((5, 32), (300, 32))
    assert (large == 0).mean() == pytest.approx(1 / 32, abs=0.01)
    assert np.isfinite(large).all()
    assert len(set(np.frexp(np.abs(large).max(axis=1))[1].tolist())) > 30


# --- black boxes ----------------------------------------------------------------------------------------
NAMED = ["nvfp4_te", "nvfp4_te213", "nvfp4_torchao", "nvfp4_compressed_tensors", "nvfp4_modelopt", "nvfp4_flashinfer",
         "mxfp8_e4m3", "mxfp8_e4m3_te", "mxfp8_e4m3_torchao_ceil", "mxfp8_e4m3_torchao_even",
         "mxfp8_e4m3_torchao_rceil", "fp8_e4m3_1x128_deepgemm", "int8_row_torchao"]  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_recipes_are_named(name):
    """The recipe itself, and others only where they give the same on other numbers too."""
    asked = kin(fp.get(name))[0]  # whichever of its kind is asked about
    found = identify(lambda x: fp.encode_blocks(x, name), asked)
    assert name in found.recipes, str(found)
    assert (found.wrong, found.causes) == (0, ())
    assert set(found.recipes) | set(found.counterexamples) == {row.name for row in kin(asked)}
    rng = np.random.default_rng(11)
    x = (rng.standard_normal((500, asked.block[1] or 64)) * 2.0 ** rng.integers(-8, 8, (500, 1))).astype(np.float32)
    for other in found.recipes:
        one, two = fp.encode_blocks(x, name), fp.encode_blocks(x, other)
        assert (one.codes.tolist(), one.scales.tolist()) == (two.codes.tolist(), two.scales.tolist())
    assert {"nvfp4_te", "nvfp4_torchao", "nvfp4_compressed_tensors"} & set(found.recipes) <= {name}


@pytest.mark.parametrize("name", ["nvfp4_te", "nvfp4_torchao", "mxfp8_e4m3"])
def test_smallest_blocks_hold(name):
    """Each counterexample, taken from its text, is one: the two recipes differ as it says."""
    found = identify(lambda x: fp.encode_blocks(x, name), name)
    width = found.format.block[1]
    small = 0
    for other, text in found.counterexamples.items():
        numbers = re.findall(r"x\[(\d+)\] = \S+ = 0x([0-9a-f]{8})", text)
        if "more" in text or not numbers:
            continue
        block = np.zeros((2, width), np.float32)
        for i, bits in numbers:
            block.view(np.uint32)[0, int(i)] = int(bits, 16)
        small += len(numbers) <= 2
        amax = re.search(r"whose amax is ([^:]+):", text)
        block[1, 0] = np.float32(amax.group(1)) if amax else 0
        mine, theirs = fp.encode_blocks(block, name), fp.encode_blocks(block, other)
        assert (mine.scales[0].tolist(), mine.codes[0].tolist()) != (
            theirs.scales[0].tolist(),
            theirs.codes[0].tolist(),
        ), text
    assert small > len(found.counterexamples) / 2


def test_a_box_that_is_no_recipe():
    found = identify(lambda x: fp.encode_blocks(x, "mxfp4", rounding="toward_zero"), "mxfp4")
    assert found.recipes == ()
    assert 0 < found.wrong < found.inputs
    assert found.causes
    assert "toward_zero" in str(found)
    assert "nearest" in str(found)


def test_a_box_of_values():
    assert identify(lambda x: fp.quantize(x, "nvfp4_torchao"), "nvfp4").recipes == ("nvfp4_torchao",)


@pytest.mark.slow
def test_torchaos_own_casts_are_named():
    """Not ours: the package itself is the box."""
    mx = pytest.importorskip("torchao.prototype.mx_formats.mx_tensor", reason="torchao (extra peers) is not installed")
    import torch

    def box(x):
        scales, codes = mx.to_mx(torch.from_numpy(x), torch.float8_e4m3fn, 32, mx.ScaleCalculationMode.EVEN)
        return codes.view(torch.uint8).numpy(), scales.view(torch.uint8).numpy()

    found = identify(box, "mxfp8")
    assert "mxfp8_e4m3_torchao018_even" in found.recipes, str(found)


def test_a_wrong_scale_alone_is_named_first():
    x = np.random.default_rng(6).standard_normal((2, 64)).astype(np.float32)
    made = fp.encode_blocks(x, "mxfp8")
    scales = made.scales.copy()
    scales[0, 1] ^= 255
    with pytest.raises(AssertionError) as caught:
        assert_quantized((made.codes, scales), x, "mxfp8")
    first, *_, _, _ = str(caught.value).splitlines()
    assert first == "mxfp8_e4m3: all 128 codes are right, not all scales"
    assert "1 of 4 scales differ" in str(caught.value)
