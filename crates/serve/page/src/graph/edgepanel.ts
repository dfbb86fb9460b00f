// The panel of an arrow, with its transfers.

import { upTo } from "../base/blocks.ts";
import { h } from "../base/dom.ts";
import { plural } from "../base/format.ts";
import { exactAmount, NATIVE, roundedAmount, symbol } from "../base/tokens.ts";
import { addressLink, facts, when } from "../base/widgets.ts";
import { shortColumns, transferList } from "../pages/transfers.ts";
import type { DrawnEdge } from "./drawing.ts";
import type { Workspace } from "./workspace.ts";

export function edgePanel(space: Workspace, edge: DrawnEdge): (HTMLElement | null)[] {
  const { from, to, token } = edge;
  const end = (id: string): HTMLElement => {
    const vertex = space.drawing.vertices.get(id);
    return vertex?.kind === "address"
      ? addressLink(id, vertex.label)
      : h("span", {}, plural(vertex?.members ?? 0, "address", "addresses"));
  };
  const { tokens } = space.drawing;
  const { blocks, internal, min } = space.recipe.filters;
  // Not those that came after the answer that has the arrow.
  const { as_of: last = null } = edge;
  const asked = last === null ? blocks : upTo(blocks, last, space.info.blocks[0]);
  return [
    h("p", { class: "kind" }, plural(edge.count, "transfer")),
    h("h2", {}, roundedAmount(tokens, token, edge.amount, edge.kind, edge.count)),
    h("div", { class: "ends" }, end(from), h("span", { class: "muted" }, "to"), end(to)),
    facts([
      ["Exactly", exactAmount(tokens, token, edge.amount)],
      [
        "Token",
        token === NATIVE ? symbol(tokens, token) : h("a", { href: `#/token/${token}`, class: "mono wrap" }, token),
      ],
      ["Kind", edge.kind],
      ["First", when(edge.first)],
      ["Last", when(edge.last)],
    ]),
    edge.edges > 1
      ? h("p", {}, `This arrow stands for ${plural(edge.edges, "arrow")} of folded addresses.`)
      : transferList("Transfers of this arrow", { from, to, token, blocks: asked, internal, min }, null, {
          columns: shortColumns,
          keep: ({ standard }) => standard === edge.kind,
          first: space.info.blocks[0],
        }),
  ];
}
