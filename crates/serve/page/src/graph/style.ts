// Shapes and colors, as in the pictures of `txgraph graph` (docs/pictures.md, docs/labels.md).

import { count, plain } from "../base/format.ts";
import { NATIVE, roundedAmount } from "../base/tokens.ts";
import type { Label, TokenId, Tokens } from "../base/types.ts";
import type { Drawing, DrawnEdge, Vertex } from "./drawing.ts";
import { ANY_LABEL } from "./recipe.ts";

export type Shape =
  | "circle"
  | "hexagon"
  | "octagon"
  | "box"
  | "diamond"
  | "pentagon"
  | "house"
  | "invhouse"
  | "trapezium"
  | "parallelogram"
  | "cylinder"
  | "note"
  | "folder";

interface Kind {
  shape: Shape;
  color: string;
  icon: string;
}

/** Kinds of labels, by the words that decide. */
export const KINDS: Record<string, Kind> = {
  sanctioned: { shape: "octagon", color: "#F4A6A6", icon: "⊘" },
  scam: { shape: "invhouse", color: "#F7C6A3", icon: "⚠" },
  mixer: { shape: "pentagon", color: "#D6B8F0", icon: "∞" },
  bridge: { shape: "trapezium", color: "#B9E3DC", icon: "↔" },
  dex: { shape: "parallelogram", color: "#C9E4B4", icon: "⇄" },
  exchange: { shape: "house", color: "#B5D3F2", icon: "⌂" },
  defi: { shape: "cylinder", color: "#DDEBA8", icon: "◇" },
  token: { shape: "note", color: "#F6E7A1", icon: "○" },
  user: { shape: "circle", color: "#F9D2E4", icon: "●" },
  other: { shape: "circle", color: "#E2E2E2", icon: "□" },
};

/** The kind of a label: `other` for words that belong to none. */
export const kindOf = ({ kind, category }: Label): Kind => {
  const word = (kind ?? category ?? "").toLowerCase();
  return KINDS[word in KINDS ? word : "other"] as Kind;
};

/** What the filter by label can name: any label, or one of a kind. */
export const CATEGORIES = [ANY_LABEL, ...Object.keys(KINDS)];

/** Whether a label is one that the filter names. */
export const hasCategory = (label: Label | null | undefined, category: string): boolean =>
  label != null && (category === ANY_LABEL || kindOf(label) === KINDS[category]);

const ZERO = `0x${"0".repeat(40)}`;

export interface Look {
  shape: Shape;
  fill: string;
  icon: string;
  radius: number;
  border: "single" | "double" | "thick" | "dashed";
}

/** How a vertex is drawn: the shape says what it is, the border what the search did there. */
export function look(vertex: Vertex): Look {
  const single = (shape: Shape, fill: string, icon = ""): Look => ({ shape, fill, icon, radius: 15, border: "single" });
  if (vertex.kind !== "address") return { ...single("folder", "#F3F3F3", "+"), radius: 14, border: "dashed" };
  const kind = vertex.label === null ? null : kindOf(vertex.label);
  let found = single("circle", "#FFFFFF");
  if (vertex.id === ZERO) found = single("diamond", "#E6E6E6", "∅");
  else if (vertex.marks.includes("hub")) found = single("octagon", "#E6E6E6");
  else if (vertex.marks.includes("stop_list")) found = single("box", "#DCE9F9");
  if (kind !== null) found = single(kind.shape, kind.color, kind.icon);
  if (vertex.isContract && (kind === null || kind.shape === "circle") && found.shape !== "diamond")
    found.shape = "hexagon";
  if (vertex.isRoot) return { ...found, fill: "#FFE3C2", radius: 19, border: "double" };
  if (vertex.marks.includes("limit")) found.border = "dashed";
  return found;
}

const PALETTE = ["#4477AA", "#EE6677", "#228833", "#EE7733", "#AA3377", "#66CCEE", "#CCBB44", "#009988", "#CC3311"];

/** A color for each token: those with most transfers get the first. */
export function tokenColors(drawing: Drawing, native: string): Map<TokenId, string> {
  const counts = new Map<TokenId, number>();
  for (const { token, count } of drawing.edges.values()) counts.set(token, (counts.get(token) ?? 0) + count);
  const tokens = [...counts]
    .filter(([token]) => token !== NATIVE)
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const colors = new Map(tokens.map(([token], index) => [token, PALETTE[index] ?? "#999999"]));
  if (counts.has(NATIVE)) colors.set(NATIVE, native);
  return colors;
}

/** A mixture of two colors of six hexadecimal digits. */
export function mixed(color: string, other: string, share: number): string {
  const channel = (text: string, at: number): number => Number.parseInt(text.slice(at, at + 2), 16);
  const mix = (at: number): number => Math.round(channel(color, at) * (1 - share) + channel(other, at) * share);
  return `#${[1, 3, 5].map((at) => mix(at).toString(16).padStart(2, "0")).join("")}`;
}

/** The width of an arrow, by its share of the largest amount of its token. */
export const width = (edge: DrawnEdge): number => 1.5 + 2.7 * Math.sqrt(edge.share);

/** The bend of an arrow: 0 is straight. Arrows between the same two addresses lie beside each other. */
export function bend({ parallel: [number, all], from, to }: DrawnEdge): number {
  if (all === 1) return 0;
  const place = (number - (all - 1) / 2) * Math.min(0.16, 0.9 / all);
  // Arrows of the other direction would bend to the same side.
  return from < to ? place : -place;
}

/** The amount beside an arrow. */
export function amountLine(tokens: Tokens, { token, amount, kind, count, swap }: DrawnEdge): string {
  const text = roundedAmount(tokens, token, amount, kind, count);
  return `${swap === undefined ? "" : "⇄ "}${text}${count > 1 ? `  ×${count}` : ""}`;
}

/** The lines below a vertex. */
export function lines(vertex: Pick<Vertex, "kind" | "label" | "members" | "short">): [string, string] {
  if (vertex.kind === "more") return [`+${count(vertex.members)} more`, ""];
  if (vertex.kind === "folded") return [`+${count(vertex.members)} others`, ""];
  return vertex.label === null ? [vertex.short, ""] : [plain(vertex.label.name, 24), vertex.short];
}
