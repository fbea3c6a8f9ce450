"""Write the tables in docs/ from the rows: `python tools/make_docs.py`, or `--check` to compare."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import compatibility

import fpformats as fp
from fpformats.profiles import PROFILES
from fpformats.registry import ALIASES, FORMATS
from fpformats.rounding import NAN_RULES, OVERFLOWS, ROUNDINGS, SUBNORMALS, Rules

DOCS = Path(__file__).parents[1] / "docs"
NOTE = "<!-- written by tools/make_docs.py from the rows; do not edit -->\n"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def number(value: object) -> str:
    """A power of two as such, else the shortest decimal."""
    if isinstance(value, float) and value:
        mantissa, exponent = value.hex().split("p")
        if mantissa.lstrip("-") in ("0x1.0000000000000", "0x1.0p0"):
            return f"{'-' if value < 0 else ''}2^{int(exponent)}"
        if 0 < abs(value) < 2.0**-1000:
            return f"2^{fp.FP64.emin - 52}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def formats_page() -> str:
    """Every named format, its facts and where they come from."""
    rows = []
    for fmt in FORMATS.values():
        specials = [
            "inf" if fmt.has_inf else "",
            f"NaN {fmt.nan_code:#x}" if fmt.nan_code is not None else "",
            "-0" if fmt.has_negative_zero else "",
        ]
        rows.append([
            f"`{fmt.name}`", str(fmt.bits), f"{'1' if fmt.signed else '0'}-{fmt.nexp}-{fmt.nmant}", str(fmt.bias),
            number(fmt.max), number(fmt.smallest_normal) if fmt.nexp else "none", number(fmt.smallest_subnormal),
            "none" if fmt.eps is None else number(fmt.eps),
            ", ".join(filter(None, specials)) or "none", fmt.clause,
        ])  # fmt: skip
    names = [[f"`{name}`", ", ".join(f"`{a}`" for a, n in ALIASES.items() if n == name)] for name in FORMATS]
    return (
        NOTE + "# Formats\n\nThe rows of `fpformats/registry.py`. Layout is sign-exponent-mantissa bits; `eps` is the spacing at 1.\n\n"
        + table(["name", "bits", "layout", "bias", "max", "smallest normal", "smallest", "eps", "specials", "source"], rows)
        + "\nP3109's family is a function of its parameters: `binary{K}p{P}{s|u}{e|f}` for K = 3 ... 16 bits, precision P,\n"
        "signed or unsigned, extended (with infinities) or finite. Its bias is 2^(K-P-1), or 2^(K-P) unsigned; there is no -0,\n"
        "and one NaN. Registered in all: " + str(len(fp.formats("element"))) + " formats.\n\n## Other names\n\nExact, never fuzzy; case matters.\n\n"
        + table(["name", "also"], names)
    )  # fmt: skip


def rule_words(rules: Rules, name: str) -> list[str]:
    """One cell for each of a profile's decisions."""
    fmt = None if name == "p3109" else FORMATS[name]
    nan = "canonical"
    if rules.nan_codes is not None:
        positive, negative = rules.nan_codes
        nan = f"{positive:#x}" if positive == negative else f"{positive:#x} / {negative:#x}"
        if rules.nan_payload_bits:
            nan += f" + {rules.nan_payload_bits} payload bits"
    elif fmt is not None and not fmt.has_nan:
        nan = "`nan=` raises"
    overflow = rules.overflow or "by the format"
    infinity = "NaN" if rules.inf == "nan" else "as overflow"
    extra = []
    if rules.via:
        extra.append(f"wider sources through {rules.via}")
    if rules.negative:
        extra.append(f"negative: {rules.negative}")
    if fmt is not None and not fmt.has_zero:
        extra.append(f"zero: {rules.zero}")
    if rules.quirk:
        extra.append(f"(2^{rules.quirk[0]}, 2^{rules.quirk[1]}) all become code {rules.quirk[2]:#x}")
    if rules.words != "plain":
        extra.append(f"random words: {rules.words}")
    return [f"`{name}`", rules.rounding, overflow, infinity, nan, "; ".join(extra)]


def profiles_page() -> str:
    """Who does what."""
    parts = [
        NOTE
        + "# Who does what\n\nThe rows of `fpformats/profiles.py`: what each implementation does when it casts *to* a format, from the\n"
        "sources named. `profile=` takes these names. Codes are those of the target format; `a / b` are the codes of\n"
        "+NaN and -NaN. Not modelled: torch's float32 to bfloat16 NaN codes outside its vector loop (0x7fc0 in tails and\n"
        "strided tensors, 0xffff inside), and HIP 6.2's host emulation, which is wrong for tiny inputs.\n"
        "[Compatibility](compatibility.md) has where each departs from the defaults, with an input that shows it.\n"
    ]
    for row in PROFILES.values():
        parts.append(f"\n## {row.name}\n\n{row.what}. Source: {row.source}.\n\n")
        parts.append(
            table(
                ["to", "rounding", "overflow", "infinity", "NaN", "also"],
                [rule_words(r, n) for n, r in row.rows.items()],
            )
        )
    return "".join(parts)


def rounding_page() -> str:
    """Names and their mathematics."""
    rounding = [[f"`{r.name}`", r.rule, r.standard] for r in ROUNDINGS.values()]
    return (
        NOTE + "# Rounding, overflow, NaN, subnormals\n\nWrite |x| = (s + v) q with q the spacing of the format at x, s an integer and"
        " 0 <= v < 1. Rounding chooses\nbetween s and s + 1; \"odd\" means that the line of s is odd ([semantics](semantics.md)).\n\n"
        + table(["rounding", "away from zero when", "standard"], rounding)
        + "\n" + table(["overflow", "what becomes of a result beyond the largest finite value, and of an infinity"], [[f"`{k}`", v] for k, v in OVERFLOWS.items()])
        + "\n" + table(["nan", "NaN into a format that has none"], [[f"`{k}`", v] for k, v in NAN_RULES.items()])
        + "\n" + table(["subnormals", "rule"], [[f"`{k}`", v] for k, v in SUBNORMALS.items()])
    )  # fmt: skip


def recipe_rows(names: list[str]) -> str:
    """One table of block formats."""
    rows = []
    for name in names:
        fmt = fp.get(name)
        ends = [f"{c}: {'' if code is None else f'code {code}, '}s = {value:g}" for c, code, value in fmt.special]
        ends += [f"code {old} becomes {new}" for old, new in fmt.code_at]
        ends += [f"code {code}: s = {value:g}" for code, value in fmt.scale_at]
        nan = "undefined" if fmt.nan_code is None else f"{fmt.nan_code:#x}"
        rows.append([
            f"`{name}`", f"{fmt.element}, {fmt.block_text}, {fmt.scale}", f"`{fmt.z}`" if fmt.z else "",
            f"`{fmt.v}`" + (f", p = `{fmt.zero_point}`" if fmt.zero_point else "") + ("" if fmt.statistic == "amax" else f", a the {fmt.statistic}")
            + ("" if fmt.amax_from == "block" else f", a of the {fmt.amax_from}"),
            f"{fmt.rule}" + (f", s by {fmt.s}" if fmt.s else "") + (f", then `{fmt.stored}` is stored" if fmt.stored else ""),
            f"`{fmt.y}`",
            ", ".join(filter(None, [
                fmt.rounding if fmt.rounding != "nearest_even" else "", fmt.overflow if fmt.overflow != "saturate" else "",
                f"zeros: {fmt.zero}" if fmt.zero != "keep" else "", f"NaN {nan}",
                "the lowest code unused" if fmt.symmetric else "",
                f"4over6 by {fmt.select}" if fmt.select else "",
                f"first of the least {'|q s - x|' if fmt.argmin_of == 'x' else '|q - y|'}" if fmt.argmin else "",
                *(f"y = {old.hex()} as {number(new)}" for old, new in fmt.y_at),
            ])), f"`{fmt.q}`", "; ".join(ends), fmt.clause,
        ])  # fmt: skip
    head = ["name", "element, block, scale", "z", "v", "rule", "y", "element's rounding", "value", "special", "source"]
    return table(head, rows)


def recipes_page() -> str:
    """Every block format's roundings."""
    from fpformats.recipes import BLOCK_ALIASES

    names = list(fp.formats("block"))
    kinds = {
        "NVFP4: E2M1 elements, E4M3 scales": [n for n in names if n.startswith("nvfp4")],
        "MX: E8M0 scales": [n for n in names if n.startswith("mx")],
        "FP8 and FP4 with float32 scales": [n for n in names if n.startswith(("fp8", "fp4"))],
        "Integers with float32 scales": [n for n in names if n.startswith(("int", "ternary"))],
    }
    aliases = ", ".join(f"`{a}` is `{n}`" for a, n in BLOCK_ALIASES.items())
    parts = [
        NOTE + f"# Block recipes\n\nThe {len(names)} rows of `fpformats/recipes.py`. {aliases}.\n\n"
        "Every operator is one float32 operation rounded to nearest even; `d(...)` rounds once more to the input's own type,\n"
        "`f64(...)` computes in float64 and rounds once; `a or b` is b where a is 0. `a` is the block's amax, `G` the tensor's\n"
        "(or row's), `z` the second level, `v` what the scale is made of, `s` the scale as `y` uses it, `t` as it is stored,\n"
        "`x` a number, `q` an element's value. `MAX` is float32's largest number; `DMAX` and `DEPS` are the input type's.\n"
        "Rules are functions of `fpformats/blocks/scales.py`. \"Special\" says what an amax that is zero, inf or NaN becomes;\n"
        "\"carry\" is one whose rounded exponent is an infinity's. `fp.get(name).explain()` prints one row in words.\n\n"
        "How each is held to its source: `tests/oracles/block_peers` (the packages themselves, and what they answered),\n"
        "`tests/oracles/block_model` (exact scalar models). What a package leaves undefined (element codes of NaN blocks in FP4\n"
        "and FP6) is the largest code here.\n\n"
        "`a` is an amax but for BitNet, where it is the mean magnitude: the exact sum over the number of values, rounded once\n"
        "(torch adds in an order that it does not state, so its last bit may differ). Integers are two's complement (`s8`, `s4`,\n"
        "`s2`, in steps of 1), symmetric or with a zero point: of `lo` and `hi`, a block's least and largest number, 0 among them,\n"
        "comes the integer `p` that stands for 0. Delayed scaling takes `amax_history=`, the amaxes of the steps before; with none\n"
        "the scale is 1.\n\n"
        "Hybrid FP8 training is a pair of rows: `fp8_e4m3_*` for weights and activations, on the way forward, and the `fp8_e5m2_*`\n"
        "row of the same name for gradients, on the way back (Transformer Engine's `Format.HYBRID`; `fp8_e4m3_delayed_te` with\n"
        "`fp8_e5m2_delayed_te`, `fp8_e4m3_tensor_te` with `fp8_e5m2_tensor_te`). Tensors larger than memory take two passes: the\n"
        "maximum of `tensor_amax(part)` over the parts, then `encode_blocks(part, ..., tensor_amax=that)` for each.\n\n"
        "Not here, because it cannot be verified bit for bit: kernels with approximate reciprocals (FlashInfer, TensorRT-LLM and\n"
        "vLLM by default); the elements of DeepSeek-V3's Triton kernel, whose division is approximate on a GPU (its scales are\n"
        "verified; the elements here are an exact division's); qwix's MX recipes, whose scales come from XLA's logarithm; Quark's\n"
        "INT8; stochastic rounding without the random stream; the order of the sums in a random Hadamard transform (`hadamard` has\n"
        "exact ones). Not here, because nothing recorded holds it yet: microxcaling's `floor` and `dither` roundings and\n"
        "its flushing of subnormal blocks, MLX before its change of scales in August 2026, unsigned integers.\n"
    ]  # fmt: skip
    parts += [f"\n## {title}\n\n{recipe_rows(chosen)}" for title, chosen in kinds.items()]
    return "".join(parts)


def module_page(name: str) -> str:
    """Sphinx's page of a module that is loaded on first use."""
    directive = f"```{{eval-rst}}\n.. automodule:: fpformats.{name}\n   :members:\n```\n"
    return NOTE + f"# Package fpformats.{name}\n\n{directive}"


PAGES = {
    **{f"api/{name}.md": partial(module_page, name) for name in fp._MODULES},
    "recipes.md": recipes_page,
    "formats.md": formats_page,
    "who-does-what.md": profiles_page,
    "compatibility.md": lambda: compatibility.page(NOTE, table),
    "rounding.md": rounding_page,
    "explorer.html": fp.widget.page,
}


def main(arguments: list[str]) -> int:
    """Write the pages, or say which differ."""
    stale = [name for name, page in PAGES.items() if not (DOCS / name).is_file() or (DOCS / name).read_text() != page()]
    if "--check" in arguments:
        print("\n".join(f"docs/{name} is not what the rows say" for name in stale), end="\n" if stale else "")
        return bool(stale)
    for name in stale:
        (DOCS / name).write_text(PAGES[name]())
        print(f"docs/{name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
