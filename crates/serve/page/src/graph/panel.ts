// The panel beside the drawing: what is selected, or the drawing as a whole.

import { h, icon, iconButton, ICONS } from "../base/dom.ts";
import { plain, plural } from "../base/format.ts";
import { symbol } from "../base/tokens.ts";
import { action, commandLine, gaps } from "../base/widgets.ts";
import { originOf } from "./about.ts";
import { edgePanel } from "./edgepanel.ts";
import { flowSection, pathsOf } from "./flow.ts";
import { chosenHere } from "./recipe.ts";
import { tokenColors } from "./style.ts";
import { addressPanel, groupPanel } from "./vertexpanel.ts";
import type { Workspace } from "./workspace.ts";

/** Whether a drawing was asked for, and nothing is there. */
const hasFailed = ({ drawing, recipe, error }: Workspace): boolean =>
  error !== null && drawing.vertices.size === 0 && recipe.steps.length > 0;

function hint(space: Workspace): string {
  const { drawing, recipe, isBusy } = space;
  if (drawing.vertices.size > 0)
    return "Select an address or an arrow for its details. A double click expands an address.";
  if (isBusy) return "Loading…";
  if (hasFailed(space)) return "Change the filters, or try again.";
  if (recipe.steps.length > 0) return "No transfers fit.";
  return "Search for an address or a transaction and open its graph, or open a saved case.";
}

/** The command lines that give the same answers. What is chosen in the page is not in them. */
function commands({ drawing, recipe }: Workspace): HTMLElement | null {
  if (drawing.commands.length === 0) return null;
  const here = chosenHere(recipe.filters);
  return h(
    "section",
    {},
    h("h3", {}, "Commands that find the same"),
    here === "" ? null : h("p", { class: "muted" }, `They do not choose by ${here}.`),
    ...drawing.commands.map(commandLine),
  );
}

/** The drawing as a whole: legend, notes, what is missing, commands. */
function wholePanel(space: Workspace): (HTMLElement | null)[] {
  const { drawing, recipe } = space;
  const native = getComputedStyle(document.documentElement).getPropertyValue("--native").trim();
  const legend = [...tokenColors(drawing, native)].map(([token, color]) => {
    const mark = h("span", { class: "swatch", "aria-hidden": "true" });
    mark.style.background = color;
    const isOn = recipe.filters.token === token;
    // The smallest amount is one of a token.
    const choose = (): void => void space.filter({ ...recipe.filters, token: isOn ? "" : token, min: "" });
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "entry", "aria-pressed": String(isOn), onclick: choose },
        mark,
        symbol(drawing.tokens, token),
      ),
    );
  });
  const notes = [...drawing.vertices.values()].filter(({ note }) => note !== "");
  const select = (id: string): void => space.select({ kind: "vertex", id });
  return [
    h("h2", {}, space.title),
    h("p", { class: "muted" }, hint(space)),
    hasFailed(space) ? action(ICONS.redo, "Try again", () => void space.askAgain()) : null,
    legend.length > 0 ? h("section", {}, h("h3", {}, "Tokens"), h("ul", { class: "legend" }, ...legend)) : null,
    recipe.hidden.length > 0
      ? action(
          ICONS.hide,
          `Show ${plural(recipe.hidden.length, "hidden address", "hidden addresses")}`,
          () => void space.apply((recipe) => ({ ...recipe, hidden: [] })),
        )
      : null,
    Object.keys(recipe.pins).length > 0
      ? action(ICONS.fit, "Arrange moved addresses", () => void space.apply((recipe) => ({ ...recipe, pins: {} })))
      : null,
    notes.length > 0
      ? h(
          "section",
          {},
          h("h3", {}, "Notes"),
          h(
            "ul",
            { class: "notes" },
            ...notes.map(({ id, note, label, short }) =>
              h(
                "li",
                {},
                h(
                  "button",
                  { type: "button", class: "entry", onclick: () => select(id) },
                  label ? plain(label.name) : short,
                ),
                h("p", {}, note),
              ),
            ),
          ),
        )
      : null,
    ...pathsOf(space, null).map((step) => flowSection(space, step)),
    drawing.incomplete.length > 0 ? h("section", {}, h("h3", {}, "What is missing"), gaps(drawing.incomplete)) : null,
    commands(space),
  ];
}

function parts(space: Workspace): (HTMLElement | null)[] {
  const { selection, drawing } = space;
  const edge = selection?.kind === "edge" ? drawing.edges.get(selection.id) : undefined;
  if (edge !== undefined) return edgePanel(space, edge);
  const vertex = selection?.kind === "vertex" ? drawing.vertices.get(selection.id) : undefined;
  if (vertex === undefined) return wholePanel(space);
  return vertex.kind === "address" ? addressPanel(space, vertex) : groupPanel(space, vertex);
}

/** That answers are from a file, which this server did not write. */
function origin(space: Workspace): HTMLElement[] {
  const text = originOf(space.recipe, space.parts);
  if (text === null) return [];
  return [
    h("div", { class: "gaps origin", role: "note" }, icon(ICONS.warning), h("p", {}, text)),
    action(ICONS.redo, "Ask the server again", () => void space.askAgain()),
  ];
}

export function panel(space: Workspace): HTMLElement {
  const close = iconButton(ICONS.close, "Close details", () => space.select(null), { class: "tool close" });
  return h("div", { class: "details" }, space.selection === null ? null : close, ...origin(space), ...parts(space));
}
