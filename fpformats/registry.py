"""THE table of element formats. A new format is a new row; nothing else changes."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache

from .block_format import BlockFormat
from .format import Format

__all__ = ["ALIASES", "FORMATS", "UnknownFormatError", "formats", "get", "get_element", "p3109"]

IEEE = "IEEE 754-2019 clause 3.6, table 3.5"
OFP8 = "OCP OFP8 rev 1.0, section 5"
MX = "OCP Microscaling Formats (MX) v1.0, section 5.3"
FNUZ = "arXiv:2206.02915 (Noune et al.); LLVM APFloat"
P3109 = "IEEE P3109 interim report v4.0 (2026-06), section 4.2"


def _row(name: str, e: int, m: int, clause: str, **facts: object) -> Format:
    return Format(name, exponent_bits=e, mantissa_bits=m, clause=clause, **facts)


_FINITE: dict[str, object] = {"nan_codes": 0, "inf_codes": 0}
_ONE_NAN: dict[str, object] = {"nan_codes": 1, "inf_codes": 0}
_FNUZ: dict[str, object] = {**_FINITE, "negative_zero": False}

_ROWS = (
    # IEEE 754 and its shortened relatives: the whole top exponent is infinity and NaN
    _row("fp64", 11, 52, f"{IEEE} (binary64)"),
    _row("fp32", 8, 23, f"{IEEE} (binary32)"),
    _row("tf32", 8, 10, "PTX ISA, .tf32: binary32's top 19 bits"),
    _row("fp16", 5, 10, f"{IEEE} (binary16)"),
    _row("bf16", 8, 7, "PTX ISA, .bf16; Intel BFLOAT16 Numerics Definition 338302: binary32's top 16 bits"),
    # 8 bits
    _row("e4m3", 4, 3, f"{OFP8} (E4M3)", **_ONE_NAN),
    _row("e5m2", 5, 2, f"{OFP8} (E5M2)"),
    _row("e4m3_ieee", 4, 3, "ml_dtypes float8_e4m3; LLVM Float8E4M3: IEEE specials"),
    _row("e3m4", 3, 4, "ml_dtypes float8_e3m4; LLVM Float8E3M4: IEEE specials"),
    _row("e4m3fnuz", 4, 3, FNUZ, bias=8, **_FNUZ),
    _row("e5m2fnuz", 5, 2, FNUZ, bias=16, **_FNUZ),
    _row("e4m3b11fnuz", 4, 3, "ml_dtypes float8_e4m3b11fnuz; LLVM Float8E4M3B11FNUZ", bias=11, **_FNUZ),
    # 6 and 4 bits: every code is a finite number
    _row("e3m2", 3, 2, f"{MX}.2 (FP6 E3M2)", **_FINITE),
    _row("e2m3", 2, 3, f"{MX}.2 (FP6 E2M3)", **_FINITE),
    _row("e2m1", 2, 1, f"{MX}.3 (FP4 E2M1)", **_FINITE),
    _row("int8", 0, 7, f"{MX}.4 (INT8: two's complement, implied scale 2^-6)", bias=0, twos_complement=True),
    _row("mxint4_element", 0, 3, "microxcaling 7bc41952 formats.py (int4: two's complement, implied scale 2^-2)",
         bias=0, twos_complement=True),
    # integers of quantized weights
    *(_row(f"s{bits}", 0, bits - 1, f"PTX ISA, .s{bits}: two's complement integers" if bits > 2 else
           "XLA and ml_dtypes int2: two's complement integers", bias=2 - bits, twos_complement=True)
      for bits in (8, 4, 2)),
    # scale types
    _row("e8m0", 8, 0, "OCP MX v1.0 section 5.4.1 (E8M0)", bias=127, signed=False, has_zero=False,
         subnormals=False, **_ONE_NAN),
    _row("ue4m3", 4, 3, "PTX ISA, .ue4m3: E4M3 without its sign", signed=False, **_ONE_NAN),
    _row("ue5m3", 5, 3, "PTX ISA 9.4, .ue5m3; CUDA 13.5 headers", signed=False, **_ONE_NAN),
)  # fmt: skip

FORMATS: dict[str, Format] = {row.name: row for row in _ROWS}

#: Exact names that libraries use for the same set of values and codes.
ALIASES: dict[str, str] = {
    alias: name
    for name, aliases in {
        "fp64": "binary64 float64 double f64",
        "fp32": "binary32 float32 single float f32",
        "tf32": "tfloat32 f19 fp19 TF32 FloatTF32",
        "fp16": "binary16 float16 half f16",
        "bf16": "bfloat16 BFloat16",
        "e4m3": "float8_e4m3fn f8E4M3FN Float8E4M3FN FLOAT8E4M3FN fp8_e4m3 fp8_e4m3fn F8_E4M3 e4m3fn",
        "e5m2": "float8_e5m2 f8E5M2 Float8E5M2 FLOAT8E5M2 fp8_e5m2 F8_E5M2",
        "e4m3_ieee": "float8_e4m3 f8E4M3 Float8E4M3",
        "e3m4": "float8_e3m4 f8E3M4 Float8E3M4",
        "e4m3fnuz": "float8_e4m3fnuz f8E4M3FNUZ Float8E4M3FNUZ FLOAT8E4M3FNUZ",
        "e5m2fnuz": "float8_e5m2fnuz f8E5M2FNUZ Float8E5M2FNUZ FLOAT8E5M2FNUZ",
        "e4m3b11fnuz": "float8_e4m3b11fnuz float8_e4m3b11 f8E4M3B11FNUZ Float8E4M3B11FNUZ",
        "e3m2": "float6_e3m2fn f6E3M2FN Float6E3M2FN fp6_e3m2 e3m2fn",
        "e2m3": "float6_e2m3fn f6E2M3FN Float6E2M3FN fp6_e2m3 e2m3fn",
        "e2m1": "float4_e2m1fn f4E2M1FN Float4E2M1FN FLOAT4E2M1 fp4_e2m1 e2m1fn",
        "int8": "mxint8_element",
        "e8m0": "float8_e8m0fnu f8E8M0FNU Float8E8M0FNU FLOAT8E8M0 ue8m0 F8_E8M0 e8m0fnu",
        "ue4m3": "float8_ue4m3",
        "ue5m3": "float8_ue5m3",
    }.items()
    for alias in aliases.split()
}

#: P3109's family is a function of K (bits), P (precision), signedness and domain.
P3109_BITS = range(3, 17)
_P3109_NAME = re.compile(r"binary([1-9]\d?)p([1-9]\d?)([su])([ef])")


def p3109(k: int, p: int, signed: bool, extended: bool) -> Format:
    """The P3109 format Binary{K, P, signedness, domain}.

    Bias 2^(K-P-1), or 2^(K-P) unsigned; no -0. The one NaN is the sign-only code, or the top code
    of an unsigned format; an extended format has its infinity at the top of the line (or just
    below that NaN).

    >>> p3109(8, 4, True, True).max
    224.0
    """
    if k not in P3109_BITS or not 1 <= p <= k - signed:
        raise ValueError(f"P3109 formats have K in 3..16 and P in 1..K-1 (K when unsigned), got K={k}, P={p}")
    return _row(
        f"binary{k}p{p}{'s' if signed else 'u'}{'e' if extended else 'f'}",
        k - p + (not signed),
        p - 1,
        P3109,
        bias=1 << (k - p - signed),
        signed=signed,
        negative_zero=not signed,
        nan_codes=0 if signed else 1,
        inf_codes=int(extended),
    )


def _block_rows() -> tuple[dict[str, BlockFormat], dict[str, str]]:
    """The table of block formats and its aliases: built on first use, as most programs ask for elements only."""
    from .recipes import BLOCK_ALIASES, BLOCK_FORMATS

    return BLOCK_FORMATS, BLOCK_ALIASES


class UnknownFormatError(ValueError, KeyError):
    """No format has that name."""

    def __str__(self) -> str:
        return str(self.args[0])


@lru_cache(maxsize=4)
def formats(kind: str = "all", /) -> tuple[str, ...]:
    """The names of all registered formats: the rows above, P3109's K = 3 ... 16, then the block formats.

    Parameters
    ----------
    kind : str
        ``element``, ``block``, or ``all``.

    Examples
    --------
    >>> "e4m3" in formats(), "binary8p4se" in formats(), "nvfp4_te" in formats()
    (True, True, True)
    """
    family = tuple(
        f"binary{k}p{p}{'s' if signed else 'u'}{domain}"
        for k in P3109_BITS
        for signed in (True, False)
        for p in range(1, k + 1 - signed)
        for domain in "ef"
    )
    kinds = {"element": (*FORMATS, *family), "block": tuple(_block_rows()[0])}
    kinds["all"] = kinds["element"] + kinds["block"]
    if kind not in kinds:
        raise ValueError(f"formats({kind!r}): one of {', '.join(kinds)} was expected")
    return kinds[kind]


@lru_cache(maxsize=4096)
def _named(name: str) -> Format | BlockFormat:
    if row := FORMATS.get(ALIASES.get(name, name)):
        return row
    if match := _P3109_NAME.fullmatch(name):
        k, p = int(match[1]), int(match[2])
        if k in P3109_BITS and 1 <= p <= k - (match[3] == "s"):
            return p3109(k, p, match[3] == "s", match[4] == "e")
    blocks, aliases = _block_rows()
    if block := blocks.get(aliases.get(name, name)):
        return block
    known = (*FORMATS, *ALIASES, *formats()[len(FORMATS) :], *aliases)
    near = difflib.get_close_matches(name, known, 3) or difflib.get_close_matches(name.lower(), known, 3, 0.5)
    hint = f"did you mean {', '.join(near)}?" if near else "formats() lists all names"
    raise UnknownFormatError(f"unknown format {name!r}; {hint}")


def get(fmt: str | Format | BlockFormat, /) -> Format | BlockFormat:
    """The format of that name (or the format itself).

    Parameters
    ----------
    fmt : str, Format or BlockFormat
        A canonical name, or a library's exact name for the same format; case matters.

    Returns
    -------
    Format or BlockFormat

    Raises
    ------
    UnknownFormatError
        A `ValueError` (and `KeyError`) that names near ones.
    TypeError
        For anything but a name or a format.

    Examples
    --------
    >>> get("float8_e4m3fn").name, get("float8_e4m3").name, get("nvfp4").name
    ('e4m3', 'e4m3_ieee', 'nvfp4_te')
    """
    if isinstance(fmt, (Format, BlockFormat)):
        return fmt
    if isinstance(fmt, str):
        return _named(fmt)
    raise TypeError(f"a format name or a Format was expected, got {type(fmt).__name__}")


def get_element(fmt: str | Format, /) -> Format:
    """`get`, for an element format only.

    Raises
    ------
    TypeError
        For a block format.
    """
    found = get(fmt)
    if isinstance(found, BlockFormat):
        raise TypeError(f"{found.name} is a block format; an element format such as {found.element} was expected here")
    return found
