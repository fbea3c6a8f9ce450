"""Draw the layers from the imports: `python tools/make_layers.py`, or `--check` to compare.

A box is a file or folder of the package, a row a layer of `tests/test_layers.py`, a line an import. An import that
follows from others (a imports b, b imports c: a imports c) is not drawn. The way of a value is numbered.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from test_layers import LAYERS, PACKAGE, imports, unit  # noqa: E402

TARGET = ROOT / "docs" / "figures" / "layers.svg"
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


def drawing() -> str:
    """The picture as SVG."""
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
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" viewBox="0 0 {WIDTH} {tall}" role="img">\n'
        f"<title>What imports what in fpformats</title>\n<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def main(arguments: list[str]) -> int:
    """Write the drawing, or say that it is out of date."""
    picture = drawing()
    stale = not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != picture
    if "--check" in arguments:
        print(f"{TARGET.name} is not what the imports say" if stale else "", end="\n" if stale else "")
        return stale
    if stale:
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_text(picture, encoding="utf-8")
        print(TARGET.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
