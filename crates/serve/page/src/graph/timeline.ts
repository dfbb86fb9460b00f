// The time of a drawing: a strip with two handles, which set the blocks of the filters.

import { blocksOf, ends } from "../base/blocks.ts";
import { fill, h } from "../base/dom.ts";
import { count, minute } from "../base/format.ts";
import type { Position } from "../base/types.ts";
import type { Workspace } from "./workspace.ts";

/** Places of a handle at most. */
const STEPS_MAX = 1_000;

/** The first and the last transfer that is known. */
export type Span = [first: Position, last: Position];

/** Blocks from the first one up to and with the second one. */
export type Range = [first: number, last: number];

export class Timeline {
  readonly element: HTMLElement;
  private readonly low = this.handle("time-low", "First block");
  private readonly high = this.handle("time-high", "Last block");
  private readonly text = h("output", { for: "time-low time-high" });
  private readonly marks = [h("span", { class: "muted" }), h("span", { class: "muted" })] as const;
  private readonly track = h("div", { class: "track" }, this.low, this.high);
  private span: Span | null = null;
  /** The start of the drawing that the span is of. */
  private start = "";

  /** `preview` shows a range while a handle moves. */
  constructor(
    private readonly space: Workspace,
    private readonly preview: (range: Range) => void,
  ) {
    this.element = h(
      "div",
      { class: "timeline", role: "group", "aria-label": "Time", hidden: true },
      this.marks[0],
      this.track,
      this.marks[1],
      this.text,
    );
  }

  private handle(id: string, name: string): HTMLInputElement {
    const input = h("input", { type: "range", id, min: 0, "aria-label": name });
    input.addEventListener("input", () => this.move(input));
    input.addEventListener("change", () => this.apply(input));
    return input;
  }

  /** The block at a place of a handle. */
  private block(input: HTMLInputElement): number {
    const [first, last] = this.span ?? [{ block: 0 }, { block: 0 }];
    return first.block + Math.round((Number(input.value) / Number(input.max)) * (last.block - first.block));
  }

  private move(moved: HTMLInputElement): void {
    const { low, high } = this;
    if (Number(low.value) > Number(high.value)) {
      if (moved === low) low.value = high.value;
      else high.value = low.value;
    }
    this.show();
    this.preview([this.block(low), this.block(high)]);
  }

  /** Shows the range in words, and as a bar between the handles. */
  private show(): void {
    const { low, high } = this;
    const [first, last] = [this.block(low), this.block(high)];
    for (const input of [low, high]) input.setAttribute("aria-valuetext", `block ${count(this.block(input))}`);
    fill(this.text, first === last ? `block ${count(first)}` : `blocks ${count(first)} to ${count(last)}`);
    this.track.style.setProperty("--low", `${(100 * Number(low.value)) / Number(low.max)}%`);
    this.track.style.setProperty("--high", `${(100 * Number(high.value)) / Number(high.max)}%`);
  }

  /** Filters by the handle that was moved. At its end of the strip, it bounds nothing. */
  private apply(moved: HTMLInputElement): void {
    const { filters } = this.space.recipe;
    let [from, until] = ends(filters.blocks);
    if (moved === this.low) from = moved.value === moved.min ? "" : String(this.block(moved));
    else until = moved.value === moved.max ? "" : String(this.block(moved) + 1);
    try {
      void this.space.filter({ ...filters, blocks: blocksOf(from, until) });
    } catch (error) {
      this.space.fail(error);
    }
  }

  /** Follows a new drawing. The span grows only, so that what was filtered out can come back. */
  update(): void {
    const { recipe, parts } = this.space;
    const start = JSON.stringify([recipe.roots, recipe.steps[0]]);
    if (start !== this.start) this.span = null;
    this.start = start;
    const edges = parts.of(recipe).flatMap(([, part]) => part.edges);
    this.span = edges.reduce((span, { first, last }) => widened(span, first, last), this.span);
    const blocks = this.span === null ? 0 : this.span[1].block - this.span[0].block;
    this.element.hidden = blocks === 0;
    if (this.span === null || blocks === 0) return;
    const steps = Math.min(blocks, STEPS_MAX);
    for (const input of [this.low, this.high]) input.max = String(steps);
    const [from, until] = ends(recipe.filters.blocks);
    this.low.value = String(steps * (placeOf(from, this.span, 0) ?? 0));
    this.high.value = String(steps * (placeOf(until, this.span, -1) ?? 1));
    this.marks.forEach((mark, at) => fill(mark, minute(this.span?.[at]?.time ?? null)));
    this.show();
  }
}

/** A span with some transfers more. */
export function widened(span: Span | null, first: Position, last: Position): Span {
  const [from, until] = span ?? [first, last];
  return [first.block < from.block ? first : from, last.block > until.block ? last : until];
}

/** The place of the end of a range in a span, from 0 to 1; `null` if it is outside or not known. */
export function placeOf(text: string, [first, last]: Span, more: number): number | null {
  const part = (value: number, low: number, high: number): number | null =>
    value < low || value > high || high === low ? null : (value - low) / (high - low);
  if (/^\d+$/.test(text)) return part(Number(text) + more, first.block, last.block);
  const time = Date.parse(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : `${text.replace(/Z$/i, "")}Z`);
  if (Number.isNaN(time) || first.time === null || last.time === null) return null;
  return part(time / 1_000, first.time, last.time);
}
