// Files of a drawing: tables, DOT, a page for others, and the case itself.

import { exact, plain, second } from "../base/format.ts";
import { decimalsOf, roundedAmount, symbol } from "../base/tokens.ts";
import type { Drawing, DrawnEdge } from "./drawing.ts";
import type { Part } from "./parts.ts";
import { completed, type Recipe, type Step } from "./recipe.ts";
import { look, tokenColors, width } from "./style.ts";
import { svg, xml } from "./svg.ts";

/** Where a spreadsheet would begin a formula. Some divide at `;`, and two quotes after it are an empty text. */
const FORMULA = /^(?=\s*[=+\-@＝＋－＠])|;(?=[\s"]*[=+\-@＝＋－＠])/g;

/** A field of CSV, as `txgraph` writes it: on one line, with an apostrophe before what would be a formula. */
export function field(value: string | number | null): string {
  const text = plain(String(value ?? "").replace(/\s/g, " "), Infinity);
  const safe = /^-?\d+(\.\d+)?$/.test(text) ? text : text.replace(FORMULA, "$&'");
  return /[",]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

/** A table of the arrows. Every row has the text about the drawing, if there is one. */
export function csv(drawing: Drawing, about = ""): string {
  const columns =
    "from,to,from_label,to_label,token,symbol,kind,transfers,value,amount,first_block,first_time,first_transaction,last_block,last_time,last_transaction";
  const head = about === "" ? columns : `${columns},about`;
  const name = (id: string): string => drawing.vertices.get(id)?.label?.name ?? "";
  const row = (edge: DrawnEdge): string => {
    const amount = exact(edge.amount, decimalsOf(drawing.tokens, edge.token)).replace(/,/g, "");
    const ends = [edge.first, edge.last].flatMap(({ block, time, transaction }) => [block, second(time), transaction]);
    const { from, to, token, kind, count } = edge;
    const symbol = drawing.tokens[token]?.symbol ?? "";
    const cells = [from, to, name(from), name(to), token, symbol, kind, count, edge.amount, amount, ...ends];
    return (about === "" ? cells : [...cells, about]).map(field).join(",");
  };
  return `${[head, ...[...drawing.edges.values()].map(row)].join("\n")}\n`;
}

/** A string of DOT. */
export const quoted = (text: string): string =>
  `"${text.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\s+/g, " ")}"`;

export function dot(drawing: Drawing, title: string, about = ""): string {
  const colors = tokenColors(drawing, "#333333");
  const shapes: Record<string, string> = { circle: "ellipse", octagon: "octagon" };
  const vertices = [...drawing.vertices.values()].map((vertex) => {
    const { shape, fill, border } = look(vertex);
    const label = vertex.kind === "address" ? (vertex.label?.name ?? vertex.id) : `+${vertex.members}`;
    const rings = border === "double" ? " peripheries=2" : "";
    return `  ${quoted(vertex.id)} [label=${quoted(label)} shape=${shapes[shape] ?? shape} style=filled fillcolor="${fill}"${rings}];`;
  });
  const edges = [...drawing.edges.values()].map((edge) => {
    const label = roundedAmount(drawing.tokens, edge.token, edge.amount, edge.kind, edge.count);
    const color = colors.get(edge.token) ?? "#999999";
    return `  ${quoted(edge.from)} -> ${quoted(edge.to)} [label=${quoted(label)} color="${color}" penwidth=${width(edge).toFixed(1)}];`;
  });
  return [
    `digraph ${quoted(title)} {`,
    "  rankdir=LR;",
    `  label=${quoted(title)};`,
    ...(about === "" ? [] : [`  comment=${quoted(about)};`]),
    ...vertices,
    ...edges,
    "}",
    "",
  ].join("\n");
}

/** A page that needs no server: the drawing and its table. */
export function page(drawing: Drawing, title: string, about: string[], missing = drawing.incomplete): string {
  const name = (id: string): string => {
    const vertex = drawing.vertices.get(id);
    if (vertex !== undefined && vertex.kind !== "address") return `${vertex.members} addresses at ${vertex.owner}`;
    return vertex?.label ? `${plain(vertex.label.name)} ${id}` : id;
  };
  const row = (edge: DrawnEdge): string => {
    const amount = `${exact(edge.amount, decimalsOf(drawing.tokens, edge.token))} ${symbol(drawing.tokens, edge.token)}`;
    const cells = [name(edge.from), name(edge.to), amount, edge.count, second(edge.first.time), second(edge.last.time)];
    return `<tr>${cells.map((cell) => `<td>${xml(String(cell))}</td>`).join("")}</tr>`;
  };
  const notes = [...drawing.vertices.values()].filter(({ note }) => note !== "");
  const list = (heading: string, items: string[], open = "<li>", close = "</li>"): string =>
    items.length === 0 ? "" : `<h2>${heading}</h2><ul>${items.map((item) => open + xml(item) + close).join("")}</ul>`;
  const style =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;padding:0 1rem;max-width:1400px;overflow-wrap:anywhere;color:#20242b;background:#fff}svg{width:100%;height:auto;border:1px solid #dfe3e8;border-radius:8px}h1{font-size:1.4rem}h2{font-size:1.05rem;margin-top:2rem}div{overflow-x:auto}td{white-space:nowrap}table{border-collapse:collapse;font-size:13px}td,th{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid #e6e9ed}code{font-size:13px;overflow-wrap:anywhere}";
  const policy = "default-src 'none'; style-src 'unsafe-inline'";
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><meta name="viewport" content="width=device-width"><title>${xml(title)}</title><style>${style}</style></head><body><h1>${xml(title)}</h1>${about.map((line) => `<p>${xml(line)}</p>`).join("")}${svg(drawing, title)}${list(
    "Notes",
    notes.map(({ id, note }) => `${name(id)}: ${note}`),
  )}${list("What is missing", missing)}${list("Commands that find the same", drawing.commands, "<li><code>", "</code></li>")}<h2>Transfers</h2><div><table><thead><tr><th>From</th><th>To</th><th>Amount</th><th>Transfers</th><th>First (UTC)</th><th>Last (UTC)</th></tr></thead><tbody>${[...drawing.edges.values()].map(row).join("")}</tbody></table></div></body></html>\n`;
}

const FORMAT = "txgraph-case";

export interface Case {
  format: typeof FORMAT;
  version: 1;
  chain_id: number;
  saved: string;
  recipe: Recipe;
  parts: [Step, Part][];
}

export function caseFile(chain: number, recipe: Recipe, parts: [Step, Part][]): string {
  const file: Case = { format: FORMAT, version: 1, chain_id: chain, saved: new Date().toISOString(), recipe, parts };
  return `${JSON.stringify(file, null, 1)}\n`;
}

/** Reads a case, or says why it is none. */
export function readCase(text: string, chain: number): Case {
  let file: Partial<Case>;
  try {
    file = JSON.parse(text) as Partial<Case>;
  } catch {
    throw new Error("This file is not JSON.");
  }
  if (file?.format !== FORMAT) throw new Error("This file is not a case of txgraph.");
  if (file.version !== 1) throw new Error(`This case has version ${String(file.version)}; this page reads version 1.`);
  if (file.chain_id !== chain)
    throw new Error(`This case is of chain ${String(file.chain_id)}, the server has chain ${chain}.`);
  const { recipe, parts } = file;
  const isWhole =
    Array.isArray(parts) &&
    Array.isArray(recipe?.steps) &&
    Array.isArray(recipe.roots) &&
    Array.isArray(recipe.hidden) &&
    typeof recipe.notes === "object" &&
    typeof recipe.pins === "object" &&
    typeof recipe.filters === "object";
  if (!isWhole) throw new Error("This case is damaged: parts are missing.");
  return { ...(file as Case), recipe: completed(recipe as Recipe) };
}
