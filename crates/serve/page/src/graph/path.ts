// The step of a path, as the form has it.

import { addressOf } from "../base/addresses.ts";
import { plain } from "../base/format.ts";
import type { Address } from "../base/types.ts";
import type { PathStep } from "./recipe.ts";

/** What is typed into the form of a path. */
export interface PathForm {
  to: string;
  /** Transfers of the longest route; empty for the default of the server. */
  hops: string;
  any_order: boolean;
}

export const NO_PATH: PathForm = { to: "", hops: "", any_order: false };

/** Transfers of the longest route that a search finds. */
const HOPS_MAX = 50;

/** The step to the address that a text names. What cannot be asked is an error. */
export function pathStep(from: Address, text: string, { hops, any_order }: Omit<PathForm, "to">): PathStep {
  const to = addressOf(text);
  if (to === null) throw new Error(`\`${plain(text, 80)}\` is not an address (\`0x\` and 40 hex digits)`);
  if (to === from) throw new Error("A path ends at another address than the one that it begins at.");
  const step: PathStep = { kind: "path", from, to };
  const most = hops.trim();
  if (most !== "") {
    step.hops = /^\d+$/.test(most) ? Number(most) : 0;
    if (step.hops < 1 || step.hops > HOPS_MAX)
      throw new Error(`\`${plain(most)}\` is not a number of transfers from 1 to ${HOPS_MAX}`);
  }
  if (any_order) step.any_order = true;
  return step;
}
