"""Block quantizers that are wrong on purpose, each as somebody writes it: one step of a kernel, changed.

`Blocks` is right (a test says so) and shares nothing with fpformats but the values of its formats. Every class below
changes one step; `BLOCK_ZOO` names what `fpformats.testing` has to say about each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import fpformats as fp

__all__ = ["BLOCK_ZOO", "RIGHT", "Blocks", "Mx", "Nv", "WrongBlocks"]

Array = Any


class Grid:
    """A small format as a sorted list of its magnitudes: rounding is a search among midpoints."""

    def __init__(self, name: str) -> None:
        row = fp.get(name)
        self.sign = row.sign_bit
        self.values = fp.decode(np.arange(row.max_code + 1, dtype=np.uint8), name).astype(np.float64)
        self.middle = (self.values[1:] + self.values[:-1]) / 2

    def nearest(self, size: Array) -> Array:
        """Ranks of the nearest magnitudes, the even one at ties; the largest for what is beyond."""
        size = np.asarray(size, np.float64)
        low = np.searchsorted(self.middle, size, side="left")
        tie = np.isin(size, self.middle)
        return low + (tie & (low % 2 == 1))


class Blocks:
    """Rows of float32, finite, one block each: (codes, scales). Every operation is one of float32."""

    element = Grid("e2m1")

    def __call__(self, x: Array) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            x = self.read(x)
            scales = self.scale(self.amax(x), x)
            y = self.scaled(x, self.used(scales))
            codes = self.codes(y)
        return self.stored(codes, scales)

    def read(self, x: Array) -> Array:
        return x

    def amax(self, x: Array) -> Array:
        return np.abs(x).max(axis=1)

    def scale(self, a: Array, x: Array) -> Array:
        raise NotImplementedError

    def used(self, scales: Array) -> Array:
        return scales

    def scaled(self, x: Array, scales: Array) -> Array:
        raise NotImplementedError

    def codes(self, y: Array) -> Array:
        line = self.rank(y)
        return (line | np.signbit(y) * self.element.sign).astype(np.uint8)

    def rank(self, y: Array) -> Array:
        return self.element.nearest(np.abs(y))

    def stored(self, codes: Array, scales: Array) -> tuple[Array, Array]:
        return codes, scales.astype(np.uint8)[:, None]


class Mx(Blocks):
    """OCP MX with e2m1 elements: the exponent of the amax, less 2, from bits."""

    emax = 2

    def scale(self, a, x):
        return np.maximum(self.exponent(a.view(np.uint32).astype(np.int64)) - self.emax, 0)

    def exponent(self, bits):
        return bits >> 23

    def scaled(self, x, scales):
        return x / np.ldexp(np.float32(1), scales - 127)[:, None]


class MxE4m3(Mx):
    element, emax = Grid("e4m3"), 8


class Ceil(Mx):
    def exponent(self, bits):
        return (bits + 0x7FFFFF) >> 23


class Even(Mx):
    def exponent(self, bits):
        return (bits + 0x200000) >> 23  # half of the last of one mantissa bit


class EvenE4m3(MxE4m3):
    def exponent(self, bits):
        return (bits + 0x80000) >> 23


class NoMagnitude(Mx):
    def amax(self, x):
        return np.maximum(x.max(axis=1), 0)


class LastForgotten(Mx):
    def amax(self, x):
        return np.abs(x[:, :-1]).max(axis=1)


class HalfForgotten(Mx):
    """A reduction over one warp of two."""

    def amax(self, x):
        return np.abs(x[:, : x.shape[1] // 2]).max(axis=1)


class Nibbles(Mx):
    def stored(self, codes, scales):
        codes, scales = super().stored(codes, scales)
        return codes.reshape(-1, 2)[:, ::-1].reshape(codes.shape), scales


class BiasOff(Mx):
    """The stored byte has another bias than the one that was used."""

    def stored(self, codes, scales):
        return super().stored(codes, scales + 1)


class NoBias(Mx):
    def stored(self, codes, scales):
        return super().stored(codes, scales - 127)


class EmaxOff(Mx):
    """One binade too many: the elements follow."""

    def scale(self, a, x):
        return np.where(a > 0, super().scale(a, x) + 1, 1)


class Transposed(Mx):
    """In each square tile a row takes the amax of the column of its number."""

    def amax(self, x):
        whole = len(x) // 32 * 32
        columns = np.abs(x[:whole]).reshape(-1, 32, 32).max(axis=1).reshape(-1)
        return np.concatenate([columns, np.abs(x[whole:]).max(axis=1)])


class ScalesShifted(Mx):
    def stored(self, codes, scales):
        return super().stored(codes, np.roll(scales, 1))


class Unsaturated(Mx):
    """6 is the largest; what rounds beyond it takes the sign bit as a third bit of the exponent."""

    def rank(self, y):
        wide = np.concatenate([self.element.values, [8, 12, 16]])
        middle = (wide[1:] + wide[:-1]) / 2
        low = np.searchsorted(middle, np.abs(np.float64(y)), side="left")
        return (low + (np.isin(np.abs(y), middle) & (low % 2 == 1))) & 7


class UnsaturatedE4m3(MxE4m3):
    """As the cast without saturation: NaN above 464."""

    def rank(self, y):
        return np.where(np.abs(y) > 464, 0x7F, super().rank(y))


class Cut(Mx):
    def rank(self, y):
        return np.minimum(np.searchsorted(self.element.values, np.abs(np.float64(y)), side="right") - 1, 7)


class Away(Mx):
    def rank(self, y):
        return np.searchsorted(self.element.middle, np.abs(np.float64(y)), side="right")


class CutCeil(Cut, Ceil):
    """Two mistakes: one in the scale, one in the elements."""


F = np.float32


class Nv(Blocks):
    """Transformer Engine's NVFP4: x times the reciprocal of the scale, in a tensor with an amax of its own."""

    scale_grid = Grid("e4m3")

    def read(self, x):
        self.z = np.minimum(F(2688) / self.tensor_amax(x), np.finfo(F).max)
        return x

    def tensor_amax(self, x):
        return np.abs(x).max()

    def scale(self, a, x):
        return self.scale_rank(a * (self.z * (F(1) / F(6))))

    def scale_rank(self, v):
        return self.scale_grid.nearest(v)

    def scaled(self, x, scales):
        s = self.scale_grid.values[scales].astype(F)[:, None]
        return self.over(x, s) + F(0)

    def over(self, x, s):
        return x * np.minimum(F(1) / (s * (F(1) / self.z)), np.finfo(F).max)

    def codes(self, y):
        return np.where(np.isnan(y), 0, super().codes(y)).astype(np.uint8)


class Divides(Nv):
    def over(self, x, s):
        return x / (s * (F(1) / self.z))


class OneLevel(Nv):
    def tensor_amax(self, x):
        return F(2688)


class SignedTensor(Nv):
    def tensor_amax(self, x):
        return x.max()


class ScaleCut(Nv):
    def scale_rank(self, v):
        return np.minimum(np.searchsorted(self.scale_grid.values, np.float64(v), side="right") - 1, 0x7E)


class ScaleOff(Nv):
    """Where the scale is the largest, this one is a NaN."""

    scale_grid = Grid("e4m3")
    scale_grid.values = np.append(scale_grid.values, np.nan)

    def scale_rank(self, v):
        return super().scale_rank(v) + 1


class NvNibbles(Nv):
    def stored(self, codes, scales):
        codes, scales = super().stored(codes, scales)
        return codes.reshape(-1, 2)[:, ::-1].reshape(codes.shape), scales


class Torchao(Nv):
    """The other library's order: its quotients, its clamp, its reciprocals."""

    def read(self, x):
        self.z = np.abs(x).max() / F(2688)
        return x

    def scale(self, a, x):
        return self.scale_rank(np.maximum(np.minimum((a / F(6)) / self.z, F(448)), F(0.015625)))

    def scaled(self, x, scales):
        return x * ((F(1) / self.z) / self.scale_grid.values[scales].astype(F)[:, None])


class ModelOpt(Nv):
    """A third order: an exact quotient by the product of both scales."""

    def read(self, x):
        self.z = np.abs(x).max() / F(2688)
        return x

    def scale(self, a, x):
        v = a / (F(6) * self.z)
        return self.scale_rank(np.maximum(np.minimum(np.where(v == 0, F(1), v), F(448)), F(2.0**-9)))

    def over(self, x, s):
        return x / (s * self.z)


class Reciprocal(ModelOpt):
    def over(self, x, s):
        return x * (F(1) / (s * self.z))


@dataclass(frozen=True)
class WrongBlocks:
    """One wrong quantizer, the recipe it should follow, and a part of each cause that has to be named."""

    cast: Blocks
    fmt: str
    causes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{type(self.cast).__name__}-{self.fmt}"


RIGHT: tuple[tuple[Blocks, str], ...] = (
    (Mx(), "mxfp4"),
    (MxE4m3(), "mxfp8"),
    (Nv(), "nvfp4_te"),
    (Torchao(), "nvfp4_torchao"),
    (ModelOpt(), "nvfp4_modelopt"),
)
BLOCK_ZOO: tuple[WrongBlocks, ...] = (
    WrongBlocks(Ceil(), "mxfp4", ("scale rule 'ceil 2' in place of 'floor 2'",)),
    WrongBlocks(Even(), "mxfp4", ("scale rule 'half_up 1 2' in place of 'floor 2'",)),
    WrongBlocks(Mx(), "mxfp4_torchao_ceil", ("scale rule 'floor 2' in place of 'ceil 2'",)),
    WrongBlocks(Mx(), "mxfp4_torchao_even", ("scale rule 'floor 2' in place of 'half_up 1 2'",)),
    WrongBlocks(EvenE4m3(), "mxfp8", ("scale rule 'half_up 3 8' in place of 'floor 8'",)),
    WrongBlocks(NoMagnitude(), "mxfp4", ("amax of signed numbers",)),
    WrongBlocks(LastForgotten(), "mxfp4", ("amax without the block's last number",)),
    WrongBlocks(HalfForgotten(), "mxfp4", ("amax of the block's first half",)),
    WrongBlocks(Nibbles(), "mxfp4", ("nibbles swapped",)),
    WrongBlocks(BiasOff(), "mxfp4", ("every scale's code is 1 too large",)),
    WrongBlocks(NoBias(), "mxfp4", ("every scale's code is 127 too small",)),
    WrongBlocks(EmaxOff(), "mxfp4", ("every scale is one code too large, and the elements follow it",)),
    WrongBlocks(Transposed(), "mxfp4", ("scales of transposed blocks",)),
    WrongBlocks(ScalesShifted(), "mxfp4", ("scales shifted by one block forwards",)),
    WrongBlocks(Unsaturated(), "mxfp4", ("x that overflow become zero",)),
    WrongBlocks(UnsaturatedE4m3(), "mxfp8", ("saturation is missing",)),
    WrongBlocks(Cut(), "mxfp4", ("elements rounded by 'toward_zero'",)),
    WrongBlocks(Away(), "mxfp4", ("elements rounded by 'nearest_away'",)),
    WrongBlocks(CutCeil(), "mxfp4", ("scale rule 'ceil 2'", "truncation")),
    WrongBlocks(Divides(), "nvfp4_te", ("x over the scale, not times its reciprocal",)),
    WrongBlocks(Reciprocal(), "nvfp4_modelopt", ("x times the reciprocal of both scales, not over them",)),
    WrongBlocks(OneLevel(), "nvfp4_te", ("no second level",)),
    WrongBlocks(SignedTensor(), "nvfp4_te", ("tensor's amax is of signed numbers",)),
    WrongBlocks(ScaleCut(), "nvfp4_te", ("scales rounded by 'toward_zero'",)),
    WrongBlocks(ScaleOff(), "nvfp4_te", ("every scale is one code too large, and the elements follow it",)),
    WrongBlocks(NvNibbles(), "nvfp4_te", ("nibbles swapped",)),
    WrongBlocks(Torchao(), "nvfp4_te", ("what recipe 'nvfp4_torchao' does",)),
    WrongBlocks(Nv(), "nvfp4_torchao", ("what recipe 'nvfp4_te' does",)),
)
