"""The bit explorer in headless Chromium: its arithmetic on every narrow format, clicks, keys, addresses, the widget."""

from __future__ import annotations

import math
import os
import shutil

import numpy as np
import pytest
import widget_js as js

import fpformats as fp
from fpformats import reference
from fpformats.testing import boundary_inputs
from fpformats.widget import page as explorer_page
from fpformats.widget.facts import facts, row_data
from fpformats.widget.page import module, style

pytestmark = pytest.mark.slow

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
NARROW = [name for name in fp.formats("element") if fp.get(name).bits <= 8]
WIDE = ("tf32", "fp32", "fp64")


@pytest.fixture(scope="module")
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("FPFORMATS_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
    if not os.path.exists(path):
        pytest.skip(f"no Chromium at {path} (FPFORMATS_CHROMIUM names another)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium, tmp_path):
    """``tab(html, hash)``: the page, opened from a file. At the end nothing was said, nothing was asked of a network."""
    said, asked, contexts = [], [], []

    def open_tab(html, hash="", **options):
        contexts.append(chromium.new_context(**options))
        made = contexts[-1].new_page()
        made.on("console", lambda message: said.append(message.text))
        made.on("pageerror", lambda error: said.append(str(error)))
        made.on("request", lambda request: asked.append(request.url))
        file = tmp_path / "page.html"
        file.write_text(html, "utf-8")
        made.goto(file.as_uri() + hash)
        return made

    yield open_tab
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith("file:")] == []


def facts_of(tab, row=1):
    """The table's row, as a dict."""
    cells = tab.locator(f".fx-table tbody tr:nth-child({row}) td")
    names = cells.evaluate_all("cells => cells.map((cell) => [cell.dataset.name, cell.textContent])")
    return dict(names)


def state(tab):
    made = facts_of(tab)
    return made["format"], int(made["code"], 0)


# --- arithmetic --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def probe(chromium):
    """The questions of `widget_js`, put to a browser."""
    made = chromium.new_page()
    errors = []
    made.on("pageerror", lambda error: errors.append(str(error)))
    made.add_script_tag(content=f"{module()}\n{js.PROBE}\nwindow.probe = probe;", type="module")
    made.wait_for_function("() => Boolean(window.probe)")
    yield lambda rows, jobs: made.evaluate("([rows, jobs]) => probe({ rows, jobs })", [rows, jobs])
    assert errors == []


def check_decoding(probe, name, codes):
    fmt = fp.get(name)
    (answer,) = probe(row_data([fmt]), [{"name": name, "codes": [str(code) for code in codes]}])
    for code, got in zip(codes, answer["decoded"], strict=True):
        assert js.same(js.value(got), reference.decode(code, fmt)), (name, code, got)
    return answer


@pytest.mark.parametrize("bits", range(2, 9))
def test_narrow_formats(probe, bits):
    """All codes; all boundary inputs as float64."""
    names = [name for name in NARROW if fp.get(name).bits == bits]
    assert names
    for name in names:
        check_decoding(probe, name, range(1 << bits))
        inputs = boundary_inputs(name, "float64")
        (answer,) = probe(js.rows_of([name]), [js.encode_job(name, inputs, js.expected_codes(inputs, name))])
        assert (answer["wrong"], answer["tried"]) == (0, len(inputs)), (name, answer["first"])


def test_formats_of_9_to_16_bits(probe):
    """Corners and samples; for fp16 and bf16 every code."""
    rng = np.random.default_rng(5)
    for name in ("fp16", "bf16"):
        check_decoding(probe, name, range(1 << 16))
    names = [name for name in fp.formats("element") if 8 < fp.get(name).bits <= 16]
    for name in names:
        check_decoding(probe, name, js.some_codes(fp.get(name), rng, 30))
    for name in ("fp16", "bf16", *names[2::9]):
        if fp.get(name).exponent_bits > 10:
            continue  # beyond float64, where the package's own cast is slow: decoded only
        inputs = boundary_inputs(name, "float64")
        inputs = np.unique(inputs[rng.permutation(len(inputs))[:1500]])
        (answer,) = probe(js.rows_of([name]), [js.encode_job(name, inputs, js.expected_codes(inputs, name))])
        assert answer["wrong"] == 0, (name, answer["first"])


@pytest.mark.parametrize("name", WIDE)
def test_wide_formats(probe, name):
    rng = np.random.default_rng(6)
    check_decoding(probe, name, js.some_codes(fp.get(name), rng, 20000))
    inputs = boundary_inputs(name, "float64")
    (answer,) = probe(js.rows_of([name]), [js.encode_job(name, inputs, js.expected_codes(inputs, name))])
    assert (answer["wrong"], answer["tried"]) == (0, len(inputs)), answer["first"]


# --- the page ----------------------------------------------------------------------------------


def test_shows_what_python_says(tab):
    made = tab(explorer_page(), "#format=e4m3&code=7e")
    for row, name in enumerate(("e4m3", "e5m2", "e2m1", "fp16", "bf16"), 1):
        want = facts(reference.decode(0x7E, "e4m3"), fp.get(name))
        del want["formula"]
        assert facts_of(made, row) == want
    assert made.locator("strong").text_content() == "448"
    assert "normal, the largest" in made.locator(".fx-words").text_content()
    made.evaluate("location.hash = '#format=fp32&code=3dcccccd'")
    made.wait_for_function("document.querySelector('.fx select').value === 'fp32'")
    assert made.locator("strong").text_content() == "0.1"
    assert "exactly 0.100000001490116119384765625 = 13421773*2^-27" in made.locator(".fx-words").text_content()


def test_bits(tab):
    made = tab(explorer_page("e4m3", code=0x44))
    squares = made.locator(".fx-bits button")
    assert squares.all_text_contents() == list("01000100")
    assert [made.locator(f".fx-{name} button").count() for name in ("sign", "exponent", "mantissa")] == [1, 4, 3]
    assert squares.first.get_attribute("aria-label") == "sign bit, bit 7 of the code"
    squares.first.click()
    assert state(made) == ("e4m3", 0xC4)
    assert squares.first.get_attribute("aria-pressed") == "true"
    squares.last.focus()
    made.keyboard.press("Space")
    assert state(made) == ("e4m3", 0xC5)
    made.keyboard.press("Shift+Tab")  # the focus outlives the redrawing
    made.keyboard.press("Space")
    assert state(made) == ("e4m3", 0xC7)
    assert made.evaluate("location.hash") == "#format=e4m3&code=c7"


@pytest.mark.parametrize(("name", "start"), [("e4m3", 0x82), ("e5m2", 0x7A), ("e2m1", 0), ("e8m0", 0), ("s4", 0xE)])
def test_arrows_walk_the_values(tab, name, start):
    fmt = fp.get(name)
    decoded = {float(reference.decode(code, fmt)) for code in range(1 << fmt.bits)}
    values = sorted(value for value in decoded if not math.isnan(value))
    made = tab(explorer_page(name, code=start, choices=[name], formats=[]))
    at = values.index(float(reference.decode(start, fmt)))
    made.locator(".fx-line").focus()
    for key, by in [*[("ArrowUp", 1)] * 5, *[("ArrowLeft", -1)] * 8, ("ArrowRight", 1), ("ArrowDown", -1)]:
        made.keyboard.press(key)
        at = min(max(at + by, 0), len(values) - 1)
        assert float(reference.decode(state(made)[1], fmt)) == values[at]
    assert made.evaluate("document.activeElement.className") == "fx-line"
    made.locator(".fx-bits button").last.focus()
    made.keyboard.press("ArrowUp")
    assert float(reference.decode(state(made)[1], fmt)) == values[min(at + 1, len(values) - 1)]


def test_typing(tab):
    made = tab(explorer_page())
    value, code = made.get_by_label("value", exact=True), made.get_by_label("code", exact=True)
    for text in ("3.1", "-0.3", "1/3", "13*2^-7", "1e9", "-inf", "-0", "0.10000000000000000000000000000000001"):
        value.fill(text)
        number = {"13*2^-7": "13/128"}.get(text, text)
        assert state(made)[1] == reference.encode(number, "e4m3"), text
        assert value.input_value() == text  # not rewritten while it is typed
    value.fill("abc")
    assert value.get_attribute("aria-invalid") == "true"
    value.blur()
    assert value.get_attribute("aria-invalid") is None
    assert value.input_value() == "0.10000000000000000000000000000000001"
    value.fill("nan")
    assert state(made)[1] == 0x7F
    assert "not on the number line" in made.locator(".fx-line").text_content()
    code.fill("0b1111110")
    assert state(made)[1] == 0x7E
    code.fill("0x1ff")
    assert code.get_attribute("aria-invalid") == "true"
    assert state(made)[1] == 0x7E
    made.get_by_label("compare with").fill("tf32 binary6p3se")
    assert [facts_of(made, row)["format"] for row in (1, 2, 3)] == ["e4m3", "tf32", "binary6p3se"]
    made.get_by_role("button", name="look at tf32").press("Enter")
    assert state(made) == ("tf32", reference.encode(448, "tf32"))
    made.get_by_label("format", exact=True).select_option("e2m1")
    assert state(made) == ("e2m1", 7)
    value.fill("nan")  # which E2M1 has not
    assert value.get_attribute("aria-invalid") == "true"


def test_nan_meets_a_format_without(tab):
    made = tab(explorer_page(), "#format=e4m3&code=ff")
    assert facts_of(made, 3)["how"] == "no NaN here"
    made.get_by_label("format", exact=True).select_option("e2m1")
    assert state(made) == ("e2m1", 0)


def test_address(tab):
    made = tab(explorer_page(), "#format=binary8p3se&code=7E&value=1/3")
    assert state(made) == ("binary8p3se", 0x7E)
    assert made.get_by_label("value", exact=True).input_value() == "1/3"
    made.evaluate("location.hash = '#format=fp64&code=7fefffffffffffff'")
    made.wait_for_function("document.querySelector('.fx select').value === 'fp64'")
    assert state(made) == ("fp64", 0x7FEFFFFFFFFFFFFF)
    made.get_by_label("value", exact=True).fill("3.1")
    assert made.evaluate("decodeURIComponent(location.hash)") == "#format=fp64&code=4008cccccccccccd&value=3.1"
    for wrong in ("#format=e4m3&code=xyz", "#format=none&code=1", "#format=e2m1&code=ff", "#"):
        made.evaluate(f"location.hash = '{wrong}'")
        made.wait_for_timeout(50)
        assert state(made)[0] == "fp64"


def test_dragging(tab):
    made = tab(explorer_page("e4m3", value=3))
    box = made.locator(".fx-track").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + 10
    made.mouse.move(x, y)
    made.mouse.down()
    assert state(made) == ("e4m3", 0x44)
    made.mouse.move(x + 0.2 * box["width"], y)  # the line shows five steps of 1/4
    assert state(made) == ("e4m3", 0x45)
    made.mouse.move(x + 0.45 * box["width"], y)
    assert state(made) == ("e4m3", 0x46)
    made.mouse.up()
    made.mouse.move(x, y)
    assert state(made) == ("e4m3", 0x46)


def test_number_line(tab):
    made = tab(explorer_page("e4m3", value="3.1", formats=["e5m2", "fp16", "e2m1"]))

    def places(kind, row):
        marks = made.locator(f".fx-row:nth-child({row}) .fx-{kind}")
        return [
            round(float(style.split(":")[1].rstrip("%;")), 2)
            for style in marks.evaluate_all("m => m.map((i) => i.getAttribute('style'))")
        ]

    # from 3 - 5/8 to 3 + 5/8
    assert places("tick", 1) == [10, 30, 50, 70, 90]
    assert places("middle", 1) == [40, 60]
    assert places("x", 1) == [58]
    assert places("tick", 2) == [10, 50, 90]
    assert made.locator(".fx-row:nth-child(3) .fx-band").count() == 1
    assert made.locator(".fx-row:nth-child(4) .fx-low").text_content() == "◂ 2"
    assert made.locator(".fx-row:nth-child(4) .fx-high").text_content() == "4 ▸"
    made.get_by_role("button", name="see more of the line").click()
    assert places("tick", 2) == [0, 10, 30, 50, 70, 90]  # below 2 the steps are half as long


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_looks(tab, width, scheme):
    made = tab(
        explorer_page(), "#format=fp32&code=3dcccccd", viewport={"width": width, "height": 800}, color_scheme=scheme
    )
    for code in ("3dcccccd", "00000001", "7f7fffff", "7fc00000"):
        made.evaluate(f"location.hash = '#format=fp32&code={code}'")
        made.wait_for_timeout(50)
        assert made.evaluate("document.documentElement.scrollWidth") == width
    for kind in ("sign", "exponent", "mantissa"):
        for button in made.locator(f".fx-{kind} button").all()[:8]:
            assert contrast(button) > 4.5, (kind, scheme)
    assert contrast(made.locator(".fx-words span").first) > 7


def contrast(element):
    """WCAG's ratio of an element's colour to what is behind it."""
    rgb = element.evaluate(
        """(node) => {
          const colour = (text) => text.match(/[\\d.]+/g).map(Number);
          let behind = node;
          while (colour(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
          return [getComputedStyle(node).color, getComputedStyle(behind).backgroundColor].map((c) => colour(c).slice(0, 3));
        }"""
    )
    light = []
    for colour in rgb:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in colour)]
        light.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(light) + 0.05) / (min(light) + 0.05)


def test_without_javascript(tab):
    made = tab(explorer_page("e4m3", code=0x7E, formats=["e5m2"]), java_script_enabled=False)
    assert made.locator("td[data-name=code]").all_text_contents() == ["0x7e", "0x5f"]


# --- the widget --------------------------------------------------------------------------------

HOST = """
const listeners = {};
window.model = {
  state: STATE, saved: [],
  get(name) { return this.state[name]; },
  set(name, value) { this.state[name] = value; (listeners[`change:${name}`] ?? []).forEach((f) => f()); },
  save_changes() { this.saved.push({ ...this.state }); },
  on(name, f) { (listeners[name] ??= []).push(f); },
  off(name, f) { listeners[name] = listeners[name].filter((g) => g !== f); },
};
window.clean = render({ model: window.model, el: document.getElementById("host") });
window.left = () => Object.values(listeners).flat().length;
"""


def test_widget(tab):
    """The default export on a model as anywidget hands it over, and back into the Python side."""
    pytest.importorskip("anywidget", reason="anywidget is not installed (pip install '.[widget]')")
    import json

    explorer = fp.widget.BitExplorer("e4m3", value="3.1", formats=["e2m1"])
    names = ["_rows", "format", "code", "value", "formats"]
    sent = json.dumps(explorer.get_state(names))
    script = module() + HOST.replace("STATE", sent)
    made = tab(f'<style>{style()}</style><div id="host"></div><script type="module">{script}</script>')
    assert state(made) == ("e4m3", 0x44)
    made.locator(".fx-bits button").last.click()
    (saved,) = made.evaluate("model.saved")
    explorer.set_state({name: saved[name] for name in names[1:]})
    assert (explorer.code, explorer.value) == (0x45, 3.25)
    # Python's changes, one message a trait, in the order it sends them
    toy = fp.Format("toy", exponent_bits=3, mantissa_bits=2, bias=3, emax=2, subnormals=False)
    order = []
    explorer.observe(lambda change: order.append(change["name"]), names)
    explorer.format = toy
    for name in order:
        made.evaluate("([name, value]) => model.set(name, value)", [name, explorer.get_state(name)[name]])
    assert state(made) == ("toy", explorer.code)
    assert made.evaluate("model.saved.length") == 1  # what came from Python is not sent back
    made.get_by_label("value", exact=True).fill("1/3")
    saved = made.evaluate("model.saved.at(-1)")
    explorer.set_state({name: saved[name] for name in names[1:]})
    assert explorer.code == reference.encode("1/3", toy)
    made.evaluate("clean()")
    assert made.evaluate("left()") == 0
