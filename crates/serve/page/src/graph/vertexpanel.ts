// The panel of an address or of a group of addresses.

import { fill, h, ICONS } from "../base/dom.ts";
import { count, integer, plain, plural, short } from "../base/format.ts";
import { addressPath } from "../base/route.ts";
import { exactAmount, NATIVE, roundedAmount } from "../base/tokens.ts";
import type { TokenId } from "../base/types.ts";
import { action, addressLink, amount, chip, copy, facts, failure, foot, when } from "../base/widgets.ts";
import { coinOf } from "../pages/address.ts";
import type { Vertex } from "./drawing.ts";
import { flowSection, pathsOf } from "./flow.ts";
import { isExpanded } from "./recipe.ts";
import type { Workspace } from "./workspace.ts";

/** What an address received and sent in the drawing, by token. */
function sums(space: Workspace, id: string): HTMLElement | null {
  const totals = new Map<TokenId, [bigint, bigint]>();
  for (const edge of space.drawing.edges.values()) {
    if (edge.from !== id && edge.to !== id) continue;
    const [received, sent] = totals.get(edge.token) ?? [0n, 0n];
    const value = integer(edge.amount);
    totals.set(edge.token, edge.to === id ? [received + value, sent] : [received, sent + value]);
  }
  if (totals.size === 0) return null;
  const { tokens } = space.drawing;
  const cell = (token: TokenId, value: bigint): HTMLElement =>
    h(
      "td",
      { class: "number", title: exactAmount(tokens, token, value.toString()) },
      value === 0n ? "–" : roundedAmount(tokens, token, value.toString()),
    );
  const rows = [...totals]
    .slice(0, 12)
    .map(([token, [received, sent]]) => h("tr", {}, cell(token, received), cell(token, sent)));
  return h(
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
}

function noteForm(space: Workspace, vertex: Vertex): HTMLElement {
  const area = h("textarea", { id: "note", rows: 2, maxlength: 2_000, placeholder: "Your note, saved with the case" });
  area.value = vertex.note;
  area.addEventListener("change", () => void space.note(vertex.id, area.value));
  return h("div", { class: "field" }, h("label", { for: "note" }, "Note"), area);
}

function pathForm(space: Workspace, vertex: Vertex): HTMLElement {
  const { pathFrom } = space;
  if (pathFrom === null || pathFrom === vertex.id) {
    const isOn = pathFrom === vertex.id;
    const input = h("input", {
      type: "text",
      id: "path-to",
      class: "mono",
      placeholder: "0x… or choose an address in the drawing",
      spellcheck: "false",
    });
    const form = h(
      "form",
      {
        class: "field",
        onsubmit: (event: Event) => {
          event.preventDefault();
          void space.path(input.value.trim().toLowerCase());
        },
      },
      h("label", { for: "path-to" }, "Path to"),
      input,
      h("button", { type: "submit", class: "button" }, "Find"),
    );
    return h(
      "div",
      { class: "path" },
      action(ICONS.path, isOn ? "Cancel the path" : "Path from here", () => space.startPath(isOn ? null : vertex.id), {
        "aria-pressed": String(isOn),
      }),
      isOn ? form : null,
    );
  }
  return h(
    "div",
    { class: "path" },
    action(ICONS.path, `Path from ${short(pathFrom)} to here`, () => void space.path(vertex.id), {
      class: "button primary",
    }),
    action(ICONS.close, "Cancel", () => space.startPath(null)),
  );
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
      h("p", {}, `${plural(members, "other address", "other addresses")} ${side} `, addressLink(owner), "."),
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
      " are drawn as one. Filters, or fewer expansions, show them one by one.",
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
      pathForm(space, vertex),
    ),
    ...pathsOf(space, id).map((step) => flowSection(space, step)),
    sums(space, id),
    noteForm(space, vertex),
    profileOf(space, id),
  ];
}
