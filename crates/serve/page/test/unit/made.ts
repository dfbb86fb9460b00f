// Addresses, edges and answers for tests.

import type { Edge, Tokens } from "../../src/base/types.ts";
import { Parts, type Part } from "../../src/graph/parts.ts";
import { EMPTY, type Recipe, type Step } from "../../src/graph/recipe.ts";

export const address = (number: number): string => `0x${number.toString(16).padStart(40, "0")}`;

export const TOKEN = address(0xbeef);

export const TOKENS: Tokens = {
  native: { address: "native", symbol: "ETH", decimals: 18, name: null },
  [TOKEN]: { address: TOKEN, symbol: "USD", decimals: 6, name: "Dollar" },
};

export function edge(from: number | string, to: number | string, more: Partial<Edge> = {}): Edge {
  const name = (end: number | string): string => (typeof end === "number" ? address(end) : end);
  const at = { block: 1, time: 1_700_000_000, transaction: `0x${"1".repeat(64)}`, index: 0 };
  return {
    from: name(from),
    to: name(to),
    token: TOKEN,
    kind: "erc20",
    count: 1,
    amount: "1000000",
    first: at,
    last: at,
    ...more,
  };
}

export const part = (edges: Edge[], more: Partial<Part> = {}): Part => ({
  edges,
  tokens: TOKENS,
  vertices: [],
  more: 0,
  incomplete: [],
  command: "txgraph graph",
  ...more,
});

export const neighbors = (of: number, direction: "in" | "out"): Step => ({
  kind: "neighbors",
  address: address(of),
  direction,
  limit: 12,
});

/** A recipe whose steps have these answers. */
export function drawn(roots: number[], steps: [Step, Part][], more: Partial<Recipe> = {}): [Recipe, Parts] {
  const recipe: Recipe = { ...EMPTY, roots: roots.map(address), steps: steps.map(([step]) => step), ...more };
  const parts = new Parts();
  for (const [step, answer] of steps) parts.put(step, recipe.filters, answer);
  return [recipe, parts];
}

/** Numbers that are the same in every run. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
