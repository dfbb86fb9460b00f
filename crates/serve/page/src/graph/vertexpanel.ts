// The panel of an address or of a group of addresses.

import { fill, h, ICONS } from "../base/dom.ts";
import { count, integer, plain, plural } from "../base/format.ts";
import { addressPath } from "../base/route.ts";
import { exactAmount, NATIVE, roundedAmount } from "../base/tokens.ts";
import type { TokenId } from "../base/types.ts";
import { action, addressLink, amount, chip, copy, facts, failure, foot, when } from "../base/widgets.ts";
import { coinOf } from "../pages/address.ts";
import type { Vertex } from "./drawing.ts";
import { flowSection, pathsOf } from "./flow.ts";
import { followForm } from "./follow.ts";
import { pathForm } from "./pathform.ts";
import { isExpanded } from "./recipe.ts";
import type { Workspace } from "./workspace.ts";

/** Tokens whose sums the panel lists. */
const SUMS = 12;

/** What an address received and sent in the drawing, by token and kind: amounts, and numbers of transfers. */
function sums(space: Workspace, id: string): HTMLElement | null {
  type Sum = [amount: bigint, pieces: number];
  const totals = new Map<string, { token: TokenId; kind: string; received: Sum; sent: Sum }>();
  for (const edge of space.drawing.edges.values()) {
    if (edge.from !== id && edge.to !== id) continue;
    const { token, kind, count } = edge;
    const key = `${token}>${kind}`;
    const total = totals.get(key) ?? { token, kind, received: [0n, 0], sent: [0n, 0] };
    const side = edge.to === id ? total.received : total.sent;
    side[0] += integer(edge.amount);
    side[1] += count;
    totals.set(key, total);
  }
  if (totals.size === 0) return null;
  const { tokens } = space.drawing;
  const cell = (token: TokenId, kind: string, [value, pieces]: Sum): HTMLElement =>
    h(
      "td",
      { class: "number", title: exactAmount(tokens, token, value.toString()) },
      pieces === 0 ? "–" : roundedAmount(tokens, token, value.toString(), kind, pieces),
    );
  const rows = [...totals.values()]
    .slice(0, SUMS)
    .map(({ token, kind, received, sent }) => h("tr", {}, cell(token, kind, received), cell(token, kind, sent)));
  const list = h(
    "table",
    { class: "sums" },
    h("caption", {}, "In this drawing"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col", class: "number" }, "Received"),
        h("th", { scope: "col", class: "number" }, "Sent"),
      ),
    ),
    h("tbody", {}, ...rows),
  );
  if (totals.size <= SUMS) return list;
  return h("div", {}, list, h("p", { class: "muted" }, `and ${plural(totals.size - SUMS, "more token")}`));
}

function noteForm(space: Workspace, vertex: Vertex): HTMLElement {
  const area = h("textarea", { id: "note", rows: 2, maxlength: 2_000, placeholder: "Your note, saved with the case" });
  area.value = vertex.note;
  area.addEventListener("change", () => void space.note(vertex.id, area.value));
  return h("div", { class: "field" }, h("label", { for: "note" }, "Note"), area);
}

/** Facts about an address, which are asked. */
function profileOf(space: Workspace, id: string): HTMLElement {
  const profile = h("div", { class: "profile" }, h("p", { class: "loading" }, "Loading…"));
  space.profile(id).then(
    (answer) =>
      fill(
        profile,
        facts([
          ["Balance", answer.balance === null ? null : amount(coinOf(space.info), NATIVE, answer.balance)],
          ["Transfers", answer.transfers === null ? null : count(answer.transfers)],
          ["First", answer.first === null ? null : when(answer.first)],
          ["Last", answer.last === null ? null : when(answer.last)],
          ["Created by", answer.creator === null ? null : addressLink(answer.creator.address)],
        ]),
        ...foot(answer),
      ),
    (error) => fill(profile, failure(error)),
  );
  return profile;
}

/** The panel of a vertex that stands for several addresses. */
export function groupPanel(space: Workspace, vertex: Vertex): (HTMLElement | null)[] {
  const { owner, direction, members } = vertex;
  const side = direction === "in" ? "pay" : "are paid by";
  if (vertex.kind === "more") {
    return [
      h("h2", {}, `+${count(members)} more`),
      h("p", {}, `${plural(members, "more arrow")} ${direction === "in" ? "to" : "from"} `, addressLink(owner), "."),
      action(
        direction === "in" ? ICONS.inward : ICONS.outward,
        "Show more of them",
        () => void space.expand(owner, direction),
        { class: "button primary" },
      ),
    ];
  }
  return [
    h("h2", {}, `+${count(members)} others`),
    h(
      "p",
      {},
      `${plural(members, "address", "addresses")} that only ${side} `,
      addressLink(owner),
      " are drawn as one. Their arrow lists them.",
    ),
  ];
}

export function addressPanel(space: Workspace, vertex: Vertex): (HTMLElement | null)[] {
  const { id } = vertex;
  const isKnown = (side: "in" | "out"): boolean => isExpanded(space.recipe, id, side);
  const more = (side: "in" | "out"): boolean => space.drawing.vertices.has(`more:${side}:${id}`);
  const expand = (side: "in" | "out", path: string, text: string): HTMLElement =>
    action(path, isKnown(side) ? `More ${text}` : `Expand ${text}`, () => void space.expand(id, side), {
      disabled: isKnown(side) && !more(side),
    });
  const kind = vertex.isContract ? "Contract" : "Address";
  return [
    h(
      "p",
      { class: "kind" },
      [
        vertex.isRoot ? "Start" : "",
        kind,
        ...vertex.marks.filter((mark) => mark !== "root").map((mark) => plain(mark).replace(/_/g, " ")),
      ]
        .filter(Boolean)
        .join(" · "),
    ),
    h("div", { class: "name" }, vertex.label ? chip(vertex.label) : null),
    h("div", { class: "whole" }, h("a", { href: addressPath(id), class: "mono wrap" }, id), copy(id, "address")),
    h(
      "div",
      { class: "actions" },
      expand("in", ICONS.inward, "in"),
      expand("out", ICONS.outward, "out"),
      isKnown("in") || isKnown("out") ? action(ICONS.close, "Collapse", () => void space.collapse(id)) : null,
      vertex.isRoot ? null : action(ICONS.hide, "Hide", () => void space.hide(id)),
      followForm(space, vertex),
      pathForm(space, vertex),
    ),
    ...pathsOf(space, id).map((step) => flowSection(space, step)),
    sums(space, id),
    noteForm(space, vertex),
    profileOf(space, id),
  ];
}
