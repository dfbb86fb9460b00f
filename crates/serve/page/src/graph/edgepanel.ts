// The panel of an arrow, with its transfers.

import { upTo } from "../base/blocks.ts";
import { fill, h } from "../base/dom.ts";
import { plural } from "../base/format.ts";
import { exactAmount, NATIVE, roundedAmount, symbol } from "../base/tokens.ts";
import type { Edge, Swap, Tokens } from "../base/types.ts";
import { addressLink, amount, facts, table, when } from "../base/widgets.ts";
import { shortColumns, transferList } from "../pages/transfers.ts";
import type { DrawnEdge } from "./drawing.ts";
import { strongest } from "./fold.ts";
import type { Workspace } from "./workspace.ts";

/** Folded arrows that the panel lists. */
const FOLDED = 100;

/** The transfers of an arrow of the server, up to the block of its answer. */
function transfersOf(space: Workspace, { from, to, token, kind, as_of: last = null }: Edge): HTMLElement {
  const { blocks, internal, min } = space.recipe.filters;
  const [first] = space.info.blocks;
  const asked = last === null ? blocks : upTo(blocks, last, first);
  return transferList("Transfers of this arrow", { from, to, token, blocks: asked, internal, min }, null, {
    columns: shortColumns,
    keep: ({ standard }) => standard === kind,
    first,
  });
}

/** The arrows that one arrow stands for. Each opens its transfers. */
function foldedList(space: Workspace, { inner, token, kind }: DrawnEdge, isIn: boolean): HTMLElement[] {
  const { tokens } = space.drawing;
  const box = h("div", { class: "list" });
  const open = (edge: Edge): HTMLElement =>
    h(
      "button",
      { type: "button", class: "cell", onclick: () => fill(box, ends(space, edge), transfersOf(space, edge)) },
      plural(edge.count, "transfer"),
    );
  const rows = table(
    "Folded arrows",
    [
      { name: isIn ? "From" : "To", cell: ({ from, to }: Edge) => addressLink(isIn ? from : to) },
      { name: "Amount", cell: (edge) => amount(tokens, token, edge.amount, kind), isNumber: true },
      { name: "Transfers", cell: open, isNumber: true },
    ],
    [...inner].sort(strongest).slice(0, FOLDED),
  );
  const rest = inner.length - FOLDED;
  return [rows, ...(rest > 0 ? [h("p", { class: "muted" }, `and ${plural(rest, "weaker arrow")}`)] : []), box];
}

function ends(space: Workspace, { from, to }: Edge): HTMLElement {
  const end = (id: string): HTMLElement => {
    const { kind = "address", label = null, members = 0 } = space.drawing.vertices.get(id) ?? {};
    return kind === "address" ? addressLink(id, label) : h("span", {}, plural(members, "address", "addresses"));
  };
  return h("div", { class: "ends" }, end(from), h("span", { class: "muted" }, "to"), end(to));
}

/** Who gave what for what. */
function swapText(tokens: Tokens, { address, to, given_token, given, got_token, got }: Swap): HTMLElement {
  const who = to === address ? [] : ["; paid to ", addressLink(to)];
  const [gave, received] = [amount(tokens, given_token, given), amount(tokens, got_token, got)];
  return h("span", {}, addressLink(address), " gave ", gave, " for ", received, ...who);
}

export function edgePanel(space: Workspace, edge: DrawnEdge): (HTMLElement | null)[] {
  const { from, token, inner, swap } = edge;
  const { tokens } = space.drawing;
  const folded = inner.length === 0 ? [transfersOf(space, edge)] : foldedList(space, edge, from.startsWith("folded:"));
  return [
    h("p", { class: "kind" }, plural(edge.count, "transfer")),
    h("h2", {}, roundedAmount(tokens, token, edge.amount, edge.kind, edge.count)),
    ends(space, edge),
    facts([
      ["Exactly", exactAmount(tokens, token, edge.amount)],
      [
        "Token",
        token === NATIVE ? symbol(tokens, token) : h("a", { href: `#/token/${token}`, class: "mono wrap" }, token),
      ],
      ["Kind", edge.kind],
      ["Swap", swap === undefined ? null : swapText(tokens, swap)],
      ["First", when(edge.first)],
      ["Last", when(edge.last)],
    ]),
    ...(inner.length === 0 ? [] : [h("p", {}, `This arrow stands for ${plural(inner.length, "arrow")}:`)]),
    ...folded,
  ];
}
