"""The bit explorer's arithmetic run where JavaScript runs: the same questions for node and for a browser."""

from __future__ import annotations

import base64
import json
import math
import subprocess
from pathlib import Path

import numpy as np

import fpformats as fp
from fpformats.widget.facts import row_data, unwire
from fpformats.widget.page import module

#: answers to { rows, jobs }: what codes decode to, which encodings are not as expected, what is said of numbers
PROBE = r"""
function fromFloat64(bits) {
  const neg = bits >> 63n === 1n, e = (bits >> 52n) & 0x7ffn, m = bits & 0xfffffffffffffn;
  if (e === 0x7ffn) return special(m ? "nan" : "inf", neg);
  return { ...power(e ? m | (1n << 52n) : m, (e || 1n) - 1075n), neg };
}
function words(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0)), view = new DataView(bytes.buffer);
  return Array.from({ length: bytes.length / 8 }, (_, i) => view.getBigUint64(8 * i, true));
}
function probe({ rows, jobs }) {
  const known = unpack(rows);
  return jobs.map(({ name, codes = [], shown = [], inputs = "", expected = "", numbers = [] }) => {
    const f = known.get(name), want = words(expected), wrong = [];
    words(inputs).forEach((bits, i) => {
      const code = encode(f, fromFloat64(bits)) ?? (1n << 64n) - 1n;
      if (code !== want[i]) wrong.push([hex(bits), hex(code), hex(want[i])]);
    });
    return {
      decoded: codes.map((c) => { const b = BigInt(c); return split(f, b).kind === "unused" ? null : wire(decode(f, b)); }),
      facts: shown.map(BigInt).map((c) => facts(f, decode(f, c), c)),
      told: numbers.map((text) => facts(f, parse(text))),
      dyadics: shown.map((c) => dyadic(decode(f, BigInt(c)))),
      shorts: shown.map((c) => shortest(f, BigInt(c))),
      wrong: wrong.length, first: wrong.slice(0, 3), tried: want.length,
    };
  });
}
"""
NO_CODE = (1 << 64) - 1


def base64_words(array):
    return base64.b64encode(np.ascontiguousarray(array).view("<u8").tobytes()).decode()


def encode_job(name, inputs, expected):
    """Does JavaScript encode these float64 as these codes? NO_CODE where there is none."""
    return {"name": name, "inputs": base64_words(inputs), "expected": base64_words(np.asarray(expected, np.uint64))}


def expected_codes(inputs, name):
    """What the package's own cast makes of float64; NO_CODE for NaN in a format without one."""
    codes = np.full(inputs.shape, NO_CODE, np.uint64)
    fmt = fp.get(name)
    some = np.ones(inputs.shape, bool) if fmt.has_nan else ~np.isnan(inputs)
    codes[some] = fp.encode(inputs[some], fmt)
    return codes


def value(text):
    """A number from JavaScript: Fraction, or a float for inf, nan and -0.0; None as it is."""
    return None if text is None else unwire(text)


def same(a, b):
    """Whether two numbers, or None, are one: NaN and the zeros' signs included."""
    if a is None or b is None or a != a or b != b:
        return (a is None and b is None) or (a is not None and b is not None and a != a and b != b)
    return a == b and (bool(a) or isinstance(a, float) == isinstance(b, float))  # -0.0 is a float, 0 a Fraction


def rows_of(formats):
    return row_data([fp.get(fmt) for fmt in formats])


def ask_node(rows, jobs, folder: Path):
    """The answers of node."""
    script = folder / "probe.mjs"
    run = 'import { readFileSync } from "node:fs"; console.log(JSON.stringify(probe(JSON.parse(readFileSync(0, "utf8")))));'
    script.write_text(f"{module()}\n{PROBE}\n{run}\n", "utf-8")
    question = json.dumps({"rows": rows, "jobs": jobs})
    done = subprocess.run(["node", str(script)], input=question, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def some_codes(fmt, rng, count=300):
    """All codes of a narrow format; of a wide one all corners and a sample."""
    if fmt.bits <= 8:
        return list(range(1 << fmt.bits))
    half = 1 << (fmt.bits - fmt.signed)
    edges = {0, 1, 2, (1 << fmt.mantissa_bits) - 1, 1 << fmt.mantissa_bits, fmt.max_code - 1, fmt.max_code, half - 1}
    edges |= {code for code in (fmt.inf_code, fmt.nan_code) if code is not None}
    edges |= {code + 1 for code in edges} | {int(code) for code in rng.integers(0, half, count, dtype=np.uint64)}
    edges = {code for code in edges if code < half}
    return sorted(edges | {code | fmt.sign_bit for code in edges})


def is_finite(x):
    return not isinstance(x, float) or math.isfinite(x)
