// The bit explorer: click the bits of a small floating-point format and see its values. mountPage() serves a page, the
// default export anywidget. Python joins this file to formats.js, so that one module is all there is to load.
import {
  add, decimal, decode, dyadic, encode, exactly, facts, fields, finiteRank, gap, hex, larger, middles, minus, parse, rank,
  same, scale, shortest, signed, split, step, unpack, valueAt, valueOfLine, wire,
} from "./formats.js";

const COLUMNS = ["format", "code", "bits", "value", "kind", "how", "error", "below", "above", "midpoints", "spacing"];
const STEPS = { ArrowUp: 1n, ArrowRight: 1n, ArrowDown: -1n, ArrowLeft: -1n };
const APART = 0.4; // ticks closer than this, in percent of the line, become a band

/** An element; functions among the attributes are listeners. */
function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

/** A value in few characters: exactly, or by the shortest decimal that names it. */
const label = (f, code, most = 16) => {
  const text = decimal(decode(f, code));
  return text.startsWith("~") || text.length > most ? shortest(f, code) : text;
};

/** Draw the explorer in `root`. A state is { format, code, value, formats }, code and value as text. */
export function mount(root, data, first, changed = () => {}) {
  const rows = unpack(data);
  let f, x, code, shown, zoom = 1n, held = null; // `held`: the line's ends while it is dragged

  const go = (y, c, typing = null) => {
    [x, code] = [y, c];
    show(typing);
    const from = same(x, decode(f, code)) ? null : exactly(x); // where the value comes from, if it is not itself
    changed({ format: f.name, code: hex(code), value: wire(x), formats: shown, from });
    return true;
  };
  const pick = (c, typing) => go(decode(f, c), c, typing);
  const enter = (y, typing) => y !== null && encode(f, y) !== null && go(y, encode(f, y), typing);
  const choose = (name) => { f = rows.get(name); enter(x) || pick(0n); };
  const stepping = (keys) => (event) => {
    if (!keys.includes(event.key)) return;
    event.preventDefault();
    pick(step(f, code, STEPS[event.key]));
  };

  // what is typed
  const field = (label, text, apply) => {
    const fill = () => { box.value = text(); box.removeAttribute("aria-invalid"); };
    const input = () => box.setAttribute("aria-invalid", !apply(box.value.trim().toLowerCase(), box));
    const keydown = stepping(["ArrowUp", "ArrowDown"]);
    const box = h("input", { spellcheck: "false", autocomplete: "off", input, change: fill, keydown });
    return { box, fill, label: h("label", {}, label, box) };
  };
  const inputs = [
    field("value", () => exactly(x), (text, box) => enter(parse(text), box)),
    field("code", () => hex(code), (text, box) =>
      /^(0x[\da-f]+|0b[01]+|\d+)$/.test(text) && BigInt(text) < 1n << f.bits && pick(BigInt(text), box)),
    field("compare with", () => shown.join(", "), (text, box) => {
      const names = text.split(/[\s,]+/).filter(Boolean);
      if (names.every((name) => rows.has(name))) return (shown = names), go(x, code, box);
    }),
  ];
  const groups = Map.groupBy(rows.values(), (row) => row.bits);
  const widest = [...groups.keys()].sort((a, b) => Number(b - a));
  const select = h("select", { "aria-label": "format", change: () => choose(select.value) }, ...widest.map((bits) =>
    h("optgroup", { label: `${bits} bits` }, ...groups.get(bits).map((row) => h("option", {}, row.name)))));
  const button = (text, title, click) => h("button", { type: "button", "aria-label": title, title, click }, text);
  const buttons = [
    button("▼", "next value down", () => pick(step(f, code, -1n))),
    button("▲", "next value up", () => pick(step(f, code, 1n))),
    button("−", "see more of the line", () => { zoom *= 2n; show(); }),
    button("+", "see less of the line", () => { zoom = larger(zoom / 2n, 1n); show(); }),
  ];

  // what is drawn
  const keydown = stepping(Object.keys(STEPS));
  const bits = h("div", { class: "fx-bits", role: "group", "aria-label": "bits", keydown });
  const words = h("div", { class: "fx-words", "aria-live": "polite" });
  const table = h("table", { class: "fx-table" });
  const release = () => { held = null; show(); };
  const line = h("div", {
    class: "fx-line", role: "slider", tabindex: "0", "aria-label": "number line", keydown,
    pointerdown: (event) => {
      if (!(held = scope())) return;
      line.setPointerCapture(event.pointerId);
      drag(event);
    },
    pointermove: (event) => held && drag(event), pointerup: release, pointercancel: release,
  });
  const drag = (event) => {
    const box = line.querySelector(".fx-track").getBoundingClientRect();
    const share = BigInt(Math.round(((event.clientX - box.left) / box.width) * 1000));
    enter(add(held.lo, scale(minus(held.hi, held.lo), share, 1000n)));
  };
  /** The ends of the number line: some steps of the format around its value; null for NaN. */
  const scope = () => {
    const { kind, neg, line: at } = split(f, code);
    if (kind === "nan" || kind === "unused") return null;
    const middle = { ...valueOfLine(f, kind === "inf" ? f.max_line : at), neg };
    const reach = scale(gap(f, kind === "inf" ? f.max_line : at), 5n * zoom, 2n);
    return { lo: minus(middle, reach), hi: add(middle, reach) };
  };
  const compared = () => [f, ...shown.map((name) => rows.get(name)).filter((row) => row && row !== f)];

  function show(typing) {
    select.value = f.name;
    inputs.filter(({ box }) => box !== typing).forEach(({ fill }) => fill());
    drawBits();
    drawWords();
    drawLine();
    const focused = table.contains(document.activeElement);
    const titles = h("tr", {}, ...COLUMNS.map((name) => h("th", { scope: "col" }, name)));
    table.replaceChildren(h("thead", {}, titles), h("tbody", {}, ...compared().map((g) => {
      const made = facts(g, x, g === f ? code : encode(g, x));
      const look = button(g.name, `look at ${g.name}`, () => choose(g.name));
      return h("tr", {}, ...COLUMNS.map((name) => h("td", { "data-name": name }, { ...made, format: look }[name])));
    })));
    if (focused) table.querySelector("button").focus();
  }

  function drawBits() {
    const focused = [...bits.querySelectorAll("button")].indexOf(document.activeElement);
    let place = f.bits;
    const square = (name) => (bit) => {
      const mask = 1n << --place;
      const said = { "aria-pressed": `${bit === "1"}`, "aria-label": `${name} bit, bit ${place} of the code` };
      return h("button", { type: "button", ...said, click: () => pick(code ^ mask) }, bit);
    };
    bits.replaceChildren(...Object.entries(fields(f, code)).filter(([, text]) => text).map(([name, text]) =>
      h("div", { class: `fx-${name}` }, h("div", {}, ...[...text].map(square(name))), h("small", {}, name))));
    bits.querySelectorAll("button")[focused]?.focus();
  }

  function drawWords() {
    const made = facts(f, x, code), value = decode(f, code), name = label(f, code), short = shortest(f, code);
    const exact = [decimal(value, 130), dyadic(value)].filter((text) => text && !text.startsWith("~") && text !== name);
    const said = [`${f.name} ${made.code}: ${made.kind}`];
    if (!same(x, value)) said.push(`${decimal(x)}: ${made.how}, error ${made.error}`);
    if (exact.length) said.push(`exactly ${exact.join(" = ")}`);
    if (short !== name) said.push(`shortest decimal ${short}`);
    if (made.formula !== "none") said.push(`${made.formula} in binary`);
    words.replaceChildren(h("strong", {}, name), ...said.map((text) => h("span", {}, text)));
  }

  function drawLine() {
    const view = held ?? scope(), made = facts(f, x, code);
    line.setAttribute("aria-valuetext", `${made.value}, ${made.kind}`);
    line.setAttribute("aria-valuenow", view ? rank(f, code) : 0n);
    line.setAttribute("aria-valuemin", f.bottom);
    line.setAttribute("aria-valuemax", f.top);
    if (!view) return line.replaceChildren(h("p", {}, `${made.kind}: not on the number line`));
    const width = minus(view.hi, view.lo);
    const place = (v) => {
      const { neg, n, d } = minus(v, view.lo);
      return Number(((neg ? -n : n) * width.d * 1000000n) / (d * width.n)) / 1e4;
    };
    const mark = (kind, v, text = "") => h("i", { class: `fx-${kind}`, style: `left:${place(v)}%` }, text);
    const seen = (v) => v.kind === "finite" && place(v) >= 0 && place(v) <= 100;
    const room = 800 / (line.clientWidth || 400); // of a character, in percent
    const edge = (v, text, kind = "") => {
      const low = signed(minus(v, view.lo)) < 0n;
      return h("i", { class: `fx-${low ? "low" : "high"} ${kind}` }, low ? `◂ ${text}` : `${text} ▸`);
    };
    line.replaceChildren(...compared().map((g) => {
      const chosen = g === f ? code : encode(g, x), marks = [];
      const at = (r) => valueAt(g, r), apart = (r, s) => Math.abs(place(at(r)) - place(at(s))) >= APART;
      const tick = (r) => seen(at(r)) && marks.push(mark("tick", at(r)));
      let from = finiteRank(g, view.lo), to = finiteRank(g, view.hi); // values are densest around zero
      while (from < to && apart(from, from + 1n)) tick(from++);
      while (from < to && apart(to, to - 1n)) tick(to--);
      const band = `left:${place(at(from))}%;right:${100 - place(at(to))}%`;
      if (apart(from, to)) marks.push(h("i", { class: "fx-band", style: band }));
      else tick(from);
      if (g === f) marks.push(...middles(g, code).filter(seen).map((v) => mark("middle", v)));
      if (chosen !== null) {
        const value = decode(g, chosen);
        if (seen(value)) marks.push(mark("here", value));
        const sides = {}; // beyond the ends: the nearest value on either side
        for (const c of new Set([step(g, chosen, -1n), chosen, step(g, chosen, 1n)])) {
          const v = decode(g, c), text = label(g, c, 10);
          if (v.kind !== "finite") continue;
          if (!seen(v)) place(v) < 0 ? (sides.low = c) : (sides.high ??= c);
          else if (c === chosen || !seen(value) || Math.abs(place(v) - place(value)) > room * (text.length + 1))
            marks.push(mark("label", v, text));
        }
        for (const c of Object.values(sides)) marks.push(edge(decode(g, c), label(g, c)));
      }
      if (x.kind === "finite") marks.push(seen(x) ? mark("x", x) : edge(x, "x", "fx-from"));
      return h("div", { class: "fx-row" }, h("span", {}, g.name), h("div", { class: "fx-track" }, ...marks));
    }));
  }

  const set = (state) => {
    const row = rows.get(state.format), c = BigInt(state.code);
    if (!row || c >= 1n << row.bits) return false;
    [f, code, shown] = [row, c, state.formats.filter((name) => rows.has(name))];
    x = (state.value && parse(state.value)) || decode(f, code);
    show();
    return true;
  };
  root.classList.add("fx");
  root.dataset.lmSuppressShortcuts = "true"; // JupyterLab: the keys are ours
  const labels = [h("label", {}, "format", select), ...inputs.map((input) => input.label)];
  const head = h("div", { class: "fx-head" }, ...labels, h("span", {}, ...buttons));
  const legend = h("small", {}, "dot: the value; red: where it comes from; dotted: midpoints; drag, or press arrow keys");
  root.replaceChildren(head, bits, words, line, legend, h("div", { class: "fx-scroll" }, table));
  set(first);
  return { set };
}

/** The explorer as a page of its own: its address (#format=e4m3&code=7e) says what it shows. */
export function mountPage(root, data, first) {
  const read = () => {
    const hash = new URLSearchParams(location.hash.slice(1)), code = hash.get("code") ?? "";
    if (!hash.has("format") || !/^[\da-f]+$/i.test(code)) return null;
    return { ...first, format: hash.get("format"), code: `0x${code}`, value: hash.get("value") };
  };
  const view = mount(root, data, first, ({ format, code, from }) => {
    const hash = { format, code: code.slice(2), ...(from ? { value: from } : {}) };
    history.replaceState(null, "", `#${new URLSearchParams(hash)}`);
  });
  const follow = () => { const state = read(); if (state) view.set(state); };
  window.addEventListener("hashchange", follow);
  follow();
}

/** The explorer as a Jupyter widget: the traits `format`, `code`, `value` and `formats`, both ways. */
function render({ model, el }) {
  const traits = ["format", "code", "value", "formats"];
  const read = () => Object.fromEntries(traits.map((name) => [name, model.get(name)]));
  let view, sending = false;
  const send = (state) => {
    sending = true;
    for (const name of traits) model.set(name, state[name]);
    sending = false;
    model.save_changes();
  };
  const build = () => { view = mount(el, model.get("_rows"), read(), send); };
  const follow = () => { if (!sending) view.set(read()); };
  build();
  model.on("change:_rows", build);
  for (const name of traits) model.on(`change:${name}`, follow);
  return () => {
    model.off("change:_rows", build);
    for (const name of traits) model.off(`change:${name}`, follow);
  };
}

export default { render };
