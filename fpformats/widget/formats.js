// The arithmetic of the bit explorer, exact, on BigInt. A number is { kind: "finite" | "inf" | "nan", neg, n, d } with
// |x| = n / d. Facts about formats come as rows from Python; no format has code of its own here.

// --- numbers ---------------------------------------------------------------------------------
const finite = (neg, n, d = 1n) => ({ kind: "finite", neg, n, d });
export const special = (kind, neg) => ({ kind, neg, n: 0n, d: 1n });
export const signed = (x) => (x.neg ? -x.n : x.n);
const ratio = (n, d) => finite(n < 0n, n < 0n ? -n : n, d);
export const add = (a, b) => ratio(signed(a) * b.d + signed(b) * a.d, a.d * b.d);
export const scale = (x, n, d = 1n) => ratio(signed(x) * n, x.d * d);
export const minus = (a, b) => add(a, scale(b, -1n));
export const same = (a, b) => a.kind === b.kind && (a.kind === "nan" || a.neg === b.neg) && a.n * b.d === b.n * a.d;
const power = (n, e) => (e < 0n ? finite(false, n, 1n << -e) : finite(false, n << e));
export const larger = (a, b) => (a > b ? a : b);
const bitLength = (n) => {
  const text = n.toString(16);
  return 4 * text.length - Math.clz32(parseInt(text[0], 16)) + 28;
};
const floorLog2 = (n, d) => {
  const e = BigInt(bitLength(n) - bitLength(d));
  return (e < 0n ? n << -e : n) < (e < 0n ? d : d << e) ? e - 1n : e;
};

/** A number as text: decimal, p/q, p*2^k, inf or nan; null for anything else. */
export function parse(text) {
  const t = text.trim().toLowerCase().replace("−", "-");
  let m = /^([+-]?)(inf|infinity|nan)$/.exec(t);
  if (m) return special(m[2].slice(0, 3), m[1] === "-");
  m = /^([+-]?)(0x[\da-f]+|\d+)\/(0x[\da-f]+|\d+)$/.exec(t);
  if (m) return !BigInt(m[3]) ? null : finite(m[1] === "-", BigInt(m[2]), BigInt(m[3]));
  if ((m = /^([+-]?)(?:(\d+)\*)?2\^([+-]?\d{1,5})$/.exec(t)))
    return { ...power(BigInt(m[2] ?? 1), BigInt(m[3])), neg: m[1] === "-" };
  m = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d{1,5}))?$/.exec(t);
  if (!m || !(m[2] + m[3])) return null;
  const e = BigInt(m[4] ?? 0) - BigInt(m[3].length), n = BigInt(m[2] + m[3]);
  return e < 0n ? finite(m[1] === "-", n, 10n ** -e) : finite(m[1] === "-", n * 10n ** e);
}

export const hex = (code) => `0x${code.toString(16)}`;

/** The inverse of `parse`, without loss and without a limit: as Python reads and writes it. */
export const wire = (x) => (x.neg ? "-" : "") + (x.kind === "finite" ? `${hex(x.n)}/${hex(x.d)}` : x.kind);

/** n / d = q 10^unit and a remainder, with so many digits in q. */
function cut(n, d, places) {
  let top = BigInt(n.toString().length - d.toString().length); // floor(log10(n / d)), or one more
  if ((top < 0n ? n * 10n ** -top : n) < (top < 0n ? d : d * 10n ** top)) top -= 1n;
  const unit = top - BigInt(places) + 1n;
  if (unit < 0n) n *= 10n ** -unit;
  else d *= 10n ** unit;
  return { q: n / d, rest: n % d, d, unit };
}

function notation(q, unit) {
  const all = q.toString(), digits = all.replace(/0+$/, "") || "0", top = q ? all.length - 1 + Number(unit) : 0;
  if (top <= -6 || top >= 16) return `${digits[0]}${digits.length > 1 ? "." : ""}${digits.slice(1)}e${top}`;
  if (top < 0) return "0." + "0".repeat(-top - 1) + digits;
  const whole = digits.padEnd(top + 1, "0");
  return whole.slice(0, top + 1) + (whole.length > top + 1 ? "." + whole.slice(top + 1) : "");
}

/** All digits where they are at most `most`; else about the first twelve, after "~". */
export function decimal(x, most = 24) {
  const sign = x.neg ? "-" : "";
  if (x.kind !== "finite") return x.kind === "nan" ? "nan" : sign + x.kind;
  if (!x.n) return sign + "0";
  const round = (n, d, places) => {
    const { q, rest, d: by, unit } = cut(n, d, places);
    return { q: 2n * rest > by || (2n * rest === by && q & 1n) ? q + 1n : q, unit, rest };
  };
  const long = round(x.n, x.d, most);
  if (!long.rest) return sign + notation(long.q, long.unit);
  const short = round(long.q, 1n, 12);
  return `~${sign}${notation(short.q, long.unit + short.unit)}`;
}

/** Exactly, as odd integer times a power of two; null where it is none. */
export function dyadic(x) {
  if (x.kind !== "finite" || x.d & (x.d - 1n)) return null;
  const sign = x.neg ? "-" : "";
  if (!x.n) return sign + "0";
  const zeros = BigInt(/0*$/.exec(x.n.toString(2))[0].length), n = x.n >> zeros;
  const e = zeros + 1n - BigInt(bitLength(x.d));
  return sign + (!e ? `${n}` : n === 1n ? `2^${e}` : `${n}*2^${e}`);
}

/** Without loss, for people. */
export function exactly(x) {
  const text = decimal(x, 130);
  return text.startsWith("~") ? dyadic(x) ?? `${signed(x)}/${x.d}` : text;
}

// --- formats ---------------------------------------------------------------------------------
/** Rows by name: numbers and codes become BigInt, so that flags are 0n and 1n. */
export const unpack = (data) => new Map(data.rows.map((row) => {
  const f = Object.fromEntries(data.facts.map((key, i) => [key, row[i]]));
  for (const key in f) if (typeof f[key] === "number" || (f[key] && /_(code|line)$/.test(key))) f[key] = BigInt(f[key]);
  f.bits = f.signed + f.exponent_bits + f.mantissa_bits;
  f.sign = f.signed << (f.bits - 1n);
  f.one = 1n << f.mantissa_bits; // the line of the smallest normal number
  f.top = f.max_line + (f.inf_code === null ? 0n : 1n); // ranks: a line with the number's sign
  f.bottom = f.signed ? -f.top - f.twos_complement : f.min_line;
  return [f.name, f];
}));

/** The exact magnitude at a line, on and beyond the finite ones. */
export const valueOfLine = (f, line) => (line < f.one ? power(line, f.emin - f.mantissa_bits)
  : power(f.one + (line & (f.one - 1n)), (line >> f.mantissa_bits) - 1n + f.emin - f.mantissa_bits));

/** What a code says, before its value: { kind, neg, line }; kind "unused" for codes that mean nothing. */
export function split(f, code) {
  if (f.nan_at_sign && code === f.sign) return { kind: "nan", neg: false };
  const neg = (code & f.sign) !== 0n, twos = neg && f.twos_complement;
  const magnitude = twos ? (1n << f.bits) - code : neg ? code - f.sign : code, line = magnitude + f.min_line;
  if (line > f.max_line + (twos || 0n)) {
    const nan = magnitude >= (1n << (f.exponent_bits + f.mantissa_bits)) - f.nan_codes;
    return magnitude === f.inf_code ? { kind: "inf", neg, line: f.top } : { kind: nan ? "nan" : "unused", neg };
  }
  return { kind: "finite", neg, line: !f.subnormals && line < f.one ? 0n : line };
}

/** The exact value of a code; NaN for codes that mean nothing. */
export function decode(f, code) {
  const { kind, neg, line } = split(f, code);
  return kind === "finite" ? { ...valueOfLine(f, line), neg } : special(kind === "inf" ? "inf" : "nan", neg);
}

/** Where a magnitude falls: its line, the discarded fraction rest / by, and the step to the next line. */
function locate(f, { n, d }) {
  if (!n) return { line: 0n, rest: 0n, by: 1n, step: f.subnormals ? 1n : f.one };
  const e = floorLog2(n, d), hole = !f.subnormals && e < f.emin;
  const shift = hole ? -f.emin : f.mantissa_bits - larger(e, f.emin);
  const [num, by] = shift < 0n ? [n, d << -shift] : [n << shift, d];
  const line = hole ? 0n : ((larger(e, f.emin) - f.emin) << f.mantissa_bits) + num / by;
  return { line, rest: num % by, by, step: hole ? f.one : 1n };
}

/** Nearest, ties to the even line; the line may lie beyond the format's last. */
function nearest(f, x) {
  const { line, rest, by, step } = locate(f, x), odd = (line - f.min_line) & 1n;
  return larger(f.min_line, 2n * rest > by || (2n * rest === by && odd) ? line + step : line);
}

const nanCode = (f, neg) => f.nan_code === null ? null : f.nan_code | (neg ? f.sign : 0n);
const codeOf = (f, line, neg) => !line && !f.has_negative_zero ? 0n
  : neg && f.twos_complement ? (1n << f.bits) - line : (line - f.min_line) | (neg ? f.sign : 0n);

/** The code a number becomes by the format's default rules; null for NaN where there is none. */
export function encode(f, x) {
  if (x.kind === "nan") return nanCode(f, x.neg);
  if (!x.n && x.kind === "finite" && !f.has_zero) return 0n;
  const line = x.kind === "inf" ? f.max_line + 2n : nearest(f, x), last = f.max_line + (x.neg ? f.twos_complement : 0n);
  if (x.neg && !f.signed && (line || !f.has_zero)) return f.negative === "nan" ? nanCode(f, true) ?? 0n : 0n;
  if (line <= last) return codeOf(f, line, x.neg);
  return f.overflow === "nonfinite" ? f.inf_code | (x.neg ? f.sign : 0n) : codeOf(f, last, x.neg);
}

/** Values in order: a code's rank is its line with its sign, infinities at the ends. */
export const rank = (f, code) => { const { neg, line } = split(f, code); return neg ? -line : line; };
const codeOfRank = (f, r) => (r === f.top && f.inf_code !== null ? f.inf_code
  : r === f.bottom && r < 0n && f.inf_code !== null ? f.inf_code | f.sign : codeOf(f, r < 0n ? -r : r, r < 0n));

export const valueAt = (f, r) => decode(f, codeOfRank(f, r));

/** The code of the next value up (by = 1n) or down (-1n); the same code at the ends and for NaN. */
export function step(f, code, by) {
  if (!["finite", "inf"].includes(split(f, code).kind)) return code;
  let r = rank(f, code) + by;
  if (!f.subnormals && f.has_zero && r && -f.one < r && r < f.one) r = r < 0n === by < 0n ? f.one * by : 0n;
  return r < f.bottom || r > f.top ? code : codeOfRank(f, r);
}

/** The rank of the finite value nearest to x. */
export function finiteRank(f, x) {
  const line = nearest(f, x), r = x.neg ? -line : line;
  const last = -f.max_line - f.twos_complement, low = f.signed ? last : f.min_line;
  return r < low ? low : r > f.max_line ? f.max_line : r;
}

/** The distance from a line to the next one away from zero. */
export const gap = (f, line) =>
  minus(valueOfLine(f, line + (!line && !f.subnormals ? f.one : 1n)), valueOfLine(f, line));

/** The fewest digits that round to this value and to no other, the nearest such number. */
export function shortest(f, code) {
  const { kind, neg, line } = split(f, code), x = decode(f, code);
  if (kind !== "finite" || !line) return decimal(x);
  for (let places = 1; ; places++) {
    const { q, rest, d, unit } = cut(x.n, x.d, places);
    const tried = (c) => (unit < 0n ? finite(false, c, 10n ** -unit) : finite(false, c * 10n ** unit));
    const good = [q, q + 1n].filter((c) => nearest(f, tried(c)) === line);
    if (good.length) return (neg ? "-" : "") + notation(good.length > 1 && 2n * rest > d ? good[1] : good[0], unit);
  }
}

/** A value in digits: all of them, or after "~" the shortest decimal that names it. */
const digitsOf = (f, code) => {
  const text = decimal(decode(f, code));
  return text.startsWith("~") ? `~${shortest(f, code)}` : text;
};

// --- words -----------------------------------------------------------------------------------
/** The fields of a code as strings of bits: sign, exponent, mantissa. */
export function fields(f, code) {
  const bits = code.toString(2).padStart(Number(f.bits), "0"), e = Number(f.signed + f.exponent_bits);
  return { sign: bits.slice(0, Number(f.signed)), exponent: bits.slice(Number(f.signed), e), mantissa: bits.slice(e) };
}

function kindOf(f, code) {
  const { kind, neg, line } = split(f, code);
  if (kind === "nan") return "NaN";
  if (kind === "unused") return "unused: the code stands for nothing";
  if (kind === "inf") return neg ? "negative infinity" : "infinity";
  if (!line) return neg ? "negative zero" : "zero";
  const words = [!f.exponent_bits ? "fixed point" : line < f.one ? "subnormal" : "normal"];
  if (line === f.max_line + (neg ? f.twos_complement : 0n)) words.push(neg ? "the lowest" : "the largest");
  if (line === (f.subnormals ? 1n : f.one)) words.push("the smallest magnitude");
  return words.join(", ");
}

/** How x came to this code. */
function howOf(f, x, code) {
  const value = decode(f, code);
  if (x.kind !== value.kind) {
    if (x.kind === "nan") return "no NaN here";
    if (x.neg && !f.signed) return `no sign here: ${decimal(value)}`;
    return value.kind === "inf" ? "beyond the largest: infinity" : "no infinity here: the largest";
  }
  if (x.kind !== "finite" || !signed(minus(value, x))) return "exact";
  const line = nearest(f, x), { rest, by } = locate(f, x);
  if (x.neg && x.n && !f.signed) return "no sign here: the smallest";
  if (line > f.max_line + (x.neg ? f.twos_complement : 0n)) return "beyond the largest: it stays the largest";
  if (!value.n) return "rounded to zero";
  return 2n * rest === by ? "a tie: to the even line" : `rounded ${signed(minus(value, x)) > 0n ? "up" : "down"}`;
}

/** The midpoints to the values below and above; an infinity begins half a step beyond the largest value. */
export function middles(f, code) {
  const half = (c, by) => {
    const [a, b] = [decode(f, c), decode(f, step(f, c, by))];
    if (a.kind === "inf") return half(step(f, c, by), -by);
    return b.kind === "inf" ? add(a, scale(gap(f, f.max_line), by, 2n)) : scale(add(a, b), 1n, 2n);
  };
  return [-1n, 1n].filter((by) => step(f, code, by) !== code).map((by) => half(code, by));
}

/** One row of the table: what a format makes of x. A given code stands for itself, NaN's many codes included. */
export function facts(f, x, code = encode(f, x)) {
  const none = "none", made = { format: f.name, code: none, bits: none, value: none, kind: none, how: none,
    formula: none, error: none, below: none, above: none, midpoints: none, spacing: none };
  if (code === null) return { ...made, how: "no NaN here" };
  const value = decode(f, code), { kind, neg, line } = split(f, code);
  made.code = hex(code);
  made.bits = Object.values(fields(f, code)).filter(Boolean).join(" ");
  made.kind = kindOf(f, code);
  if (kind === "unused") return made;
  made.value = digitsOf(f, code);
  made.how = howOf(f, x, code);
  if (kind === "finite") {
    const field = line >> f.mantissa_bits, e = (field ? field - 1n : 0n) + f.emin, m = Number(f.mantissa_bits);
    const digits = m ? "." + (line & (f.one - 1n)).toString(2).padStart(m, "0") : "";
    made.formula = `${neg ? "-" : "+"}2^${e} * ${field ? 1 : 0}${digits}`;
    made.spacing = decimal(gap(f, line));
    if (x.kind === "finite") made.error = decimal(minus(value, x));
  }
  const [below, above] = [step(f, code, -1n), step(f, code, 1n)];
  if (below !== code) made.below = digitsOf(f, below);
  if (above !== code) made.above = digitsOf(f, above);
  made.midpoints = middles(f, code).map((v) => decimal(v)).join(", ") || none;
  return made;
}

