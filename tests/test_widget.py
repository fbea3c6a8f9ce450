"""The bit explorer without a browser: its words against exact numbers, its JavaScript in node, its traits."""

from __future__ import annotations

import html
import json
import math
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import widget_js as js

import fpformats as fp
from fpformats import reference
from fpformats.explore.decimals import shortest_decimal
from fpformats.explore.words import dyadic
from fpformats.testing import boundary_inputs
from fpformats.widget import fragment, page
from fpformats.widget.facts import COLUMNS, exact, exact_value, facts, row_data, step

PACKAGE = Path(fp.__file__).parent
TOY = fp.Format("toy", exponent_bits=3, mantissa_bits=2, bias=3, emax=2, subnormals=False)
NAMED = [name for name in fp.formats("element") if not name.startswith("binary")]
NARROW = [name for name in fp.formats("element") if fp.get(name).bits <= 8]
NUMBERS = ("3.1", "0.1", "17", "1e9", "-1e9", "1/3", "-7/3", "1e-40", "-1e-40", "0", "-0", "inf", "-inf", "nan", "-nan")


def finite_values(fmt):
    """Every finite value in order, by the definition; one of the two zeros."""
    found = set()
    for code in range(1 << fmt.bits):
        try:
            value = reference.decode(code, fmt)
        except ValueError:
            continue
        if js.is_finite(value):
            found.add(Fraction(value))
    return sorted(found)


# --- the words ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fmt", [*(fp.get(name) for name in NARROW[:20]), fp.get("binary8p1ue"), TOY], ids=lambda f: f.name
)
def test_neighbours_are_the_values_beside(fmt):
    values = finite_values(fmt)
    infinities = (fmt.has_inf and fmt.signed, fmt.has_inf)
    for code in range(1 << fmt.bits):
        try:
            value = reference.decode(code, fmt)
        except ValueError:
            assert facts(math.nan, fmt, code)["kind"].startswith("unused")
            continue
        below, above = step(code, fmt, -1), step(code, fmt, 1)
        if value != value:
            assert (below, above) == (None, None)
            continue
        if not js.is_finite(value):
            inward, outward = (below, above) if value > 0 else (above, below)
            assert outward is None
            assert reference.decode(inward, fmt) == (values[-1] if value > 0 else values[0])
            continue
        at = values.index(Fraction(value))
        for other, place, infinity in ((below, at - 1, infinities[0]), (above, at + 1, infinities[1])):
            if 0 <= place < len(values):
                assert reference.decode(other, fmt) == values[place]
            elif infinity:
                assert abs(reference.decode(other, fmt)) == math.inf
            else:
                assert other is None


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m1", "e4m3fnuz", "e8m0", "binary8p3se", "fp16"])
def test_midpoints_are_where_codes_change(name):
    fmt, rng = fp.get(name), np.random.default_rng(1)
    tiny = Fraction(1, 1 << 400)
    for code in js.some_codes(fmt, rng, 50)[::3]:
        value = reference.decode(code, fmt)
        if not js.is_finite(value) or (not value and code):
            continue
        made = facts(Fraction(value), fmt, code)
        if made["midpoints"] == "none" or "~" in made["midpoints"]:
            continue
        for point in map(Fraction, made["midpoints"].split(", ")):
            inside, outside = (point - tiny, point + tiny) if point > value else (point + tiny, point - tiny)
            assert reference.decode(reference.encode(inside, fmt), fmt) == value
            assert reference.decode(reference.encode(outside, fmt), fmt) != value


def test_facts_in_words():
    words = {
        ("e4m3", 0x00): "zero", ("e4m3", 0x80): "negative zero", ("e4m3", 0x01): "subnormal, the smallest magnitude",
        ("e4m3", 0x08): "normal", ("e4m3", 0x7E): "normal, the largest", ("e4m3", 0xFE): "normal, the lowest",
        ("e4m3", 0xFF): "NaN", ("e5m2", 0x7C): "infinity", ("e5m2", 0xFC): "negative infinity", ("e5m2", 0x7D): "NaN",
        ("e4m3fnuz", 0x80): "NaN", ("s8", 0x80): "fixed point, the lowest", ("s8", 0x7F): "fixed point, the largest",
        ("e8m0", 0x00): "normal, the smallest magnitude", ("e8m0", 0xFF): "NaN", (TOY, 0x00): "zero",
        (TOY, 0x1F): "unused: the code stands for nothing",
    }  # fmt: skip
    for (name, code), kind in words.items():
        assert facts(math.nan, fp.get(name), code)["kind"] == kind
    how = {
        ("3.1", "e4m3"): "rounded down", ("17", "e4m3"): "a tie: to the even line", ("3", "e4m3"): "exact",
        ("500", "e4m3"): "beyond the largest: it stays the largest", ("1e9", "e5m2"): "beyond the largest: infinity",
        ("inf", "e4m3"): "no infinity here: the largest", ("nan", "e2m1"): "no NaN here", ("1e-9", "e4m3"): "rounded to zero",
        ("-1", "binary8p3ue"): "no sign here: nan", ("-1", "ue4m3"): "no sign here: the smallest",
    }  # fmt: skip
    for (x, name), said in how.items():
        assert facts(exact(x), fp.get(name))["how"] == said
    made = facts(exact("449"), fp.E4M3)
    assert (made["code"], made["bits"], made["formula"]) == ("0x7e", "0 1111 110", "+2^8 * 1.110")
    assert (made["value"], made["error"], made["below"], made["above"]) == ("448", "-1", "416", "none")
    assert (made["midpoints"], made["spacing"]) == ("432", "32")


# --- the JavaScript ----------------------------------------------------------------------------

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Of every named format: codes, boundary inputs and numbers as text; node's answers."""
    rng, jobs = np.random.default_rng(3), {}
    for fmt in [*map(fp.get, [*NAMED, "binary8p3se", "binary6p6ue", "binary3p1sf", "binary16p1ue"]), TOY]:
        codes = js.some_codes(fmt, rng, 20)
        codes = [str(code) for code in codes]
        jobs[fmt] = {"name": fmt.name, "codes": codes, "shown": codes[:: 1 + len(codes) // 32], "numbers": NUMBERS}
        if fmt.name in NAMED:
            narrow = fmt.bits <= 8  # elsewhere any float64; the browser's tests take the boundary inputs
            inputs = boundary_inputs(fmt, "float64") if narrow else rng.integers(0, 1 << 64, 300, np.uint64).view(float)
            inputs = inputs[rng.permutation(len(inputs))[:300]]
            jobs[fmt] |= js.encode_job(fmt.name, inputs, js.expected_codes(inputs, fmt))
    answers = js.ask_node(row_data(jobs), list(jobs.values()), tmp_path_factory.mktemp("node"))
    return [(fmt, jobs[fmt], answer) for fmt, answer in zip(jobs, answers, strict=True)]


@needs_node
def test_javascript_decodes(asked):
    for fmt, job, answer in asked:
        for code, got in zip(job["codes"], answer["decoded"], strict=True):
            try:
                want = reference.decode(int(code), fmt)
            except ValueError:
                want = None
            assert js.same(js.value(got), want), (fmt.name, code, got, want)


@needs_node
def test_javascript_encodes(asked):
    for fmt, job, answer in asked:
        assert answer["wrong"] == 0, (fmt.name, answer["first"])
        assert (answer["tried"] > 200) == ("inputs" in job)


@needs_node
def test_javascript_says_the_same(asked):
    for fmt, job, answer in asked:
        for code, got in zip(job["shown"], answer["facts"], strict=True):
            assert got == facts(exact_value(int(code), fmt), fmt, int(code)), (fmt.name, code)
        for text, got in zip(NUMBERS, answer["told"], strict=True):
            assert got == facts(exact(text), fmt), (fmt.name, text)
        for code, got in zip(job["shown"], answer["dyadics"], strict=True):
            value = exact_value(int(code), fmt)
            if js.is_finite(value) and value:
                assert got == dyadic(value), (fmt.name, code)
        assert answer["shorts"] == [shortest_decimal(exact_value(int(code), fmt), fmt) for code in job["shown"]], (
            fmt.name
        )


@needs_node
def test_a_wrong_answer_is_noticed(tmp_path):
    inputs = np.array([3.1, 449.0, -0.0])
    expected = js.expected_codes(inputs, "e4m3")
    expected[1] = 0x7D
    (answer,) = js.ask_node(js.rows_of(["e4m3"]), [js.encode_job("e4m3", inputs, expected)], tmp_path)
    assert (answer["wrong"], answer["tried"], answer["first"][0][1:]) == (1, 3, ["0x7e", "0x7d"])


def test_no_format_is_named_in_javascript():
    names = {name for name in fp.formats() if not name.startswith("s")}
    for file in (PACKAGE / "widget").glob("*.js"):
        code = re.sub(r"//.*|/\*.*?\*/", "", file.read_text(), flags=re.DOTALL)
        assert not names & set(re.findall(r"[\w-]+", code))
        assert "Math.log" not in code


# --- HTML --------------------------------------------------------------------------------------


def test_page_is_self_contained():
    made = page("e2m1", value="5", choices=["e2m1", "e3m2"])
    assert not re.search(r"https?:|//cdn|@import|\bsrc=|\bhref=|url\(|\bfetch\(", made)
    cells = re.findall(r'<td data-name="(\w+)">(.*?)</td>', made)
    assert [name for name, _ in cells[: len(COLUMNS)]] == list(COLUMNS)
    assert {name: html.unescape(text) for name, text in cells[: len(COLUMNS)]}["midpoints"] == "3.5, 5"
    data, state = json.loads("[" + re.search(r"mountPage\(document.*?\), (.*)\);\n</script>", made, re.DOTALL)[1] + "]")
    assert [row[0] for row in data["rows"]] == ["e2m1", "e3m2", "e4m3", "e5m2", "fp16", "bf16"]
    assert state == {
        "format": "e2m1",
        "code": "0x6",
        "value": "0x5/0x1",
        "formats": ["e4m3", "e5m2", "e2m1", "fp16", "bf16"],
    }


def test_names_cannot_break_out():
    sly = fp.Format("</script><b>", exponent_bits=2, mantissa_bits=1)
    assert fragment(sly, choices=[]).count("</script>") == 1
    assert "<b>" not in fragment(sly, choices=[])


def test_page_refuses():
    with pytest.raises(ValueError, match=r"code=0x10: e2m1 has 4 bits; 0 \.\. 0xf was expected"):
        fragment("e2m1", code=16)
    with pytest.raises(ValueError, match="e2m1 has no NaN"):
        fragment("e2m1", value="nan")
    with pytest.raises(TypeError, match="block format"):
        page("nvfp4")
    with pytest.raises(ValueError, match="e4m3"):
        page("e4m4")


# --- the widget --------------------------------------------------------------------------------


@pytest.fixture
def widgets():
    pytest.importorskip("anywidget", reason="anywidget is not installed (pip install '.[widget]')")
    return fp.widget.BitExplorer


def state(widget):
    return widget.format, widget.code, widget.value


def test_traits_follow_each_other(widgets):
    explorer = widgets("float8_e4m3fn", value="3.1")
    assert state(explorer) == ("e4m3", 0x44, Fraction(31, 10))
    explorer.code = np.uint8(0x7E)
    assert state(explorer) == ("e4m3", 0x7E, 448.0)
    assert type(explorer.code) is int
    explorer.value = 1000
    assert state(explorer) == ("e4m3", 0x7E, 1000.0)
    explorer.format = fp.E5M2
    assert state(explorer) == ("e5m2", reference.encode(1000, "e5m2"), 1000.0)
    explorer.code = 0xFF
    assert explorer.value != explorer.value
    assert explorer.code == 0xFF  # one of several NaN: it stays what it is
    explorer.format = "e2m1"
    assert state(explorer) == ("e2m1", 0, 0.0)
    explorer.code = 8
    assert math.copysign(1, explorer.value) == -1
    explorer.format = TOY
    explorer.code = 0x1F
    assert explorer.value != explorer.value
    explorer.value = "1/3"
    assert state(explorer) == ("toy", reference.encode(Fraction(1, 3), TOY), Fraction(1, 3))
    assert widgets(code=0x7E).value == 448.0


def test_traits_refuse(widgets):
    import traitlets

    explorer = widgets("e2m1", value=1)
    before = state(explorer)
    for name, wrong, words in (
        ("code", 16, r"code=0x10: e2m1 has 4 bits"),
        ("code", -1, "0 .. 0xf was expected"),
        ("code", 1.5, "int"),
        ("value", math.nan, "e2m1 has no NaN"),
        ("value", "abc", "a number or a decimal string"),
        ("value", np.zeros(2), "a number or a decimal string"),
    ):
        with pytest.raises(traitlets.TraitError, match=words):
            setattr(explorer, name, wrong)
    with pytest.raises(TypeError, match="block format"):
        explorer.format = "nvfp4"
    with pytest.raises(ValueError, match="e4m4"):
        explorer.format = "e4m4"
    with pytest.raises(ValueError, match="one of the two"):
        widgets("e4m3", value=1, code=1)
    assert state(explorer) == before


def test_what_the_browser_sends(widgets):
    explorer, seen = widgets("e4m3", value=1), []
    explorer.observe(lambda change: seen.append(change["name"]), ["format", "code", "value"])
    explorer.set_state({"format": "e5m2", "code": "0x42", "value": "0x1f/0xa", "formats": ["fp16"]})
    assert state(explorer) == ("e5m2", 0x42, Fraction(31, 10))
    assert sorted(seen) == ["code", "format", "value"]
    explorer.set_state({"code": "0xff", "value": "-nan"})
    assert explorer.code == 0xFF
    explorer.set_state({"code": "0x80", "value": "-0x0/0x1"})
    sent = explorer.get_state()
    assert (sent["code"], sent["value"], sent["formats"]) == ("0x80", "-0x0/0x1", ["fp16"])
    explorer.format = "fp64"
    explorer.code = (1 << 63) - 1
    assert explorer.get_state("code") == {"code": "0x7fffffffffffffff"}
    json.dumps({key: value for key, value in sent.items() if key != "layout"}, allow_nan=False)


def test_shown_without_javascript(widgets):
    explorer = widgets("e4m3", code=0xFF, formats=["e2m1"])
    bundle, _ = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "NaN" in bundle["text/plain"] or "nan" in bundle["text/plain"]
    rows = re.findall(r"<tr>(<td.*?)</tr>", bundle["text/html"])
    assert [re.findall(r">([^<]*)</td>", row)[:2] for row in rows] == [["e4m3", "0xff"], ["e2m1", "none"]]


def test_without_anywidget():
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "import fpformats as fp; fp.widget.page('e2m1', choices=[])\n"
        "try: fp.widget.BitExplorer\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "BitExplorer needs anywidget: pip install 'fpformats[widget]'"
