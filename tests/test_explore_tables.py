"""`table`, the decimals and the HTML: facts against literature and NumPy, markup that is whole and says what the text says."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fpformats as fp
from fpformats import reference
from fpformats.explore.decimals import decimals, exact_decimal, shortest_decimal
from fpformats.explore.table import Table

TOY = fp.Format("toy", exponent_bits=3, mantissa_bits=2, bias=3, emax=2, subnormals=False)


class Text(HTMLParser):
    """The text of a page; every element that begins must end in its turn."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def squeezed(words: str) -> str:
    return re.sub(r"\s+", "", words)


# --- table ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "binades", "largest", "smallest"),
    [  # arXiv:2209.05433 section 3 counts 18, 32 and 40 binades
        ("e4m3", 18, 448, Fraction(1, 2**9)),
        ("e5m2", 32, 57344, Fraction(1, 2**16)),
        ("fp16", 40, 65504, Fraction(1, 2**24)),
        ("e2m1", 4, 6, Fraction(1, 2)),
        ("e8m0", 255, 2**127, Fraction(1, 2**127)),
        (TOY, 5, 7, Fraction(1, 4)),
    ],
)
def test_range(name, binades, largest, smallest):
    row = fp.table(name).rows[0]
    assert row["binades"] == binades
    assert (row["max"], row["smallest"]) == (largest, smallest)
    assert row["dB"] == pytest.approx(20 * math.log10(largest / smallest), abs=0.005)


def test_columns():
    row = fp.table([TOY]).rows[0]
    assert (row["layout"], row["per binade"], row["eps"], row["smallest normal"]) == ("s1 e3 m2", 4, 0.25, 0.25)
    assert row["specials"] == "-0, no subnormals"
    assert "block" not in row
    assert fp.table("int8").rows[0]["per binade"] is None
    assert "two's complement" in fp.table("s4").rows[0]["specials"]
    assert fp.table("fp32").rows[0]["eps"] == np.finfo(np.float32).eps
    assert len(fp.table()) == len(fp.formats("element")) - 504
    wide = fp.table("binary16p1se").rows[0]
    assert (wide["max"], wide["smallest"]) == ("2^16382", "2^-16383")


def test_block_formats():
    made = fp.table(["mxfp4", "nvfp4", "e2m1"])
    assert made["nvfp4"]["bits"] == 4.5
    assert [row["block"] for row in made] == ["1x32", "1x16", None]
    assert [row["scale"] for row in made] == ["e8m0", "e4m3", None]
    assert [row["element"] for row in made] == ["e2m1", "e2m1", None]
    assert [row["max"] for row in made] == [6.0, 6.0, 6.0]


def test_table_is_data():
    made = fp.table(["fp16", "e4m3"])
    assert json.loads(json.dumps(made.as_dict(), allow_nan=False))["e4m3"]["max"] == 448
    assert made["float16"] is made.rows[0]
    with pytest.raises(KeyError, match="e5m2 is not in the table; fp16, e4m3 are"):
        made["e5m2"]
    lines = str(made).splitlines()
    assert len(lines) == 3
    assert lines[0].split()[:3] == ["format", "bits", "layout"]
    assert squeezed("".join(Text(made._repr_html_()).words)) == squeezed(str(made))
    with pytest.raises(ValueError, match="did you mean"):
        fp.table(["e4m4"])
    assert str(Table(())) == "format"


def test_pandas():
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = fp.table(["fp16", "e4m3"]).to_pandas()
    assert list(frame.index) == ["fp16", "e4m3"]
    assert frame.loc["e4m3", "max"] == 448
    compared = fp.compare([0.1, 1.0], ["e4m3", "fp16"])
    assert compared.to_pandas().loc["fp16", "bits"] == 16
    assert squeezed("".join(Text(compared._repr_html_()).words)) == squeezed(str(compared))


def test_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install pandas\); as_dict\(\) gives the same"):
        fp.table("e4m3").to_pandas()
    with pytest.raises(ImportError, match="to_pandas needs pandas"):
        fp.compare([1.0], "e4m3").to_pandas()


# --- decimals ---------------------------------------------------------------------------------
@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_shortest_as_python(x):
    """Python's repr is the shortest that reads back, the closest of several."""
    assert float(shortest_decimal(x, "fp64")) == x
    digits = [re.sub(r"^0+|0+$", "", re.sub(r"[-.]|e.*", "", text)) for text in (shortest_decimal(x, "fp64"), repr(x))]
    assert digits[0].strip("0") == digits[1].strip("0")


@settings(deadline=None)
@given(st.integers(0, 2**16 - 1))
def test_shortest_as_numpy(code):
    """NumPy's shortest float16 (its largest few read back through rounding to infinity, so they may be longer here)."""
    x = np.uint16(code).view(np.float16)
    if np.isfinite(x):
        assert np.float16(shortest_decimal(float(x), "fp16")) == x
        assert len(shortest_decimal(float(x), "fp16").strip("-")) <= len(
            np.format_float_positional(x, trim="-").strip("-")
        )


@given(st.integers(0, 0x7F7FFFFF))
def test_shortest_as_numpys_float32(code):
    x = np.uint32(code).view(np.float32)
    ours, theirs = shortest_decimal(float(x), "fp32"), np.format_float_scientific(x, unique=True, trim="-")
    assert np.float32(ours) == x
    digits = [re.sub(r"e.*|[-.]", "", text).strip("0") for text in (ours, theirs)]
    assert len(digits[0]) == len(digits[1])


@settings(deadline=None)
@given(st.integers(0, 2**16 - 1))
def test_exact_decimal(code):
    for name in ("fp16", "bf16"):
        value = reference.decode(code, name)
        if isinstance(value, Fraction):
            words = exact_decimal(value)
            assert "^" in words or Fraction(words) == value


def test_decimals_by_hand():
    assert decimals(Fraction(13, 128), "e4m3") == ("0.1", "0.1015625")
    assert decimals(448.0, "e4m3") == ("450", "448")  # 440 ... 464 read as 448; 450 is nearest
    assert decimals(-math.inf, "fp16") == ("-inf", "-inf")
    assert decimals(-0.0, "fp16") == ("-0", "-0")
    assert decimals(Fraction(0), "e4m3") == decimals(0.0, "e4m3") == ("0", "0")
    assert fp.explain(0, "e4m3").as_dict()["decimals"] == {"shortest": "0", "exact": "0"}
    assert decimals(2.0**-149, "fp32")[0] == "1e-45"
    assert exact_decimal(Fraction(0.1)) == "0.1000000000000000055511151231257827021181583404541015625"
    assert exact_decimal(Fraction(2) ** 16382) == "2^16382"
    assert exact_decimal(Fraction(1, 3)) == "1/3"


# --- HTML -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name", [*fp.formats("element")[:30], *fp.formats("element")[-4:], *fp.formats("block")[::9], TOY]
)
def test_formats_are_drawn(name):
    fmt = fp.get(name)
    words = Text(fmt._repr_html_()).words
    assert words[0].startswith(f"{fmt.name}: ")
    assert squeezed(fmt.clause) in squeezed("".join(words))
    assert repr(fmt).startswith(f"<{type(fmt).__name__} {fmt.name}: ")
    assert str(fmt).startswith(f"{fmt.name}: ")


def test_layout_is_drawn():
    page = fp.E4M3._repr_html_()
    titles = re.findall(r'title="(\w+)"', page)
    assert titles[:8] == ["sign"] + ["exponent"] * 4 + ["mantissa"] * 3
    assert "color:inherit" in page  # the page's own colour, light or dark
    assert not re.search(r"[^-]color:(?!inherit)|<style|<script", page)


@pytest.mark.parametrize("x", ["3.1", 17, -0.0, math.nan, 1e9, "1/3"])
def test_explanations_are_drawn(x):
    told = fp.explain(x, "e4m3")
    words = squeezed("".join(Text(told._repr_html_()).words))
    assert words == squeezed(str(told))


def test_cut_bits_are_drawn():
    """17 = 1.000|1 * 2^4 in e4m3: four bits kept, the guard bit dropped; 0.1 has a round bit and many more."""
    titles = re.findall(r'title="(\w+)"', fp.explain(17, "e4m3")._repr_html_().split(">bits<")[1].split("</tr>")[0])
    assert titles == ["mantissa"] * 4 + ["guard"]
    titles = re.findall(r'title="(\w+)"', fp.explain(0.1, "e4m3")._repr_html_().split(">bits<")[1].split("</tr>")[0])
    assert titles == ["mantissa"] * 4 + ["guard", "round"] + ["sticky"] * 18


def test_names_are_escaped():
    odd = fp.Format("<b>&", exponent_bits=2, mantissa_bits=1, clause="<script>")
    for page in (odd._repr_html_(), fp.explain(1, odd)._repr_html_(), fp.table([odd])._repr_html_()):
        assert "<b>&<" not in page
        assert "<script>" not in page
        Text(page)


def test_drawing_needs_nothing_else():
    """A format is drawn without pandas, rich, IPython or Numba, and explore is loaded only then."""
    code = (
        "import sys, fpformats as fp; before = 'fpformats.explore.html' in sys.modules; fp.E4M3._repr_html_(); "
        "print(before, [m for m in ('numba', 'rich', 'pandas', 'IPython') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False []"


# --- what explain refuses, and what it takes ----------------------------------------------------
def test_explain_of_odd_numbers():
    assert fp.explain(-0.0, "e4m3").code == 0x80
    assert fp.explain(2**60 + 1, "fp64").exact == 2**60 + 1
    assert fp.explain(2**60 + 1, "fp64").error == -1
    assert fp.explain(10**400, "e5m2").value == math.inf
    assert fp.explain(5e-324, "fp64").events[0].startswith("subnormal")
    with pytest.raises(TypeError, match=r"one number, got ndarray of shape .3,.; .* with quantize or compare"):
        fp.explain(np.ones(3), "e4m3")
    with pytest.raises(TypeError, match="one number, got list of length 2"):
        fp.explain([1, 2], "e4m3")


def test_other_implementations():
    """500 into e4m3: OCP's saturating mode gives 448, its other mode, older torch and ml_dtypes NaN."""
    others = fp.explain(500, "e4m3").others
    assert [(other.code, math.isnan(other.value)) for other in others] == [(0x7F, True)]
    assert {"torch<=2.12", "ml_dtypes", "ocp_nonsaturating"} <= set(others[0].profiles)
    assert not {"torch", "ocp"} & set(others[0].profiles)
    assert "elsewhere    nan = code 0x7f = 0 1111 111: " in str(fp.explain(500, "e4m3"))
    assert fp.explain(3.1, "e4m3").others == ()
    twice = fp.explain(1 + 2**-4 + 2**-40, "e4m3").others  # torch rounds to float32 first
    assert [(other.code, other.value) for other in twice] == [(0x38, 1)]
    for x in (500, 3.1, math.inf, math.nan, -0.0, 1 + 2**-4 + 2**-40):
        told = fp.explain(x, "e4m3")
        named = {name: other.code for other in told.others for name in other.profiles}
        for name in fp.profiles():
            if name != "ptx_rs":
                try:
                    made = fp.encode(x, "e4m3", profile=name)
                except ValueError:
                    continue
                assert made == named.get(name, told.code), (x, name)
    own = fp.Format("e4m3", exponent_bits=5, mantissa_bits=2)  # somebody's own format of a known name
    assert fp.explain(1e9, own).others == ()
