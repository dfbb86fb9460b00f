// How a drawing begins: with what the URL names, or as it was before the page was loaded again.

import { addressOf } from "../base/addresses.ts";
import { ask } from "../base/api.ts";
import { plain } from "../base/format.ts";
import { NATIVE, symbol } from "../base/tokens.ts";
import type { Address, SearchAnswer, TokenId, Tokens } from "../base/types.ts";
import { around, completed, EMPTY, type Filters, KINDS, NO_FILTERS, type Recipe, type Step } from "./recipe.ts";
import { CATEGORIES } from "./style.ts";

/** What a URL names. */
export interface Named {
  roots: Address[];
  transaction: string | null;
  token: Address | null;
  parameters: URLSearchParams;
}

/** Whether a URL names nothing to begin with. */
export const isEmpty = ({ roots, transaction, token }: Named): boolean =>
  roots.length === 0 && transaction === null && token === null;

const KEPT = "txgraph-drawing";
const HOPS_MAX = 10;

/** Whether this tab has a drawing. */
export const hasDrawing = (): boolean => sessionStorage.getItem(KEPT) !== null;

/** Keeps the recipe for a reload of the page. */
export function keepRecipe(recipe: Recipe): void {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify({ at: location.hash, recipe }));
  } catch {
    // A full storage only means that a reload begins with the address again.
  }
}

/** The recipe that was kept at this URL. */
export function keptRecipe(): Recipe | null {
  try {
    const { at, recipe } = JSON.parse(sessionStorage.getItem(KEPT) ?? "null") as { at: string; recipe: Recipe };
    return at === location.hash && Array.isArray(recipe.steps) ? completed(recipe) : null;
  } catch {
    return null;
  }
}

function filtersOf(parameters: URLSearchParams, internal: boolean): Filters {
  const filters: Filters = { ...NO_FILTERS, internal };
  for (const name of ["token", "kind", "category", "blocks", "min"] as const)
    filters[name] = parameters.get(name) ?? "";
  if (!KINDS.includes(filters.kind)) filters.kind = "";
  if (!CATEGORIES.includes(filters.category)) filters.category = "";
  if (parameters.has("internal")) filters.internal = parameters.get("internal") === "true";
  return filters;
}

/** What a URL asks for, and the drawing does not do. */
export function remarksOf({ parameters }: Named): string[] {
  const found: string[] = [];
  const check = (name: string, isKnown: (text: string) => boolean, instead: string): void => {
    const text = parameters.get(name);
    if (text !== null && text !== "" && !isKnown(text)) found.push(`${name}=${plain(text)}: ${instead}`);
  };
  check("kind", (text) => KINDS.includes(text), `not ${KINDS.join(", ")}: all kinds are shown`);
  check("category", (text) => CATEGORIES.includes(text), `not ${CATEGORIES.join(", ")}: all are shown`);
  const isHops = (text: string): boolean => /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= HOPS_MAX;
  check("hops", isHops, `not a number from 1 to ${HOPS_MAX}: the drawing has ${hopsOf(parameters)}`);
  check("direction", (text) => ["in", "out", "both"].includes(text), "not in, out or both: both are shown");
  return found;
}

const hopsOf = (parameters: URLSearchParams): number =>
  Math.min(Math.max(Math.trunc(Number(parameters.get("hops"))) || 1, 1), HOPS_MAX);

/** The recipe that a URL asks for. `internal` is whether coins inside transactions count by default. */
export function startOf({ roots, transaction, token, parameters }: Named, before: Recipe, internal: boolean): Recipe {
  const filters = filtersOf(parameters, internal);
  if (transaction !== null) return { ...EMPTY, filters, steps: [{ kind: "transaction", hash: transaction }] };
  if (token !== null) return { ...EMPTY, filters, steps: [{ kind: "token", token }] };
  const [root = ""] = roots;
  if (parameters.has("add") && before !== EMPTY) {
    const steps = [...before.steps, ...around(root).steps];
    return { ...before, roots: [...new Set([...before.roots, root])], steps };
  }
  const hops = hopsOf(parameters);
  const asked = parameters.get("direction");
  const direction = asked === "in" || asked === "out" ? asked : "both";
  const swaps = parameters.get("swaps") === "true";
  if (roots.length === 1 && hops === 1 && direction === "both" && !swaps) return around(root, filters);
  const step: Step = { kind: "graph", roots, hops, direction, ...(swaps ? { swaps } : {}) };
  return { ...EMPTY, roots, filters, steps: [step] };
}

/** The token that a text names: an address, a symbol of the drawing or of what was seen, or one that the server knows. */
export async function tokenOf(text: string, { tokens }: { tokens: Tokens }, seen = tokens): Promise<TokenId> {
  const typed = text.trim().toLowerCase();
  if (typed === "" || typed === NATIVE) return typed;
  const address = addressOf(text);
  if (address !== null) return address;
  const named = (all: Tokens, name: (id: TokenId) => string): TokenId[] =>
    Object.keys(all).filter((id) => name(id).toLowerCase() === typed);
  // The names that fields and legends show come first: they distinguish tokens with one symbol.
  const known = [
    named(seen, (id) => symbol(seen, id)),
    named(tokens, (id) => symbol(tokens, id)),
    named(seen, (id) => plain(seen[id]?.symbol ?? "", 16)),
  ].find((ids) => ids.length > 0);
  const found = known ?? (await searched(text));
  if (found.length === 1) return found[0] ?? "";
  throw new Error(
    found.length === 0
      ? `No token is known as ${plain(text)}: give its address.`
      : `Several tokens are called ${plain(text)}: ${found.join(", ")}.`,
  );
}

/** The tokens that the server knows by a symbol. */
async function searched(text: string): Promise<TokenId[]> {
  const { results } = await ask<SearchAnswer>("search", { q: text.trim() });
  return results.filter(({ kind }) => kind === "token").map(({ value }) => value);
}
