// The drawing as a table: the same arrows and groups, for keyboards and screen readers.

import { h } from "../base/dom.ts";
import { count, exact, minute, plain, plural, rounded, short } from "../base/format.ts";
import { decimalsOf, symbol } from "../base/tokens.ts";
import { type Column, table } from "../base/widgets.ts";
import type { DrawnEdge } from "./drawing.ts";
import type { Workspace } from "./workspace.ts";

/** Arrows that the table shows at most. Files have all that are drawn. */
const ROWS_MAX = 500;

/** Characters of an amount that is shown with all of its digits. */
const DIGITS_MAX = 34;

export function edgeTable(space: Workspace): HTMLElement {
  const { drawing, selection } = space;
  const party = (id: string): HTMLElement => {
    const vertex = drawing.vertices.get(id);
    const text = vertex?.label
      ? plain(vertex.label.name, 24)
      : vertex?.kind === "folded"
        ? `+${vertex.members} others`
        : (vertex?.short ?? short(id));
    return h(
      "button",
      {
        type: "button",
        class: "cell",
        title: id,
        onclick: (event: Event) => {
          event.stopPropagation();
          space.select({ kind: "vertex", id });
        },
      },
      text,
    );
  };
  const number = (amount: string, places: number | null): HTMLElement => {
    const whole = exact(amount, places);
    return h("span", { title: whole }, whole.length > DIGITS_MAX ? rounded(amount, places) : whole);
  };
  const columns: Column<DrawnEdge>[] = [
    { name: "From", cell: ({ from }) => party(from) },
    { name: "To", cell: ({ to }) => party(to) },
    { name: "Amount", cell: ({ token, amount }) => number(amount, decimalsOf(drawing.tokens, token)), isNumber: true },
    { name: "Token", cell: ({ token }) => symbol(drawing.tokens, token) },
    {
      name: "Transfers",
      cell: (edge) =>
        h(
          "button",
          {
            type: "button",
            class: "cell",
            "aria-label": `${plural(edge.count, "transfer")}, show them`,
            onclick: () => space.select({ kind: "edge", id: edge.key }),
          },
          count(edge.count),
        ),
      isNumber: true,
    },
    { name: "First (UTC)", cell: ({ first }) => minute(first.time) },
    { name: "Last (UTC)", cell: ({ last }) => minute(last.time) },
  ];
  const rows = [...drawing.edges.values()];
  const more = [...drawing.vertices.values()].filter(({ kind }) => kind === "more");
  const groups = more.map(({ id, owner, direction, members }) =>
    h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "cell", onclick: () => space.openVertex(id) },
        `${plural(members, "more arrow")} ${direction === "in" ? "to" : "from"} ${short(owner)}: show more`,
      ),
    ),
  );
  return h(
    "div",
    { class: "edges" },
    table("Arrows of the drawing", columns, rows.slice(0, ROWS_MAX), (edge, line) => {
      if (selection?.kind === "edge" && selection.id === edge.key) line.classList.add("selected");
      line.addEventListener("click", () => space.select({ kind: "edge", id: edge.key }));
    }),
    rows.length > ROWS_MAX
      ? h("p", { class: "muted" }, `The first ${ROWS_MAX} of ${count(rows.length)} arrows. CSV has all that are drawn.`)
      : null,
    groups.length > 0 ? h("ul", { class: "groups" }, ...groups) : null,
  );
}
