// The graph page: toolbar, filters, drawing, panel and table.

import { caseInput, fill, h, icon, iconButton, ICONS } from "../base/dom.ts";
import { plural } from "../base/format.ts";
import { failure, gaps } from "../base/widgets.ts";
import type { Drawing } from "./drawing.ts";
import { edgeTable } from "./edgetable.ts";
import { FilterBar } from "./filters.ts";
import { panel } from "./panel.ts";
import { drawingKey } from "./keys.ts";
import { SaveMenu } from "./menu.ts";
import { type FileKind, save } from "./save.ts";
import { svg } from "./svg.ts";
import { GraphView } from "./view.ts";
import type { Workspace } from "./workspace.ts";

/** Pixels of a unit of the drawing at which names are well readable. */
const READABLE = matchMedia("(max-width: 700px)").matches ? 0.48 : 0.56;

export class GraphPage {
  readonly element: HTMLElement;
  readonly filters: FilterBar;
  private readonly canvas = h("div", {
    class: "canvas",
    tabindex: "0",
    role: "application",
    "aria-label": "Drawing",
    "aria-describedby": "drawing-help",
  });
  private readonly side = h("aside", { class: "panel", "aria-label": "Details" });
  private readonly drawer = h("section", { class: "drawer", "aria-label": "Table of the drawing", hidden: true });
  private readonly status = h("p", { class: "status" });
  private readonly trouble = h("div", { class: "trouble" });
  private readonly menu = new SaveMenu((kind) => void this.save(kind));
  private readonly tools: Record<"undo" | "redo" | "table" | "filter", HTMLButtonElement>;
  private readonly file = caseInput((file) => void this.read(file));
  private view: GraphView | null = null;
  private hasFitted = false;
  /** The drawing before the last change. */
  private shown: Drawing;

  constructor(readonly space: Workspace) {
    this.filters = new FilterBar(space, (range) => this.view?.preview(range));
    this.shown = space.drawing;
    this.tools = {
      undo: iconButton(ICONS.undo, "Undo (Ctrl+Z)", () => void space.undo()),
      redo: iconButton(ICONS.redo, "Redo (Ctrl+Shift+Z)", () => void space.redo()),
      table: iconButton(ICONS.table, "Table (t)", () => this.toggleTable(), { "aria-pressed": "false" }),
      filter: iconButton(ICONS.filter, "Filters (f)", () => this.toggleFilters(), { "aria-pressed": "true" }),
    };
    const { undo, redo, table, filter } = this.tools;
    const bar = h(
      "div",
      { class: "toolbar", role: "toolbar", "aria-label": "Drawing" },
      undo,
      redo,
      h("span", { class: "gap" }),
      iconButton(ICONS.open, "Open a case (Ctrl+O)", () => this.file.click()),
      iconButton(ICONS.save, "Save the case (Ctrl+S)", () => void this.save("json")),
      this.menu.element,
      h("span", { class: "gap" }),
      iconButton(ICONS.fit, "Fit everything (0)", () => this.view?.fit()),
      filter,
      table,
      this.status,
    );
    this.element = h(
      "main",
      { class: "graph", id: "main" },
      h("h1", { class: "unseen" }, "Graph"),
      bar,
      this.filters.element,
      this.trouble,
      h("div", { class: "stage" }, this.canvas, this.side),
      this.drawer,
      this.file,
      h(
        "p",
        { id: "drawing-help", class: "unseen" },
        "Arrow keys choose an address, i and o expand it, Enter shows its details, t shows the drawing as a table, ? lists all keys.",
      ),
    );
    this.canvas.addEventListener("keydown", (event) => {
      if (drawingKey(event, space, this.view, () => this.side.querySelector<HTMLElement>("button, a")?.focus())) {
        event.preventDefault();
      }
    });
    space.changed = (isNew) => this.update(isNew);
  }

  /** To be called when the element is in the document: the drawing needs a size. */
  mount(): void {
    try {
      this.view = new GraphView(this.canvas, {
        select: (selection) => this.space.select(selection),
        open: (id) => this.space.openVertex(id),
        pin: (id, x, y) => this.space.pin(id, x, y),
      });
    } catch {
      this.canvas.classList.add("still");
    }
    if (matchMedia("(max-width: 700px)").matches) this.toggleFilters();
    this.update(true);
  }

  unmount(): void {
    this.view?.destroy();
    this.view = null;
    this.space.changed = () => {};
  }

  private update(isNew: boolean): void {
    const { space, tools } = this;
    const { drawing, history, isBusy, error } = space;
    tools.undo.disabled = !history.canUndo || isBusy;
    tools.redo.disabled = !history.canRedo || isBusy;
    this.element.setAttribute("aria-busy", String(isBusy));
    this.element.classList.toggle("busy", isBusy);
    fill(this.trouble, error === null ? null : failure(error), gaps(space.remarks));
    const addresses = [...drawing.vertices.values()].filter(({ kind }) => kind === "address").length;
    fill(
      this.status,
      isBusy ? "Loading…" : `${plural(addresses, "address", "addresses")}, ${plural(drawing.edges.size, "arrow")}`,
      drawing.incomplete.length > 0 &&
        h(
          "button",
          { type: "button", class: "warn", onclick: () => space.select(null) },
          icon(ICONS.warning),
          plural(drawing.incomplete.length, "gap"),
        ),
    );
    this.showPanel();
    this.filters.update(isNew);
    if (!this.drawer.hidden) fill(this.drawer, edgeTable(space));
    if (this.view === null) {
      if (isNew && this.canvas.classList.contains("still")) this.showStill();
      return;
    }
    if (isNew) this.view.show(drawing, space.selection);
    else this.view.select(space.selection);
    if (isNew && !this.hasFitted && drawing.vertices.size > 0) {
      this.hasFitted = true;
      this.view.fit(READABLE, 0);
    } else if (isNew) {
      this.view.reveal(this.shown, READABLE);
    }
    if (isNew) this.shown = drawing;
    else if (space.selection?.kind === "vertex") this.view.focus(space.selection.id);
  }

  /** Shows the panel again; what had the focus keeps it. */
  private showPanel(): void {
    const active = this.side.contains(document.activeElement) ? (document.activeElement as HTMLElement) : null;
    const key = active?.dataset.key;
    fill(this.side, panel(this.space));
    if (active === null) return;
    const again = [...this.side.querySelectorAll<HTMLElement>("[data-key]")].find(
      (element) => element.dataset.key === key && !element.matches(":disabled"),
    );
    (again ?? (active.id === "" ? null : document.getElementById(active.id)) ?? this.canvas).focus();
  }

  /** A picture where the browser has no WebGL. The table has everything that can be chosen. */
  private showStill(): void {
    const image = h("img", { alt: this.space.title });
    image.src = URL.createObjectURL(new Blob([svg(this.space.drawing, this.space.title)], { type: "image/svg+xml" }));
    image.addEventListener("load", () => URL.revokeObjectURL(image.src));
    fill(
      this.canvas,
      h("p", { class: "muted" }, "This browser has no WebGL: the drawing is a picture. Use the table to expand."),
      image,
    );
    if (this.drawer.hidden) this.toggleTable();
  }

  private press(tool: HTMLButtonElement, isOn: boolean): void {
    tool.setAttribute("aria-pressed", String(isOn));
  }

  toggleTable(): void {
    this.drawer.hidden = !this.drawer.hidden;
    this.press(this.tools.table, !this.drawer.hidden);
    if (!this.drawer.hidden) fill(this.drawer, edgeTable(this.space));
    this.view?.fit(READABLE);
  }

  toggleFilters(isOn = this.filters.element.hidden): void {
    this.filters.element.hidden = !isOn;
    this.press(this.tools.filter, isOn);
  }

  async save(kind: FileKind): Promise<void> {
    this.menu.toggle(false);
    try {
      await save(this.space, kind);
    } catch (error) {
      fill(this.trouble, failure(error));
    }
  }

  openFile(): void {
    this.file.click();
  }

  private async read(file: File): Promise<void> {
    this.hasFitted = false;
    await this.space.read(await file.text());
  }
}
