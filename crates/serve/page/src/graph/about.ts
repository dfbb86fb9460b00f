// What a file says about the drawing in it: of which blocks it is, how it was filtered, and what it leaves out.

import { count, plain, plural, second } from "../base/format.ts";
import { exactAmount, symbol } from "../base/tokens.ts";
import type { Info, Tokens } from "../base/types.ts";
import type { Drawing } from "./drawing.ts";
import type { Part, Parts } from "./parts.ts";
import { type Filters, isFiltered, type Recipe } from "./recipe.ts";

/** Groups of further arrows that are named one by one. */
const NAMED_MAX = 5;

export interface About {
  /** What the file is about. */
  lines: string[];
  /** What it does not have. */
  missing: string[];
}

/** The newest block of each answer, which differ if they are of different times. */
function blocks({ tip }: Info, parts: Part[]): string {
  const known = parts.map(({ as_of }) => as_of ?? null).filter((block) => block !== null);
  if (known.length === 0) return parts.length === 0 ? `up to block ${count(tip.number)}` : "up to an unknown block";
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const time = high === tip.number && tip.time !== null ? ` of ${second(tip.time)} UTC` : "";
  const unknown = known.length < parts.length ? " (some answers: up to an unknown block)" : "";
  return low === high
    ? `up to block ${count(high)}${time}${unknown}`
    : `up to blocks ${count(low)} to ${count(high)}, as the answers are of different times${unknown}`;
}

function filterText({ token, kind, category, blocks, min, decimals }: Filters, tokens: Tokens): string {
  const known = tokens[token] ?? { address: token, symbol: null, name: null, decimals: decimals ?? null };
  const parts = [
    token === "" ? "" : `token ${symbol(tokens, token)}${token.startsWith("0x") ? ` (${token})` : ""}`,
    kind === "" ? "" : `kind ${kind}`,
    category === "" ? "" : `label ${category}`,
    blocks === "" ? "" : `blocks ${plain(blocks, 200)}`,
    min === ""
      ? ""
      : `at least ${token === "" ? `${min} units` : exactAmount({ ...tokens, [token]: known }, token, min)}`,
  ];
  return `Filters: ${parts.filter((part) => part !== "").join(", ")}.`;
}

/** What the vertices `+n more` of the page say. */
function further(drawing: Drawing): string[] {
  const groups = [...drawing.vertices.values()].filter(({ kind }) => kind === "more");
  const are = (number: number, where: string): string =>
    `${plural(number, "more arrow")} ${where} ${number === 1 ? "is" : "are"} not drawn`;
  if (groups.length > NAMED_MAX) {
    const sum = groups.reduce((all, { members }) => all + members, 0);
    return [are(sum, `at ${plural(new Set(groups.map(({ owner }) => owner)).size, "address", "addresses")}`)];
  }
  return groups.map(({ owner, direction, members }) => are(members, `${direction === "in" ? "to" : "from"} ${owner}`));
}

/** Says how many answers are from a file; `null` for none. */
export function originOf({ steps, filters }: Recipe, known: Parts): string | null {
  const filed = steps.filter((step) => known.isFiled(step, filters)).length;
  if (filed === 0) return null;
  const which = filed === steps.length ? "All" : `${filed} of ${steps.length}`;
  return `${which} answers are from a file, not from this server.`;
}

export function aboutOf(info: Info, recipe: Recipe, known: Parts, drawing: Drawing, tokens: Tokens): About {
  const chain = info.chain === null ? `Chain ${info.chain_id}` : `${info.chain} (chain ${info.chain_id})`;
  const parts = known.of(recipe).map(([, part]) => part);
  const lines = [`${chain}, ${blocks(info, parts)}, by txgraph ${info.version}.`];
  const origin = originOf(recipe, known);
  if (origin !== null) lines.push(origin);
  if (isFiltered(recipe.filters)) lines.push(filterText(recipe.filters, tokens));
  const hidden = recipe.hidden.length;
  const missing = hidden === 0 ? [] : [`${plural(hidden, "hidden address is", "hidden addresses are")} not drawn`];
  return { lines, missing: [...missing, ...further(drawing), ...drawing.incomplete] };
}
