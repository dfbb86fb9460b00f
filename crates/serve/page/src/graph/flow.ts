// How much can have gone along all routes between the ends of a path, and what bounds it.

import { fill, h } from "../base/dom.ts";
import { count, plural, second } from "../base/format.ts";
import { NATIVE } from "../base/tokens.ts";
import type { Flow, PathAnswer, WrittenTransfer } from "../base/types.ts";
import { addressLink, amount, failure, foot, table, transactionLink } from "../base/widgets.ts";
import type { PathStep } from "./recipe.ts";
import type { Workspace } from "./workspace.ts";

/** Transfers of a cut that the panel lists. */
const CUT = 20;

function flowParts(space: Workspace, answer: PathAnswer, flow: Flow): HTMLElement {
  const { at_most, cut, parts, token_address: token, token_id: id } = flow;
  const kind = cut[0]?.token_standard ?? "";
  const party = (address: string): HTMLElement => addressLink(address, space.drawing.vertices.get(address)?.label);
  const rows = table(
    "Transfers that bound the flow",
    [
      { name: "From", cell: ({ from_address }: WrittenTransfer) => party(from_address) },
      { name: "To", cell: ({ to_address }) => party(to_address) },
      { name: "Amount", cell: ({ value }) => amount(answer.tokens, token ?? NATIVE, value, kind, id), isNumber: true },
      { name: "Time (UTC)", cell: ({ block_timestamp }) => second(block_timestamp) },
      { name: "Transaction", cell: ({ transaction_hash }) => transactionLink(transaction_hash) },
    ],
    cut.slice(0, CUT),
  );
  return h(
    "div",
    { class: "flow" },
    h(
      "p",
      {},
      "At most ",
      h("strong", {}, amount(answer.tokens, token ?? NATIVE, at_most, kind, id)),
      " can have gone.",
    ),
    h(
      "p",
      { class: "muted" },
      `${plural(parts.length, "transfer")} can have carried it. ${plural(cut.length, "transfer bounds", "transfers bound")} it (a minimum cut):`,
    ),
    rows,
    cut.length > CUT ? h("p", { class: "muted" }, `and ${count(cut.length - CUT)} more`) : null,
  );
}

/** The section about a path of the drawing. */
export function flowSection(space: Workspace, step: PathStep): HTMLElement {
  const box = h("div", { class: "list" }, h("p", { class: "loading" }, "Loading…"));
  space.flow(step).then(
    (answer) => {
      const flows = answer.flows ?? [];
      const none = flows.length === 0 ? h("p", {}, "Nothing can have gone.") : null;
      const hints = h("ul", { class: "hints muted" }, ...answer.hints.map((text) => h("li", {}, text)));
      fill(
        box,
        none,
        ...flows.map((flow) => flowParts(space, answer, flow)),
        answer.hints.length > 0 ? hints : null,
        ...foot(answer),
      );
    },
    (error: unknown) => fill(box, failure(error)),
  );
  return h(
    "section",
    { class: "list" },
    h("h3", {}, "Maximum flow"),
    h("p", {}, "From ", addressLink(step.from), " to ", addressLink(step.to), ", over all routes:"),
    box,
  );
}

/** The paths of the drawing; those that begin or end at an address, if one is named. */
export const pathsOf = (space: Workspace, address: string | null): PathStep[] =>
  space.recipe.steps
    .filter((step) => step.kind === "path")
    .filter(({ from, to }) => address === null || address === from || address === to);
