// What a drawing is made of: steps that are asked from the server, filters, and the user's own marks.
// Recipes are never changed, only replaced, so undo is a list of them.

import type { Address } from "../base/types.ts";

export type Step =
  | { kind: "neighbors"; address: Address; direction: "in" | "out"; limit: number }
  | { kind: "graph"; roots: Address[]; hops: number; direction: "in" | "out" | "both"; swaps?: boolean }
  | { kind: "path"; from: Address; to: Address; hops?: number; any_order?: boolean }
  | { kind: "transaction"; hash: string }
  | { kind: "token"; token: Address };

export type PathStep = Step & { kind: "path" };

export interface Filters {
  /** A symbol or an address; empty for all. */
  token: string;
  /** The kind of transfers; empty for all. */
  kind: string;
  /** The kind of a label at one end of an arrow, or `ANY_LABEL`; empty for all. */
  category: string;
  /** Blocks or dates, as the command line has them: `FIRST:END`. */
  blocks: string;
  /** The smallest amount of a transfer, in the smallest unit of the token. */
  min: string;
  /** The decimals of the token when the amount was typed: a drawing without transfers does not have them. */
  decimals?: number | null;
  /** Whether coins that moved inside transactions count. */
  internal: boolean;
}

export interface Recipe {
  roots: Address[];
  steps: Step[];
  filters: Filters;
  hidden: Address[];
  notes: Record<Address, string>;
  /** Places that the user chose. */
  pins: Record<string, [number, number]>;
}

/** The kinds of transfers that a filter can name. */
export const KINDS = ["native", "erc20", "erc721", "erc1155"];

/** Arrows that one expansion shows. */
export const TOP = 12;

/** The filter for arrows with a label of any kind. */
export const ANY_LABEL = "any";

export const NO_FILTERS: Filters = { token: "", kind: "", category: "", blocks: "", min: "", internal: false };

/** Whether filters leave something out. */
export const isFiltered = ({ token, kind, category, blocks, min }: Filters): boolean =>
  token + kind + category + blocks + min !== "";

/** The filters that the server does not apply, in words; empty without any. */
export const chosenHere = ({ kind, category }: Filters): string =>
  [kind === "" ? "" : `kind (${kind})`, category === "" ? "" : `label (${category})`].filter(Boolean).join(" and ");

/** A recipe from elsewhere, whose filters may lack those that came later. */
export const completed = (recipe: Recipe): Recipe => ({
  ...EMPTY,
  ...recipe,
  filters: { ...NO_FILTERS, ...recipe.filters },
});

export const EMPTY: Recipe = { roots: [], steps: [], filters: NO_FILTERS, hidden: [], notes: {}, pins: {} };

/** The drawing that begins with an address: its strongest arrows on both sides. */
export function around(address: Address, filters = NO_FILTERS): Recipe {
  const step = (direction: "in" | "out"): Step => ({ kind: "neighbors", address, direction, limit: TOP });
  return { ...EMPTY, roots: [address], steps: [step("in"), step("out")], filters };
}

const isExpansion = (step: Step, address: Address, direction: string): boolean =>
  step.kind === "neighbors" && step.address === address && step.direction === direction;

/** The recipe with the strongest arrows of an address, or with more of them if it has some. */
export function expanded(recipe: Recipe, address: Address, direction: "in" | "out"): Recipe {
  const known = recipe.steps.find((step) => isExpansion(step, address, direction));
  const limit = known?.kind === "neighbors" ? known.limit + 2 * TOP : TOP;
  const step: Step = { kind: "neighbors", address, direction, limit };
  const steps = known === undefined ? [...recipe.steps, step] : recipe.steps.map((old) => (old === known ? step : old));
  return { ...recipe, steps };
}

export const isExpanded = (recipe: Recipe, address: Address, direction: "in" | "out"): boolean =>
  recipe.steps.some((step) => isExpansion(step, address, direction));

/** The recipe without the expansions of an address. */
export function collapsed(recipe: Recipe, address: Address): Recipe {
  return { ...recipe, steps: recipe.steps.filter((step) => !(step.kind === "neighbors" && step.address === address)) };
}

/** The recipe with a step, once. */
export function withStep(recipe: Recipe, step: Step): Recipe {
  const isKnown = recipe.steps.some((known) => JSON.stringify(known) === JSON.stringify(step));
  return isKnown ? recipe : { ...recipe, steps: [...recipe.steps, step] };
}

export function withNote(recipe: Recipe, address: Address, note: string): Recipe {
  const { [address]: _, ...rest } = recipe.notes;
  return { ...recipe, notes: note === "" ? rest : { ...rest, [address]: note } };
}

/** A list of recipes with a place in it. */
export class History {
  private past: Recipe[] = [];
  private future: Recipe[] = [];
  present: Recipe = EMPTY;

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  get canRedo(): boolean {
    return this.future.length > 0;
  }

  /** What `undo` leads to. */
  get previous(): Recipe {
    return this.past.at(-1) ?? this.present;
  }

  /** What `redo` leads to. */
  get next(): Recipe {
    return this.future.at(-1) ?? this.present;
  }

  /** Begins with a recipe, without a past. */
  reset(recipe: Recipe): void {
    this.past = [];
    this.future = [];
    this.present = recipe;
  }

  push(recipe: Recipe): void {
    // A hundred steps back are enough, and bound the memory.
    this.past = [...this.past.slice(-99), this.present];
    this.future = [];
    this.present = recipe;
  }

  undo(): void {
    const before = this.past.pop();
    if (before === undefined) return;
    this.future.push(this.present);
    this.present = before;
  }

  redo(): void {
    const after = this.future.pop();
    if (after === undefined) return;
    this.past.push(this.present);
    this.present = after;
  }
}
