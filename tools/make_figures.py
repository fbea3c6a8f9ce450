"""Draw the pictures in docs/figures: `python tools/make_figures.py`. With one Matplotlib, the same bytes every time."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("svg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import fpformats as fp

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures"
NINE = ["fp32", "tf32", "fp16", "bf16", "e5m2", "e4m3", "e3m2", "e2m3", "e2m1"]
LARGEST = 100_000  # bytes


def sample() -> np.ndarray:
    """The weights that the package brings."""
    return np.load(ROOT / "fpformats" / "data" / "minilm_attention_output.npy")


def range_and_spacing() -> Figure:
    """Range against spacing: what a format can hold, and how finely."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
    fp.plot.range_bars(NINE, ax=left)
    fp.plot.spacing(NINE, ax=right)
    right.set_xlim(2.0**-27, 2.0**18)
    right.set_ylim(2.0**-27, 2.0**14)
    return figure


def number_lines() -> Figure:
    """The three formats of 6 and 4 bits, as far as 8."""
    figure, axes = plt.subplots(3, 1, figsize=(8, 4.2), layout="constrained")
    for ax, name in zip(axes, ("e2m1", "e2m3", "e3m2"), strict=True):
        fp.plot.number_line(name, limits=(-8, 8), ax=ax)
    return figure


def staircases() -> Figure:
    """The same format, two roundings."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    fp.plot.staircase("e2m1", ax=left)
    fp.plot.staircase("e2m1", rounding="toward_zero", ax=right)
    return figure


def data_in_range() -> Figure:
    """Weights beside what formats reach."""
    return fp.plot.range_bars(["fp16", "bf16", "e5m2", "e4m3", "e2m1", "mxfp8", "mxfp4", "nvfp4"], data=sample()).figure


def errors() -> Figure:
    """Relative error against magnitude."""
    return fp.plot.error(sample(), ["bf16", "e4m3", "mxfp8", "nvfp4"]).figure


def comparison() -> Figure:
    """What bits buy."""
    names = ["fp16", "bf16", "e4m3", "e5m2", "mxfp8", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "nvfp4", "int8_1x128_absmax"]
    return fp.plot.compare(sample(), names).figure


def codes() -> Figure:
    """How a cast and a block format use the same sixteen codes."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
    fp.plot.histogram(sample() * 20, "e2m1", ax=left)
    fp.plot.histogram(sample(), "nvfp4", ax=right)
    return figure


def scales() -> Figure:
    """Blocks along a row, with ragged ends, and square ones."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
    fp.plot.blocks(sample()[:24, :120], "nvfp4", ax=left)
    fp.plot.blocks(sample()[:100, :150], "nvfp4_te_16x16", ax=right)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "range-and-spacing": range_and_spacing,
    "number-lines": number_lines,
    "staircases": staircases,
    "data-in-range": data_in_range,
    "errors": errors,
    "comparison": comparison,
    "codes": codes,
    "scales": scales,
}


def draw(make: Callable[[], Figure]) -> str:
    """One picture as SVG, with nothing in it that differs from run to run."""
    from io import StringIO

    with plt.style.context("default"), plt.rc_context({"svg.hashsalt": "fpformats", "svg.fonttype": "path"}):
        figure, out = make(), StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", out.getvalue(), flags=re.S)
    text = re.sub(r"\b([1-9]\d*\.\d\d)\d+", r"\1", text)  # of what is more than a point, hundredths are enough
    return "\n".join(line.strip() for line in text.splitlines() if line.strip()) + "\n"


def main(names: list[str]) -> int:
    """Write the pictures of these names, or all."""
    FIGURES.mkdir(exist_ok=True)
    for name in names or PICTURES:
        text = draw(PICTURES[name])
        if len(text) > LARGEST:
            print(f"{name}: {len(text)} bytes, more than {LARGEST}")
            return 1
        (FIGURES / f"{name}.svg").write_text(text)
        print(f"{name}: {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
