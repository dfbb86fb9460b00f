// How a drawing begins: with what the URL names, or as it was before the page was loaded again.

import { ask } from "../base/api.ts";
import { plain } from "../base/format.ts";
import { isAddress } from "../base/route.ts";
import { NATIVE, symbol } from "../base/tokens.ts";
import type { Address, SearchAnswer } from "../base/types.ts";
import type { Drawing } from "./drawing.ts";
import { around, EMPTY, type Filters, NO_FILTERS, type Recipe, type Step } from "./recipe.ts";

/** What a URL names. */
export interface Named {
  roots: Address[];
  transaction: string | null;
  parameters: URLSearchParams;
}

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
    return at === location.hash && Array.isArray(recipe.steps) ? recipe : null;
  } catch {
    return null;
  }
}

function filtersOf(parameters: URLSearchParams, internal: boolean): Filters {
  const filters: Filters = { ...NO_FILTERS, internal };
  for (const name of ["token", "kind", "blocks", "min"] as const) filters[name] = parameters.get(name) ?? "";
  if (parameters.has("internal")) filters.internal = parameters.get("internal") === "true";
  return filters;
}

/** The recipe that a URL asks for. `internal` is whether coins inside transactions count by default. */
export function startOf({ roots, transaction, parameters }: Named, before: Recipe, internal: boolean): Recipe {
  const filters = filtersOf(parameters, internal);
  if (transaction !== null) return { ...EMPTY, filters, steps: [{ kind: "transaction", hash: transaction }] };
  const [root = ""] = roots;
  if (parameters.has("add") && before !== EMPTY) {
    const steps = [...before.steps, ...around(root).steps];
    return { ...before, roots: [...new Set([...before.roots, root])], steps };
  }
  const hops = Math.min(Math.max(Number(parameters.get("hops")) || 1, 1), HOPS_MAX);
  const asked = parameters.get("direction");
  const direction = asked === "in" || asked === "out" ? asked : "both";
  if (roots.length === 1 && hops === 1 && direction === "both") return around(root, filters);
  const step: Step = { kind: "graph", roots, hops, direction };
  return { ...EMPTY, roots, filters, steps: [step] };
}

/** The token that a text names: an address, a symbol of the drawing, or one that the server knows. */
export async function tokenOf(text: string, { tokens }: Drawing): Promise<string> {
  const typed = text.trim().toLowerCase();
  if (typed === "" || typed === NATIVE || isAddress(typed)) return typed;
  const known = Object.keys(tokens).filter((id) => symbol(tokens, id).toLowerCase() === typed);
  if (known.length === 1) return known[0] ?? "";
  const { results } = await ask<SearchAnswer>("search", { q: text.trim() });
  const found = results.filter(({ kind }) => kind === "token");
  if (found.length === 1) return found[0]?.value ?? "";
  throw new Error(
    found.length === 0
      ? `No token is known as ${plain(text)}: give its address.`
      : `Several tokens are called ${plain(text)}: ${found.map(({ value }) => value).join(", ")}.`,
  );
}
