// Amounts, addresses and times in words.

/** Significant digits of a rounded amount below one million, and in front of M, B, T and powers. */
const DIGITS = 5;
const SHORT_DIGITS = 4;

const group = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, ",");

export const count = (value: number): string => group(String(Math.trunc(value)));

/** "1 transfer", "2,000 transfers". */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A decimal or hexadecimal integer of any size; 0 if the text is none. */
export function integer(value: string | number | null | undefined): bigint {
  try {
    return BigInt(value ?? 0);
  } catch {
    return 0n;
  }
}

/** The exact amount, with all of its digits. */
export function exact(value: string | bigint, decimals: number | null): string {
  const whole = integer(value as string);
  const places = decimals ?? 0;
  const digits = (whole < 0n ? -whole : whole).toString().padStart(places + 1, "0");
  const sign = whole < 0n ? "-" : "";
  const left = sign + group(digits.slice(0, digits.length - places));
  const right = digits.slice(digits.length - places).replace(/0+$/, "");
  return places > 0 && right !== "" ? `${left}.${right}` : left;
}

/** The smallest units of a typed amount; empty for nothing and for 0. What is no amount is an error. */
export function units(text: string, decimals: number): string {
  const typed = text.trim();
  if (typed === "") return "";
  const [, whole = "", part = ""] = /^(\d[\d_]*|\d{1,3}(?:,\d{3})+|)(?:\.(\d*))?$/.exec(typed) ?? [];
  if (whole + part === "") throw new Error(`\`${plain(typed)}\` is not an amount: write 1000 or 0.5`);
  const digits = part.replace(/0+$/, "");
  if (digits.length > decimals) {
    throw new Error(`\`${plain(typed)}\` is not an amount of this token: it has ${plural(decimals, "decimal")}`);
  }
  const value = integer((whole.replace(/[,_]/g, "") || "0") + digits.padEnd(decimals, "0"));
  return value === 0n ? "" : value.toString();
}

/** The amount rounded to a few digits, as in the pictures of `txgraph graph`. */
export function rounded(value: string | bigint, decimals: number | null): string {
  const whole = integer(value as string);
  if (whole <= 0n) return exact(whole, decimals);
  const digits = whole.toString();
  // The number is 0.DIGITS times ten to the power of this.
  let power = digits.length - (decimals ?? 0);
  const kept = power >= 1 && power <= 6 ? Math.max(DIGITS, power) : SHORT_DIGITS;
  let head = digits.slice(0, kept);
  if ((digits[kept] ?? "0") >= "5") head = (BigInt(head) + 1n).toString();
  power += head.length - Math.min(kept, digits.length);
  head = head.replace(/0+$/, "");
  const point = (at: number): string => {
    const padded = head.padEnd(at, "0");
    const rest = padded.slice(at);
    return group(padded.slice(0, at)) + (rest === "" ? "" : `.${rest}`);
  };
  if (power >= 1 && power <= 6) return point(power);
  if (power >= 7 && power <= 15) {
    const thousands = Math.floor((power - 1) / 3);
    return `${point(power - 3 * thousands)} ${["M", "B", "T"][thousands - 2]}`;
  }
  if (power <= 0 && power >= -3) return `0.${"0".repeat(-power)}${head}`;
  return `${point(1)}e${power - 1}`;
}

/** A part of a hundred. What is not zero is not shown as zero. */
export const percent = (value: number): string => (value > 0 && value < 0.01 ? "< 0.01 %" : `${value.toFixed(2)} %`);

/** The head and the tail of an address or a hash. */
export function short(hex: string, tail = 4): string {
  return hex.length > 2 * tail + 5 ? `${hex.slice(0, 2 + tail)}…${hex.slice(-tail)}` : hex;
}

/** Short forms of addresses that differ from each other, so that a lookalike is seen. */
export function distinct(addresses: Iterable<string>): Map<string, string> {
  const found = new Map<string, string>();
  let left = [...new Set(addresses)];
  for (let tail = 4; left.length > 0 && tail < 20; tail += 2) {
    const counts = new Map<string, number>();
    for (const address of left) counts.set(short(address, tail), (counts.get(short(address, tail)) ?? 0) + 1);
    const isAlone = (address: string): boolean => counts.get(short(address, tail)) === 1;
    for (const address of left.filter(isAlone)) found.set(address, short(address, tail));
    left = left.filter((address) => !isAlone(address));
  }
  for (const address of left) found.set(address, address);
  return found;
}

/** Text from outside on one line, without characters that reorder or hide what is shown. */
export function plain(text: string, most = 40): string {
  // Controls, marks of direction, and characters without a width.
  const clean = text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, "�");
  const points = [...clean.trim()];
  return points.length > most ? `${points.slice(0, most - 1).join("")}…` : points.join("");
}

const pad = (value: number): string => String(value).padStart(2, "0");

export function date(time: number | null): string {
  if (time === null) return "";
  const at = new Date(time * 1000);
  return `${at.getUTCFullYear()}-${pad(at.getUTCMonth() + 1)}-${pad(at.getUTCDate())}`;
}

export function minute(time: number | null): string {
  if (time === null) return "";
  const at = new Date(time * 1000);
  return `${date(time)} ${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}`;
}

export function second(time: number | null): string {
  return time === null ? "" : `${minute(time)}:${pad(new Date(time * 1000).getUTCSeconds())}`;
}

/** The times of the first and the last of some transfers. */
export function span(first: number | null, last: number | null): string {
  if (first === null || last === null) return "";
  if (minute(first) === minute(last)) return minute(first);
  return date(first) === date(last) ? date(first) : `${date(first)} – ${date(last)}`;
}
