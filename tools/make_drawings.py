"""Draw docs/figures/layers.svg and front.svg: `python tools/make_drawings.py`, or `--check` to compare.

*layers*, from the imports: a box is a file or folder of the package, a row a layer of `tests/test_layers.py`, a line an
import. An import that follows from others (a imports b, b imports c: a imports c) is not drawn. The way of a value is
numbered. *front*, from the rows: values of some formats, and what one number becomes in each.

Plain SVG, in colours that can be read on light and on dark pages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import numpy as np  # noqa: E402
from test_layers import LAYERS, PACKAGE, imports, unit  # noqa: E402

import fpformats as fp  # noqa: E402

FIGURES = ROOT / "docs" / "figures"
#: what `encode` of an array runs through, in this order; each but the first is imported by one before it
WAY = ("casts", "arrays", "plan", "compile_row", "execute", "engine", "kernels")
ACROSS = 4
WIDTH, BOX, HEIGHT, GAP = 480, 106, 26, 30
STYLE = (
    "rect{fill:#fff;stroke:#64748b}.way rect{fill:#dbeafe;stroke:#2563eb;stroke-width:1.5}"
    "text{font:13px sans-serif;text-anchor:middle;fill:#0f172a}.number{font-size:10px;font-weight:bold;fill:#1d4ed8}"
    "path{fill:none;stroke:#94a3b8}path.way{stroke:#3b82f6;stroke-width:2}"
)


def edges() -> set[tuple[str, str]]:
    """Which unit imports which."""
    names = {name for layer in LAYERS for name in layer}
    files = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.name != "__init__.py"]
    return {(unit(path), other) for path in files for other in imports(path) & names if unit(path) != other}


def reduced(all_edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The edges that do not follow from the others; there are no circles."""
    below: dict[str, set[str]] = {}
    for layer in LAYERS:
        for name in layer:  # what a unit imports comes before it
            direct = {b for a, b in all_edges if a == name}
            below[name] = direct.union(*(below[b] for b in direct))
    return {(a, b) for a, b in all_edges if not any(b in below[c] for x, c in all_edges if x == a)}


def places() -> dict[str, tuple[int, int]]:
    """The middle of each box: the command at the top, what a format is at the bottom."""
    rows = [layer[i : i + ACROSS] for layer in LAYERS for i in range(0, len(layer), ACROSS)][::-1]
    found = {}
    for down, row in enumerate(rows):
        for across, name in enumerate(row):
            columns = len(row) + (len(row) == 1 and name not in WAY)  # a lone box leaves the middle to the way
            found[name] = (round(WIDTH * (2 * across + 1) / (2 * columns)), 20 + down * (HEIGHT + GAP))
    return found


def layers() -> str:
    """What imports what."""
    at, lines = places(), edges()
    for i, name in enumerate(WAY[1:], 1):
        if not any((before, name) in lines for before in WAY[:i]):
            raise SystemExit(f"the way of a value: nothing before {name} imports it; WAY is out of date")
    way = {next((before, name) for before in WAY[i::-1] if (before, name) in lines) for i, name in enumerate(WAY[1:])}
    shown = reduced(lines) | way
    parts = []
    for a, b in sorted(shown, key=lambda edge: (edge in way, edge)):
        (xa, ya), (xb, yb) = at[a], at[b]
        side = ya == yb  # within a layer
        start, end = (ya, yb) if side else (ya + HEIGHT // 2, yb - HEIGHT // 2)
        bend = (start + HEIGHT + 8,) * 2 if side else ((start + end) // 2,) * 2
        curve = f"M{xa} {start}C{xa} {bend[0]} {xb} {bend[1]} {xb} {end}"
        parts.append(f'<path class="{"way" if (a, b) in way else "import"}" d="{curve}"/>')
    for name, (x, y) in at.items():
        step = WAY.index(name) + 1 if name in WAY else ""
        number = f'<text class="number" x="{x - BOX // 2 + 9}" y="{y - 3}">{step}</text>'
        parts.append(
            f'<g class="{"way" if name in WAY else "unit"}"><rect x="{x - BOX // 2}" y="{y - HEIGHT // 2}" width="{BOX}" '
            f'height="{HEIGHT}" rx="4"/><text x="{x}" y="{y + 5}">{name}</text>{number}</g>'
        )
    tall = max(y for _, y in at.values()) + 36
    return svg("What imports what in fpformats", STYLE, parts, tall)


def front(number: float = 3.3, end: float = 8.0) -> str:
    """Values from 0 to `end` in some formats, and what `number` becomes in each."""
    left, right, step = 52, WIDTH - 12, 40
    style = (
        "text{font:13px sans-serif;fill:#64748b}.value{stroke:#3b82f6;stroke-width:1.2}.axis{stroke:#94a3b8}"
        "circle,.becomes{fill:#ea580c;font-weight:bold}.way{fill:none;stroke:#ea580c;stroke-dasharray:3 3}"
    )

    def x(value: float) -> float:
        return round(left + (right - left) * value / end, 1)

    parts = [f'<text class="becomes" x="{x(number)}" y="14" text-anchor="middle">{number}</text>']
    for i, name in enumerate(("e4m3", "e3m2", "e2m3", "e2m1")):
        y = 48 + step * i
        values = fp.decode(np.arange(1 << fp.get(name).bits, dtype=np.uint8), name)
        parts.append(f'<text x="{left - 10}" y="{y + 5}" text-anchor="end">{name.upper()}</text>')
        ticks = (f"M{x(value)} {y - 9}v18" for value in sorted(set(values[(values >= 0) & (values <= end)].tolist())))
        parts.append(f'<path class="value" d="{"".join(ticks)}"/>')
        rounded = fp.quantize(number, name)
        parts.append(f'<circle cx="{x(rounded)}" cy="{y}" r="4"/>')
        side, anchor = (-5, "end") if rounded < number else (5, "start")
        parts.append(
            f'<text class="becomes" x="{x(number) + side}" y="{y + 22}" text-anchor="{anchor}">{rounded:g}</text>'
        )
    bottom = 48 + step * 4 - 8
    parts.append(f'<path class="way" d="M{x(number)} 19V{bottom}"/>')
    parts.append(f'<path class="axis" d="M{left} {bottom}H{right}"/>')
    parts += [f'<text x="{x(n)}" y="{bottom + 16}" text-anchor="middle">{n}</text>' for n in range(0, int(end) + 1)]
    return svg(f"Values of four formats, and what {number} becomes in each", style, parts, bottom + 22)


def svg(title: str, style: str, parts: list[str], tall: int) -> str:
    """The file."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" viewBox="0 0 {WIDTH} {tall}" role="img">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


DRAWINGS: dict[str, Callable[[], str]] = {"layers.svg": layers, "front.svg": front}


def main(arguments: list[str]) -> int:
    """Write the drawings, or say which are out of date."""
    drawn = {FIGURES / name: draw() for name, draw in DRAWINGS.items()}
    stale = [path for path, text in drawn.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in stale:
        if "--check" in arguments:
            print(f"{path.name} is not what the code says: run tools/make_drawings.py")
        else:
            path.write_text(drawn[path], encoding="utf-8")
            print(path.relative_to(ROOT))
    return bool(stale) and "--check" in arguments


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
