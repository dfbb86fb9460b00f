// The panel beside the drawing: what is selected, or the drawing as a whole.

import { fill, h, icon, iconButton, ICONS } from "../base/dom.ts";
import { count, integer, plain, plural, short } from "../base/format.ts";
import { addressPath } from "../base/route.ts";
import { exactAmount, NATIVE, roundedAmount, symbol } from "../base/tokens.ts";
import type { TokenId } from "../base/types.ts";
import { addressLink, amount, chip, commandLine, copy, facts, failure, foot, gaps, when } from "../base/widgets.ts";
import { coinOf } from "../pages/address.ts";
import { shortColumns, transferList } from "../pages/transfers.ts";
import type { DrawnEdge, Vertex } from "./drawing.ts";
import { isExpanded } from "./recipe.ts";
import { tokenColors } from "./style.ts";
import type { Workspace } from "./workspace.ts";

const action = (path: string, text: string, onclick: () => void, properties: Record<string, unknown> = {}): HTMLElement =>
  h("button", { type: "button", class: "button", "data-key": path, onclick, ...properties }, icon(path), text);

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
    h("td", { class: "number", title: exactAmount(tokens, token, value.toString()) }, value === 0n ? "–" : roundedAmount(tokens, token, value.toString()));
  const rows = [...totals].slice(0, 12).map(([token, [received, sent]]) => h("tr", {}, cell(token, received), cell(token, sent)));
  return h("table", { class: "sums" }, h("caption", {}, "In this drawing"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "number" }, "Received"), h("th", { scope: "col", class: "number" }, "Sent"))),
    h("tbody", {}, ...rows));
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
    const input = h("input", { type: "text", id: "path-to", class: "mono", placeholder: "0x… or choose an address in the drawing", spellcheck: "false" });
    const form = h("form", { class: "field", onsubmit: (event: Event) => {
      event.preventDefault();
      void space.path(input.value.trim().toLowerCase());
    } }, h("label", { for: "path-to" }, "Path to"), input, h("button", { type: "submit", class: "button" }, "Find"));
    return h("div", { class: "path" },
      action(ICONS.path, isOn ? "Cancel the path" : "Path from here", () => space.startPath(isOn ? null : vertex.id), { "aria-pressed": String(isOn) }),
      isOn ? form : null);
  }
  return h("div", { class: "path" },
    action(ICONS.path, `Path from ${short(pathFrom)} to here`, () => void space.path(vertex.id), { class: "button primary" }),
    action(ICONS.close, "Cancel", () => space.startPath(null)));
}

function vertexPanel(space: Workspace, vertex: Vertex): (HTMLElement | null)[] {
  const { id, owner, direction, members } = vertex;
  const side = direction === "in" ? "pay" : "are paid by";
  if (vertex.kind === "more") {
    return [h("h2", {}, `+${count(members)} more`), h("p", {}, `${plural(members, "other address", "other addresses")} ${side} `, addressLink(owner), "."),
      action(direction === "in" ? ICONS.inward : ICONS.outward, "Show more of them", () => void space.expand(owner, direction), { class: "button primary" })];
  }
  if (vertex.kind === "folded") {
    return [h("h2", {}, `+${count(members)} others`), h("p", {}, `${plural(members, "address", "addresses")} that only ${side} `, addressLink(owner), " are drawn as one. Filters, or fewer expansions, show them one by one.")];
  }
  const isKnown = (side: "in" | "out"): boolean => isExpanded(space.recipe, id, side);
  const more = (side: "in" | "out"): boolean => space.drawing.vertices.has(`more:${side}:${id}`);
  const expand = (side: "in" | "out", path: string, text: string): HTMLElement =>
    action(path, isKnown(side) ? `More ${text}` : `Expand ${text}`, () => void space.expand(id, side), { disabled: isKnown(side) && !more(side) });
  const profile = h("div", { class: "profile" }, h("p", { class: "loading" }, "Loading…"));
  space.profile(id).then(
    (answer) => fill(profile, facts([
      ["Balance", answer.balance === null ? null : amount(coinOf(space.info), NATIVE, answer.balance)],
      ["Transfers", answer.transfers === null ? null : count(answer.transfers)],
      ["First", answer.first === null ? null : when(answer.first)],
      ["Last", answer.last === null ? null : when(answer.last)],
      ["Created by", answer.creator === null ? null : addressLink(answer.creator.address)],
    ]), ...foot(answer)),
    (error) => fill(profile, failure(error)));
  const kind = vertex.isContract ? "Contract" : "Address";
  return [
    h("p", { class: "kind" }, [vertex.isRoot ? "Start" : "", kind, ...vertex.marks.filter((mark) => mark !== "root").map((mark) => plain(mark).replace(/_/g, " "))].filter(Boolean).join(" · ")),
    h("div", { class: "name" }, vertex.label ? chip(vertex.label) : null),
    h("div", { class: "whole" }, h("a", { href: addressPath(id), class: "mono wrap" }, id), copy(id, "address")),
    h("div", { class: "actions" },
      expand("in", ICONS.inward, "in"), expand("out", ICONS.outward, "out"),
      isKnown("in") || isKnown("out") ? action(ICONS.close, "Collapse", () => void space.collapse(id)) : null,
      vertex.isRoot ? null : action(ICONS.hide, "Hide", () => void space.hide(id)),
      pathForm(space, vertex)),
    sums(space, id), noteForm(space, vertex), profile,
  ];
}

function edgePanel(space: Workspace, edge: DrawnEdge): (HTMLElement | null)[] {
  const { from, to, token } = edge;
  const end = (id: string): HTMLElement => {
    const vertex = space.drawing.vertices.get(id);
    return vertex?.kind === "address" ? addressLink(id, vertex.label) : h("span", {}, plural(vertex?.members ?? 0, "address", "addresses"));
  };
  const { tokens } = space.drawing;
  const { blocks, internal, min } = space.recipe.filters;
  return [
    h("p", { class: "kind" }, plural(edge.count, "transfer")),
    h("h2", {}, roundedAmount(tokens, token, edge.amount, edge.kind, edge.count)),
    h("div", { class: "ends" }, end(from), h("span", { class: "muted" }, "to"), end(to)),
    facts([
      ["Exactly", exactAmount(tokens, token, edge.amount)],
      ["Token", token === NATIVE ? symbol(tokens, token) : h("a", { href: `#/token/${token}`, class: "mono wrap" }, token)],
      ["Kind", edge.kind], ["First", when(edge.first)], ["Last", when(edge.last)],
    ]),
    edge.edges > 1 ? h("p", {}, `This arrow stands for ${plural(edge.edges, "arrow")} of folded addresses.`)
      : transferList("Transfers of this arrow", { from, to, token, blocks, internal, min }, null, shortColumns),
  ];
}

/** The drawing as a whole: legend, notes, what is missing, commands. */
function wholePanel(space: Workspace): (HTMLElement | null)[] {
  const { drawing, recipe } = space;
  const native = getComputedStyle(document.documentElement).getPropertyValue("--native").trim();
  const legend = [...tokenColors(drawing, native)].map(([token, color]) => {
    const mark = h("span", { class: "swatch", "aria-hidden": "true" });
    mark.style.background = color;
    const isOn = recipe.filters.token === token;
    const choose = (): void => void space.filter({ ...recipe.filters, token: isOn ? "" : token });
    return h("li", {}, h("button", { type: "button", class: "entry", "aria-pressed": String(isOn), onclick: choose }, mark, symbol(drawing.tokens, token)));
  });
  const notes = [...drawing.vertices.values()].filter(({ note }) => note !== "");
  const select = (id: string): void => space.select({ kind: "vertex", id });
  return [
    h("h2", {}, space.title),
    h("p", { class: "muted" }, drawing.vertices.size === 0 ? "Search for an address or a transaction and open its graph, or open a saved case."
      : "Select an address or an arrow for its details. A double click expands an address."),
    legend.length > 0 ? h("section", {}, h("h3", {}, "Tokens"), h("ul", { class: "legend" }, ...legend)) : null,
    recipe.hidden.length > 0 ? action(ICONS.hide, `Show ${plural(recipe.hidden.length, "hidden address", "hidden addresses")}`, () => void space.showHidden()) : null,
    Object.keys(recipe.pins).length > 0 ? action(ICONS.fit, "Arrange moved addresses", () => void space.unpin()) : null,
    notes.length > 0 ? h("section", {}, h("h3", {}, "Notes"), h("ul", { class: "notes" }, ...notes.map(({ id, note, label, short }) =>
      h("li", {}, h("button", { type: "button", class: "entry", onclick: () => select(id) }, label ? plain(label.name) : short), h("p", {}, note))))) : null,
    drawing.incomplete.length > 0 ? h("section", {}, h("h3", {}, "What is missing"), gaps(drawing.incomplete)) : null,
    drawing.commands.length > 0 ? h("section", {}, h("h3", {}, "Commands that find the same"), ...drawing.commands.map(commandLine)) : null,
  ];
}

export function panel(space: Workspace): HTMLElement {
  const { selection, drawing } = space;
  const vertex = selection?.kind === "vertex" ? drawing.vertices.get(selection.id) : undefined;
  const edge = selection?.kind === "edge" ? drawing.edges.get(selection.id) : undefined;
  const parts = vertex !== undefined ? vertexPanel(space, vertex) : edge !== undefined ? edgePanel(space, edge) : wholePanel(space);
  const close = vertex ?? edge ? iconButton(ICONS.close, "Close details", () => space.select(null), { class: "tool close" }) : null;
  return h("div", { class: "details" }, close, ...parts);
}
