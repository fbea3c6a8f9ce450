"""Pictures, by the data they draw: ends, steps, counts and scales against exact ones, by hand or by the definition."""

from __future__ import annotations

import io
import itertools
import math
import runpy
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import fpformats as fp
from fpformats import reference
from fpformats.plot.labels import placed
from fpformats.rounding import ROUNDINGS, Rules

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install '.[plot]')")
matplotlib.use("agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.colors import to_rgb  # noqa: E402
from matplotlib.text import Text  # noqa: E402

TOY = fp.Format("toy", exponent_bits=3, mantissa_bits=2, bias=3, emax=2, subnormals=False)
NINE = ["fp32", "tf32", "fp16", "bf16", "e5m2", "e4m3", "e3m2", "e2m3", "e2m1"]
X = np.float32([0.0, 0.3, -1.7, 448.0, 1e4, 2.0**-12, 3.1, -0.02, 6.5, 0.11] * 20)
X[1::7] *= np.float32(0.37)
MATRIX = (np.arange(70 * 100, dtype=np.float32).reshape(70, 100) - 3000) * np.float32(2.0**-9)
MANY = ["fp16", "bf16", "e4m3", "e5m2", "e3m2", "mxfp8", "mxfp6", "mxfp4", "nvfp4", "nvfp4_torchao", "nvfp4_modelopt"]

#: every function, as it is likely to be called
CALLS = {
    "range_bars": lambda ax=None: fp.plot.range_bars(NINE, ax=ax),
    "range_bars data": lambda ax=None: fp.plot.range_bars(["bf16", "e4m3", "e2m1", "mxfp4", "nvfp4"], data=X, ax=ax),
    "range_bars beyond fp32": lambda ax=None: fp.plot.range_bars(["mxfp4", "e4m3"], data=[5e-324, 1e308], ax=ax),
    "range_bars fp64": lambda ax=None: fp.plot.range_bars(["fp64", "e8m0"], data=[5e-324, 1e308], ax=ax),
    "spacing": lambda ax=None: fp.plot.spacing(NINE, ax=ax),
    "spacing fp64": lambda ax=None: fp.plot.spacing(["fp64", "e4m3"], ax=ax),
    "spacing relative": lambda ax=None: fp.plot.spacing(["fp16", "e4m3", "e2m1"], relative=True, ax=ax),
    "spacing band": lambda ax=None: fp.plot.spacing(["fp32", "e4m3", "int8"], relative=True, ax=ax),
    "number_line": lambda ax=None: fp.plot.number_line("e2m1", ax=ax),
    "number_line wide": lambda ax=None: fp.plot.number_line("fp32", limits=(1, 1 + 2**-20), ax=ax),
    "number_line e4m3": lambda ax=None: fp.plot.number_line("e4m3", ax=ax),
    "staircase": lambda ax=None: fp.plot.staircase("e2m1", ax=ax),
    "staircase e4m3": lambda ax=None: fp.plot.staircase("e4m3", overflow="nonfinite", ax=ax),
    "error": lambda ax=None: fp.plot.error(X, ["e4m3", "e5m2", "mxfp4"], ax=ax),
    "error binned": lambda ax=None: fp.plot.error(MATRIX, ["bf16", "e4m3", "nvfp4"], ax=ax),
    "histogram": lambda ax=None: fp.plot.histogram(X, "e2m1", ax=ax),
    "histogram e4m3": lambda ax=None: fp.plot.histogram(X, "e4m3", ax=ax),
    "histogram block": lambda ax=None: fp.plot.histogram(MATRIX, "nvfp4_te_4over6_mae_448_16x16", ax=ax),
    "blocks": lambda ax=None: fp.plot.blocks(MATRIX, "mxfp8", ax=ax),
    "compare": lambda ax=None: fp.plot.compare(MATRIX, MANY, ax=ax),
    "compare crowd": lambda ax=None: fp.plot.compare(MATRIX, [*MANY, "fp32", "mxfp8_e5m2", "int4_1x128_absmax"], ax=ax),
    "compare same": lambda ax=None: fp.plot.compare([1.0, 2.0], ["fp32", "e4m3"], ax=ax),
}


@pytest.fixture(autouse=True)
def no_figure_is_left():
    assert not plt.get_fignums()
    yield
    plt.close("all")


def values(name):
    """All finite values of a format, rising, by the definition."""
    fmt = fp.get(name)
    found = set()
    for code in range(1 << fmt.bits):
        try:
            value = reference.decode(code, fmt)
        except ValueError:
            continue
        if math.isfinite(value):
            found.add(Fraction(value))
    return sorted(found)


# --- all functions alike --------------------------------------------------------------------------------------
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_one_figure_or_the_axes_that_were_given(call):
    made = call()
    assert len(plt.get_fignums()) == 1
    assert made.figure.number == plt.get_fignums()[0]
    plt.close("all")
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5))
    assert call(ax=right) is right
    assert plt.get_fignums() == [figure.number]
    assert not left.has_data()
    assert right.get_xlabel() or call in (CALLS[name] for name in CALLS if name.startswith("number_line"))


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_every_way_out(call):
    figure = call().figure
    for kind in ("svg", "pdf", "png"):
        figure.savefig(io.BytesIO(), format=kind)  # warnings are errors


def texts_of(ax):
    """What can be read: (text, artist) of tick labels, titles, names and legend."""
    ax.figure.canvas.draw()
    legend = ax.get_legend()
    found = [*ax.texts, ax.xaxis.label, ax.yaxis.label, ax.title, ax._left_title, ax._right_title]
    found += legend.get_texts() if legend else []
    for axis, (low, high) in ((ax.xaxis, sorted(ax.get_xlim())), (ax.yaxis, sorted(ax.get_ylim()))):
        for tick in axis.get_major_ticks():
            if low <= tick.get_loc() <= high:
                found.append(tick.label1)
    return [text for text in found if text.get_text() and text.get_visible()]


@pytest.mark.slow
@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_text_is_readable(call, style):
    with plt.style.context(style):
        ax = call()
        texts = texts_of(ax)
        assert texts
        whole = ax.figure.bbox
        boxes = [Text.get_window_extent(text) for text in texts]  # of a name without its line
        for text, box in zip(texts, boxes, strict=True):
            inside = whole.x0 <= box.x0, box.x1 <= whole.x1, whole.y0 <= box.y0, box.y1 <= whole.y1
            assert all(inside), f"{text.get_text()!r} is cut"
            assert text.get_fontsize() >= 8.9
            assert contrast(text.get_color(), ax.get_facecolor()) >= (2.4 if text.get_text() == "subnormal" else 4.5)
        for (one, box), (other, another) in itertools.combinations(zip(texts, boxes, strict=True), 2):
            apart = box.x1 <= another.x0 or another.x1 <= box.x0 or box.y1 <= another.y0 or another.y1 <= box.y0
            assert apart, f"{one.get_text()!r} lies on {other.get_text()!r}"


def contrast(colour, back):
    """WCAG 2's ratio of luminances, 1 to 21."""

    def luminance(c):
        linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(c)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(colour), luminance(back)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_lines_stand_out_and_differ(style):
    with plt.style.context(style):
        ax = fp.plot.spacing(NINE)
        lines = [line for line in ax.get_lines() if line.get_label() in NINE]
        assert [line.get_label() for line in lines] == NINE
        assert all(contrast(line.get_color(), ax.get_facecolor()) >= 3 for line in lines)
        assert len({(line.get_color(), str(line._unscaled_dash_pattern)) for line in lines}) == 9


def test_colours_follow_the_axes_and_not_the_style_in_force():
    with plt.style.context("dark_background"):
        ax = plt.subplots()[1]
    fp.plot.compare([1.0, 3.3], ["e4m3", "e2m1"], ax=ax)
    assert all(to_rgb(text.get_color()) == (1, 1, 1) for text in ax.texts)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fp.plot.range_bars([]), "formats is empty"),
        (lambda: fp.plot.range_bars("e4m4"), "unknown format 'e4m4'"),
        (lambda: fp.plot.range_bars("binary16p2se"), "binary16p2se reaches beyond float64"),
        (lambda: fp.plot.range_bars("e4m3", data=[]), "data is empty"),
        (lambda: fp.plot.range_bars("e4m3", data=[0.0, 0.0]), "data: all 2 values are zero"),
        (lambda: fp.plot.range_bars("e4m3", data=[math.nan]), "data: all 1 values are NaN"),
        (lambda: fp.plot.range_bars("e4m3", data=[0, math.inf]), "data: all 2 values are zero, infinite or NaN"),
        (lambda: fp.plot.spacing([]), "formats is empty"),
        (lambda: fp.plot.spacing("binary16p2se"), "beyond float64"),
        (lambda: fp.plot.number_line("fp32"), r"fp32 has 4278190079 values; limits=\(low, high\) around at most 1024"),
        (lambda: fp.plot.number_line("fp16", limits=(0, 9)), r"between limits=\(0.0, 9.0\) has \d+ values"),
        (lambda: fp.plot.number_line("e2m1", limits=(3.1, 3.9)), "e2m1 has no value between them"),
        (lambda: fp.plot.number_line("e2m1", limits=(7, 9)), "e2m1 has no value between them"),
        (lambda: fp.plot.number_line("e2m1", limits=(1, 1)), r"limits=\(1, 1\): two finite numbers"),
        (lambda: fp.plot.number_line("e2m1", limits=(0, math.inf)), "two finite numbers"),
        (lambda: fp.plot.staircase("e2m1", limits=(0, 10**400)), "two finite numbers"),
        (lambda: fp.plot.number_line("e2m1", limits=3), "limits=3: two finite numbers"),
        (lambda: fp.plot.number_line("e2m1", limits=("a", 3)), "two finite numbers"),
        (lambda: fp.plot.staircase("fp16"), "fp16 has 63487 values; limits="),
        (lambda: fp.plot.staircase("fp16", limits=(0, 9)), "values; limits="),
        (lambda: fp.plot.staircase("e2m1", rounding="nearest"), "rounding='nearest'"),
        (lambda: fp.plot.staircase("e2m1", rounding="stochastic"), "has more than one result; one of nearest_even"),
        (lambda: fp.plot.staircase("e2m1", overflow="wrap"), "overflow='wrap'"),
        (lambda: fp.plot.error([], "e4m3"), "x is empty"),
        (lambda: fp.plot.error([math.nan] * 2, "e4m3"), "x: all 2 values are NaN"),
        (lambda: fp.plot.error([0.0], "e4m3"), "x: all 1 values are zero"),
        (lambda: fp.plot.error([1.0], []), "formats is empty"),
        (lambda: fp.plot.histogram([], "e4m3"), "x is empty"),
        (lambda: fp.plot.histogram([math.nan] * 3, "e4m3"), "x: all 3 values become infinite or NaN in e4m3"),
        (lambda: fp.plot.histogram([1.0, math.nan], "e2m1"), "e2m1"),
        (lambda: fp.plot.histogram([1.0], "fp16"), "fmt: fp16 has 63487 values"),
        (lambda: fp.plot.blocks([], "mxfp4"), "x is empty"),
        (lambda: fp.plot.blocks([[0.0]], "mxfp4"), "x: all 1 values are zero"),
        (lambda: fp.plot.blocks(np.ones((2, 2, 2)), "mxfp4"), r"x has shape \(2, 2, 2\)"),
        (lambda: fp.plot.blocks(np.ones((2, 2)), "mxfp4", axis=2), "axis=2"),
        (lambda: fp.plot.compare([1.0]), "formats is missing"),
        (lambda: fp.plot.compare([], "e4m3"), "comparison_or_x is empty"),
        (lambda: fp.plot.compare([0.0, 0.0], "e4m3"), "comparison_or_x: all 2 values are zero"),
        (lambda: fp.plot.compare(fp.compare([0.0], "e4m3")), "no row with a ratio"),
        (lambda: fp.plot.compare(fp.compare([1.0], "e4m3"), "e5m2"), "a Comparison has its own"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
    assert not plt.get_fignums()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fp.plot.spacing("mxfp4"), "mxfp4 is a block format"),
        (lambda: fp.plot.number_line("nvfp4"), "nvfp4_te is a block format"),
        (lambda: fp.plot.staircase("nvfp4"), "nvfp4_te is a block format"),
        (lambda: fp.plot.blocks([[1.0]], "e4m3"), "e4m3 is an element format"),
        (lambda: fp.plot.number_line("e2m1", ax=3), "ax=3: a Matplotlib Axes was expected"),
        (lambda: fp.plot.range_bars(["e2m1"], data=["a"]), "."),
    ],
)
def test_wrong_kind(call, message):
    with pytest.raises(TypeError, match=message):
        call()
    assert not plt.get_fignums()


# --- range_bars -----------------------------------------------------------------------------------------------
#: smallest, smallest normal, largest: IEEE 754-2019 table 3.5 and OCP's tables
ENDS = {
    "fp32": (2.0**-149, 2.0**-126, (2 - 2.0**-23) * 2.0**127),
    "tf32": (2.0**-136, 2.0**-126, (2 - 2.0**-10) * 2.0**127),
    "fp16": (2.0**-24, 2.0**-14, 65504.0),
    "bf16": (2.0**-133, 2.0**-126, (2 - 2.0**-7) * 2.0**127),
    "e5m2": (2.0**-16, 2.0**-14, 57344.0),
    "e4m3": (2.0**-9, 2.0**-6, 448.0),
    "e3m2": (0.0625, 0.25, 28.0),
    "e2m3": (0.125, 1.0, 7.5),
    "e2m1": (0.5, 1.0, 6.0),
}


def bars(ax):
    """Row's ``kind:name`` to the ends of its bar or line."""
    found = {patch.get_gid(): (patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches}
    found |= {line.get_gid(): tuple(line.get_xdata()) for line in ax.get_lines() if line.get_gid()}
    return found


def test_range_bars_of_elements():
    ax = fp.plot.range_bars(NINE)
    drawn = bars(ax)
    for name, (smallest, normal, largest) in ENDS.items():
        assert drawn[f"subnormal:{name}"] == (smallest, normal)
        assert drawn[f"normal:{name}"] == (normal, largest)
    assert len(drawn) == 18
    assert [text.get_text() for text in ax.get_yticklabels()] == NINE
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first on top
    assert all(patch.get_hatch() for patch in ax.patches if patch.get_gid().startswith("subnormal"))


def test_range_bars_without_subnormals_or_exponents():
    drawn = bars(fp.plot.range_bars([TOY, "e8m0", "s4", "int8"]))
    assert drawn == {
        "normal:toy": (0.25, 7.0),
        "normal:e8m0": (2.0**-127, 2.0**127),
        "subnormal:s4": (1.0, 7.0),
        "subnormal:int8": (2.0**-6, 127 / 64),
    }


def test_range_bars_of_blocks():
    # OCP's floor rule gives an amax of 6 the scale 1, and one of 1.5 the scale 2^-2
    assert bars(fp.plot.range_bars("mxfp4")) == {
        "subnormal:mxfp4": (0.5, 1.0),
        "normal:mxfp4": (1.0, 6.0),
        "reach:mxfp4": (2.0**-128, 1.5 * 2.0**127),  # twice that is no float32
    }
    drawn = bars(fp.plot.range_bars(["mxfp4", "nvfp4", "fp8_e4m3_tensor_te"], data=[1.5, -0.01]))
    assert drawn["subnormal:mxfp4"] == (0.125, 0.25)
    assert drawn["normal:mxfp4"] == (0.25, 1.5)
    # the largest block's scale is 448, the largest of E4M3; the smallest is 2^-9
    assert drawn["normal:nvfp4_te"] == (0.25, 1.5)
    assert drawn["reach:nvfp4_te"] == pytest.approx((0.5 * 2.0**-9 * 1.5 / 2688, 1.5), rel=1e-6)
    assert drawn["normal:fp8_e4m3_tensor_te"][1] == pytest.approx(1.5, rel=1e-6)
    assert "reach:fp8_e4m3_tensor_te" not in drawn


def test_range_bars_marks_the_data():
    data = np.array([*range(1, 101), 0, 0, math.nan, math.inf], np.float64)
    data[:100:2] *= -1
    drawn = bars(fp.plot.range_bars("e4m3", data=data))
    found = {name: x[0] for name, x in drawn.items() if name.startswith("data")}
    assert found == {"data:min": 1, "data:1%": 1, "data:median": 50, "data:99%": 99, "data:max": 100}
    drawn = bars(fp.plot.range_bars("e4m3", data=range(1, 12)))
    assert [x[0] for name, x in drawn.items() if name.startswith("data")] == [1, 1, 6, 11, 11]
    drawn = bars(fp.plot.range_bars("e4m3", data=range(1, 701)))  # 0.01 * 700 is more than 7 in float64
    assert [x[0] for name, x in drawn.items() if name.startswith("data")] == [1, 7, 350, 693, 700]


# --- spacing --------------------------------------------------------------------------------------------------
SPACED = ["e4m3", "e5m2", "e2m1", "e3m2", "int8", "s4", "e8m0", "ue4m3", "e4m3fnuz", "binary8p3se", "binary6p1se", TOY]


def segments(line):
    """The level parts of a drawn line: (from, to, left end, right end)."""
    x, y = line.get_data()
    return [(x[i], x[i + 1], y[i], y[i + 1]) for i in range(0, len(x), 2)]


@pytest.mark.parametrize("name", SPACED, ids=str)
def test_spacing_is_the_distance_of_neighbours(name):
    ax = fp.plot.spacing([name])
    drawn = segments(ax.get_lines()[0])
    positive = [value for value in values(name) if value > 0]
    if len(positive) < 2:
        pytest.skip("one value")
    assert (drawn[0][0], drawn[-1][1]) == (positive[0], positive[-1])
    for low, high in itertools.pairwise(positive):
        over = [gap for start, end, gap, _ in drawn if start <= low and high <= end]
        assert over == [high - low]
    assert all(left == right for _, _, left, right in drawn)


@pytest.mark.parametrize("name", ["e4m3", "e2m1", "int8", TOY], ids=str)
def test_relative_spacing(name):
    absolute = segments(fp.plot.spacing(name).get_lines()[0])
    relative = segments(fp.plot.spacing(name, relative=True).get_lines()[0])
    assert [(a, b, y / a, z / b) for a, b, y, z in absolute] == relative


def test_relative_spacing_as_bands():
    ax = fp.plot.spacing(["bf16", "int8"], relative=True)
    x, y = ax.get_lines()[0].get_data()
    largest = ENDS["bf16"][2]
    assert (list(x), list(y)) == ([2.0**-133, 2.0**-126, largest], [1.0, 2.0**-7, 2.0**-7])
    (band,) = ax.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices}
    assert corners == {(a, b) for a in (2.0**-126, largest) for b in (2.0**-8, 2.0**-7)}


# --- number_line ----------------------------------------------------------------------------------------------
def ticks(ax):
    """Label of a collection to its {x: height}."""
    return {c.get_label(): {p[0][0]: p[1][1] for p in c.get_segments()} for c in ax.collections}


@pytest.mark.parametrize("name", ["e2m1", "e4m3", "e3m2", "e4m3fnuz", "binary5p3ue", "s4", TOY], ids=str)
def test_number_line_has_every_value(name):
    fmt = fp.get(name)
    drawn = ticks(fp.plot.number_line(name))
    expected = values(name)
    every = {x: tall for part in drawn.values() for x, tall in part.items()}
    assert sorted(every) == expected
    tall = {float(v) for v in expected if not v or math.frexp(abs(float(v)))[0] == 0.5}
    assert {x for x, height in every.items() if height == 1.0} == tall
    small = {v for v in expected if 0 < abs(v) < Fraction(2) ** fmt.emin} if fmt.exponent_bits else set()
    assert set(drawn.get("subnormal", ())) == small


def test_number_line_between_limits():
    for low, high in ((0, 6), (-0.5, 0.5), (0.9, 3.1), (-100, -4), (-5, -3.5), (-2.2, -0.1)):
        drawn = ticks(fp.plot.number_line("e2m1", limits=(low, high)))
        found = sorted(x for part in drawn.values() for x in part)
        assert found == [v for v in values("e2m1") if low <= v <= high]
    ax = fp.plot.number_line("e2m1", limits=(-8, 16))
    assert ax.get_xlim() == pytest.approx((-8.48, 16.48))  # the limits, although no value reaches them
    ax = fp.plot.number_line("fp32", limits=(Fraction(1), 1 + Fraction(1, 2**22)))
    assert sorted(ticks(ax)["normal"]) == [1, 1 + 2**-23, 1 + 2**-22]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["1", "1.0000001", "1.0000002"]


# --- staircase ------------------------------------------------------------------------------------------------
PLAIN = [name for name, mode in ROUNDINGS.items() if not mode.random_bits]


def stairs(ax):
    """(from, to, y) of each level part of a staircase."""
    return [(a, b, y) for a, b, y, _ in segments(ax.get_lines()[1])]


@pytest.mark.parametrize("rounding", PLAIN)
@pytest.mark.parametrize("name", ["e2m1", "binary4p2se", "s4", TOY, "binary4p2uf"], ids=str)
def test_staircase_steps_are_where_they_must_be(name, rounding):
    ax = fp.plot.staircase(name, rounding=rounding, limits=(-9, 10))
    known = values(name)
    drawn = stairs(ax)
    assert (drawn[0][0], drawn[-1][1]) == (-9, 10)
    inside = [b for _, b, _ in drawn[:-1] if known[0] < b < known[-1]]
    if rounding.startswith("nearest"):
        assert inside == [(a + b) / 2 for a, b in itertools.pairwise(known)]
    else:
        assert set(inside) <= set(known)
    rules = Rules(rounding=rounding)
    for left, right, y in drawn:  # near both ends, and at two places between
        a, b = Fraction(left), Fraction(right)
        for share in (Fraction(1, 10**9), Fraction(1, 3), Fraction(4, 5), 1 - Fraction(1, 10**9)):
            exact = reference.decode(reference.encode(a + (b - a) * share, name, rules), name)
            assert exact == y or (not math.isfinite(exact) and math.isnan(y))
    for (_, _, y), (_, _, z) in itertools.pairwise(drawn):
        assert y != z or rounding == "to_odd"


def circles(ax):
    return {line.get_label(): set(zip(*line.get_data(), strict=True)) for line in ax.get_lines()[2:]}


def test_staircase_circles_say_where_a_tie_goes():
    known = [float(v) for v in values("e2m1")]
    even = {v for v in known if reference.encode(v, "e2m1") % 2 == 0}
    ties = [((a + b) / 2, a, b) for a, b in itertools.pairwise(known)]
    drawn = circles(fp.plot.staircase("e2m1"))
    assert drawn["filled"] == {(tie, a if a in even else b) for tie, a, b in ties}
    assert drawn["hollow"] == {(tie, b if a in even else a) for tie, a, b in ties}
    drawn = circles(fp.plot.staircase("e2m1", rounding="nearest_zero", limits=(0, 2)))
    assert drawn["filled"] == {(0.25, 0.0), (0.75, 0.5), (1.25, 1.0), (1.75, 1.5)}
    drawn = circles(fp.plot.staircase("e2m1", rounding="toward_zero", limits=(0, 1.2)))
    assert (drawn["filled"], drawn["hollow"]) == ({(0.5, 0.5), (1.0, 1.0)}, {(0.5, 0.0), (1.0, 0.5)})
    drawn = circles(fp.plot.staircase("e2m1", rounding="to_odd", limits=(0.1, 1.5)))  # 1 is even: all others leave it
    assert drawn["filled"] == {(1.0, 1.0)}
    assert drawn["hollow"] == {(1.0, 0.5), (1.0, 1.5)}


def test_staircase_beyond_the_ends():
    def last(**options):
        drawn = stairs(fp.plot.staircase(**options))
        return drawn[-2][1], drawn[-1][2]

    # the tie between 448 and the 480 that would be next goes to 448, which is even
    assert last(fmt="e4m3", limits=(400, 600)) == (432, 448)
    at, y = last(fmt="e4m3", limits=(400, 600), overflow="nonfinite")
    assert at == 464
    assert math.isnan(y)
    drawn = circles(fp.plot.staircase("e4m3", limits=(400, 600), overflow="nonfinite"))
    assert (464, 448) in drawn["filled"]
    assert last(fmt="e5m2", limits=(50000, 70000))[0] == 61440
    drawn = circles(fp.plot.staircase("e5m2", limits=(50000, 70000)))  # this tie goes to infinity
    assert (61440, 57344) in drawn["hollow"]
    assert last(fmt="e5m2", limits=(50000, 70000), rounding="toward_zero") == (57344, 57344)
    assert last(fmt="e5m2", limits=(50000, 70000), rounding="toward_positive")[0] == 57344
    texts = [
        [text.get_text() for text in fp.plot.staircase(name, overflow=overflow).texts]
        for name, overflow in (("e2m1", None), ("e4m3", "nonfinite"), ("binary5p3se", None))
    ]
    minus = "\N{MINUS SIGN}"
    assert texts[0] == [f"becomes {minus}6", "becomes 6"]
    assert texts[1] == ["becomes NaN", "becomes NaN"]
    assert texts[2] == [f"becomes {minus}infinity", "becomes +infinity"]
    ax = fp.plot.staircase("binary4p2uf", limits=(-2, 1))
    assert [text.get_text() for text in ax.texts] == ["becomes 0"]
    assert stairs(ax)[0] == (-2, 0.03125, 0)


def test_staircase_defaults_to_all_values():
    ax = fp.plot.staircase("e4m3")
    drawn = stairs(ax)
    assert sorted({y for _, _, y in drawn}) == values("e4m3")
    assert ax.get_xlim() == (-512, 512)
    assert len(ax.get_lines()) == 2  # too many for circles


# --- error ----------------------------------------------------------------------------------------------------
def test_error_of_single_numbers():
    x = [0.1, -1.06, 300.0, 2.0, 1e-5, 0.0, math.nan, math.inf]
    ax = fp.plot.error(x, ["e4m3", "e5m2"])
    for line, name in zip(ax.get_lines(), ("e4m3", "e5m2"), strict=True):
        expected = {}
        for value in x[:5]:
            exact = Fraction(value)
            error = abs(reference.decode(reference.encode(exact, name), name) - exact) / abs(exact)
            if error:
                expected[abs(value)] = float(error)
        assert dict(zip(*line.get_data(), strict=True)) == pytest.approx(expected, rel=1e-12)
    assert dict(zip(*ax.get_lines()[0].get_data(), strict=True))[1e-5] == 1  # flushed


def test_error_in_bins():
    rng = np.random.default_rng(5)
    x = np.ldexp(rng.uniform(1, 2, 3000), rng.integers(-12, 3, 3000))
    x[:50] = 0.0
    ax = fp.plot.error(x, ["e4m3"])
    bins = {}
    for value in x[50:]:
        exact = Fraction(value)
        error = abs(Fraction(float(reference.decode(reference.encode(exact, "e4m3"), "e4m3"))) - exact) / exact
        bins.setdefault(math.frexp(value)[1] - 1, []).append(float(error))
    median, maximum = (patch.get_data() for patch in ax.patches)
    assert [math.log2(edge) for edge in median.edges] == list(range(min(bins), max(bins) + 2))
    assert list(median.values) == pytest.approx([np.median(bins[k]) for k in sorted(bins)], rel=1e-12)
    assert list(maximum.values) == pytest.approx([max(bins[k]) for k in sorted(bins)], rel=1e-12)


def test_error_of_blocks_and_of_what_overflows():
    x = np.float32([[6.0, 0.3] + [0.0] * 30, [0.75, 0.0375] + [0.0] * 30])
    ax = fp.plot.error(x, ["mxfp4", "e5m2"])
    drawn = dict(zip(*ax.get_lines()[0].get_data(), strict=True))
    # 0.3 / 1 to 0.5, 0.0375 * 8 to 0.5: the same in the block's own unit
    expected = {float(np.float32(0.3)): 0.2 / 0.3, float(np.float32(0.0375)): 0.2 / 0.3}
    assert drawn == pytest.approx(expected, rel=1e-6)
    ax = fp.plot.error([1e9, 1.1], "e5m2")
    assert list(ax.get_lines()[0].get_xdata()) == [1.1]  # infinity has no place
    ax = fp.plot.error([1.0, 2.0], "e5m2")
    assert not ax.get_lines()[0].get_xdata().size


# --- histogram ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["e2m1", "e4m3", "e5m2", "s4", "binary6p3ue", TOY], ids=str)
def test_histogram_counts(name):
    x = np.abs(X) if name == "binary6p3ue" else X
    ax = fp.plot.histogram(x, name)
    expected = Counter(
        Fraction(v) for v in (reference.decode(reference.encode(float(v), name), name) for v in x) if math.isfinite(v)
    )
    known = values(name)
    assert [bar.get_height() for bar in ax.patches] == [expected[value] for value in known]
    assert [bar.get_x() + bar.get_width() / 2 for bar in ax.patches] == pytest.approx(range(len(known)))
    for place, text in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True):
        if "$" not in text.get_text():
            assert float(text.get_text().replace("\N{MINUS SIGN}", "-")) == pytest.approx(
                float(known[int(place)]), rel=1e-3
            )


def test_histogram_says_what_is_lost():
    ax = fp.plot.histogram([0.1, 0.9, 1.1, 9.0, -10.0, 0.0, 3.0, -0.2], "e2m1")
    assert ax.get_title(loc="left") == "e2m1: 25% saturated, 25% flushed to zero"
    ax = fp.plot.histogram([1e9, -1e9, 1.0, math.nan], "e5m2")
    assert ax.get_title(loc="left") == "e5m2: 50% saturated, 0% flushed to zero, 2 inf, 1 NaN"
    assert sum(bar.get_height() for bar in ax.patches) == 1


def test_histogram_of_blocks():
    codes = fp.encode_blocks(MATRIX, "nvfp4").codes.reshape(-1)
    expected = np.bincount(codes, minlength=16)
    ax = fp.plot.histogram(MATRIX, "nvfp4")
    negative = [expected[8 + magnitude] for magnitude in range(7, 0, -1)]
    assert [bar.get_height() for bar in ax.patches] == [*negative, expected[0] + expected[8], *expected[1:8]]
    codes = fp.encode_blocks(MATRIX, "int4_1x128_absmax").codes.reshape(-1).astype(int)
    signed = np.where(codes < 8, codes, codes - 16)
    ax = fp.plot.histogram(MATRIX, "int4_1x128_absmax")
    assert [bar.get_height() for bar in ax.patches] == [np.count_nonzero(signed == v) for v in range(-8, 8)]


# --- blocks ---------------------------------------------------------------------------------------------------
def pixels(ax, shape):
    """The drawn number at the middle of each of the matrix's places."""
    mesh = ax.collections[0]
    corners = np.asarray(mesh.get_coordinates())
    across, down = corners[0, :, 0], corners[:, 0, 1]
    image = np.ma.filled(np.ma.masked_array(mesh.get_array(), dtype=float), np.nan)
    row = np.searchsorted(down, np.arange(shape[0]) + 0.5) - 1
    column = np.searchsorted(across, np.arange(shape[1]) + 0.5) - 1
    return image[row[:, None], column[None, :]]


@pytest.mark.parametrize(
    ("name", "axis", "height", "width"),
    [
        ("mxfp8", -1, 1, 32),
        ("mxfp8", 1, 1, 32),
        ("mxfp8", 0, 32, 1),
        ("mxfp8_e4m3_te_32x1", -1, 32, 1),
        ("mxfp8_e4m3_te_32x1", 0, 1, 32),
        ("mxfp8_e4m3_te_32x32", -1, 32, 32),
        ("mxfp8_e4m3_te_32x32", 0, 32, 32),
    ],
)
@pytest.mark.parametrize("shape", [(70, 100), (32, 64), (33, 1)])
def test_blocks_are_where_they_lie(name, axis, height, width, shape):
    rng = np.random.default_rng(3)
    x = np.ldexp(rng.uniform(1, 2, shape), rng.integers(-9, 9, shape)).astype(np.float32)
    ax = fp.plot.blocks(x, name, axis=axis, ax=plt.subplots()[1])
    expected = np.empty(shape)
    for i, j in itertools.product(range(0, shape[0], height), range(0, shape[1], width)):
        part = np.s_[i : i + height, j : j + width]
        amax = Fraction(float(x[part].max()))
        # OCP's floor rule; Transformer Engine's smallest power of two that keeps amax / 448 below it
        expected[part] = math.floor(math.log2(amax)) - 8 if name == "mxfp8" else math.ceil(math.log2(amax / 448))
    assert (pixels(ax, shape) == expected).all()
    assert sorted(ax.get_xlim()) == [0, shape[1]]
    assert sorted(ax.get_ylim()) == [0, shape[0]]


@pytest.mark.parametrize(
    "name", ["nvfp4", "nvfp4_te_16x16", "fp8_e4m3_row_torchao", "fp8_e4m3_tensor_te", "int8_1x128_absmax"]
)
def test_blocks_shows_the_scales_of_the_block_array(name):
    ax = fp.plot.blocks(MATRIX, name)
    q = fp.encode_blocks(MATRIX, name)
    scales = q.scales if q.scales.dtype == np.float32 else fp.decode(q.scales, q.format.scale)
    drawn = ax.collections[0].get_array()
    assert drawn.shape == scales.shape
    assert (np.ma.filled(drawn, -np.inf) == np.log2(scales.astype(np.float64))).all()


def test_blocks_of_one_row_and_of_zeros():
    x = np.float32([6.0] * 32 + [0.75] * 8)
    assert fp.plot.blocks(x, "mxfp4").collections[0].get_array().tolist() == [[0.0, -3.0]]
    x = np.zeros((2, 16), np.float32)
    x[1, 0] = 6.0
    drawn = fp.plot.blocks(x, "nvfp4").collections[0].get_array()
    assert drawn.mask.tolist() == [[True], [False]]  # a scale of 0
    drawn = fp.plot.blocks(np.float32([[1.0] * 32 + [math.nan] * 32]), "mxfp4").collections[0].get_array()
    assert drawn.mask.tolist() == [[False, True]]


# --- compare --------------------------------------------------------------------------------------------------
def test_compare_draws_the_rows():
    rows = fp.compare(MATRIX, MANY)
    for ax in (fp.plot.compare(rows), fp.plot.compare(MATRIX, MANY)):
        assert ax.collections[0].get_offsets().tolist() == [[row.bits, row.sqnr_db] for row in rows]
        assert {text.get_text() for text in ax.texts} == {row.format for row in rows}


def test_compare_of_what_is_not_finite():
    ax = fp.plot.compare([1.0, 1.1, 1e9], ["fp64", "e5m2", "e4m3", "fp32"])
    low, high = ax.get_ylim()
    places = [offset for part in ax.collections for offset in part.get_offsets().tolist()]
    assert len(places) == 4
    assert {bits for bits, _ in places} == {64, 8, 32}
    assert all(low < y < high for _, y in places)
    exact = ax.collections[1].get_offsets().tolist()
    broken = ax.collections[2].get_offsets().tolist()
    assert [bits for bits, _ in exact] == [64]
    assert [bits for bits, _ in broken] == [8]
    assert exact[0][1] > max(y for _, y in places if y != exact[0][1])


def test_names_find_room():
    rng = np.random.default_rng(1)
    points = [(float(x), float(y)) for x, y in rng.uniform(0, 120, (25, 2))] + [(50.0, 50.0)] * 3
    sizes = [(float(width), 11.0) for width in rng.uniform(15, 95, len(points))]
    made = placed(points, sizes, (400.0, 260.0))
    boxes = [(x, y, w, h) for (x, y), (w, h) in zip(made, sizes, strict=True)]
    for (x, y, w, h), (a, b, c, d) in itertools.combinations(boxes, 2):
        assert abs(x - a) >= (w + c) / 2 or abs(y - b) >= (h + d) / 2
    for x, y, w, h in boxes:
        assert (w / 2 <= x <= 400 - w / 2, h / 2 <= y <= 260 - h / 2) == (True, True)
        assert all(abs(x - a) >= w / 2 or abs(y - b) >= h / 2 for a, b in points)


def test_arrays_of_other_libraries():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    x = X.astype(ml_dtypes.bfloat16)
    for made in (fp.plot.histogram(x, "e4m3"), fp.plot.histogram(x.astype(np.float32), "e4m3")):
        assert sum(bar.get_height() for bar in made.patches) == X.size
    fp.plot.error(x, ["e4m3", "mxfp4"])
    fp.plot.range_bars("e4m3", data=x)
    fp.plot.blocks(x.reshape(2, 100), "mxfp4")
    fp.plot.error(3.3, "e4m3")


# --- docs/figures -----------------------------------------------------------------------------------------------
ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.skipif(not (ROOT / "tools").is_dir(), reason="not in a checkout")
def test_figures_are_small_and_used():
    pictures = runpy.run_path(str(ROOT / "tools" / "make_figures.py"))["PICTURES"]
    drawings = runpy.run_path(str(ROOT / "tools" / "make_drawings.py"))["DRAWINGS"]
    found = {path.name: path for path in (ROOT / "docs" / "figures").iterdir()}
    assert set(found) == {f"{name}.svg" for name in pictures} | set(drawings)
    page = (ROOT / "docs" / "plot.md").read_text()
    pages = page + "".join((ROOT / "docs" / f"{name}.md").read_text() for name in ("index", "architecture"))
    for name, path in found.items():
        text = path.read_text()
        assert len(text) < 100_000
        assert "<metadata>" not in text
        assert f"figures/{name}" in (pages if name in drawings else page)


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / "tools").is_dir(), reason="not in a checkout")
def test_figures_are_the_same_every_time():
    tool = runpy.run_path(str(ROOT / "tools" / "make_figures.py"))
    for name in ("range-and-spacing", "scales"):
        assert tool["draw"](tool["PICTURES"][name]) == tool["draw"](tool["PICTURES"][name])
