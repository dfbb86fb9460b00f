// The filters of a drawing.

import { blocksOf, ends } from "../base/blocks.ts";
import { fill, h } from "../base/dom.ts";
import { checkbox, checked, choice, labeled, textField } from "../base/forms.ts";
import { exact } from "../base/format.ts";
import { symbol } from "../base/tokens.ts";
import { ANY_LABEL, type Filters, isFiltered, KINDS, NO_FILTERS } from "./recipe.ts";
import { CATEGORIES } from "./style.ts";
import { type Range, Timeline } from "./timeline.ts";
import type { Workspace } from "./workspace.ts";

/** What a field can choose: everything, or one of some words. */
const options = (words: string[]): [string, string][] => [
  ["", "all"],
  ...words.map((word): [string, string] => [word, word === ANY_LABEL ? "any label" : word]),
];

export class FilterBar {
  readonly element: HTMLFormElement;
  readonly first: HTMLInputElement;
  private readonly tokens = h("datalist", { id: "tokens" });
  private readonly kind = choice("filter-kind", options(KINDS));
  private readonly category = choice("filter-category", options(CATEGORIES));
  private readonly labels: HTMLElement;
  private readonly time: Timeline;
  private readonly from = textField("filter-from", "block or date");
  private readonly until = textField("filter-until", "block or date");
  private readonly min = textField("filter-min", "0");
  private readonly internal = checkbox("filter-internal");
  /** The texts of the fields as the recipe has them. */
  private shown = new Map<HTMLInputElement, string>();

  constructor(
    private readonly space: Workspace,
    preview: (range: Range) => void,
  ) {
    this.time = new Timeline(space, preview);
    this.first = textField("filter-token", "all", { list: "tokens" });
    this.labels = labeled("Label", this.category);
    this.element = h(
      "form",
      {
        class: "filters",
        "aria-label": "Filters",
        onsubmit: (event: Event) => {
          event.preventDefault();
          this.apply();
        },
      },
      labeled("Token", this.first),
      labeled("Kind", this.kind),
      this.labels,
      labeled("From", this.from),
      labeled("Before", this.until),
      labeled("At least", this.min),
      checked(this.internal, "coins inside transactions"),
      h("button", { type: "submit", class: "button" }, "Apply"),
      h(
        "button",
        {
          type: "button",
          class: "button quiet",
          onclick: () => void space.filter({ ...NO_FILTERS, internal: space.internal }),
        },
        "Clear",
      ),
      this.tokens,
      this.time.element,
    );
    this.first.addEventListener("input", () => this.allowMin());
    for (const choice of [this.kind, this.category]) choice.addEventListener("change", () => this.apply());
    this.internal.addEventListener("change", () => this.apply());
    this.internal.disabled = !space.info.has_internal;
  }

  private apply(): void {
    const { filters } = this.space.recipe;
    const isSame = (input: HTMLInputElement): boolean => input.value === this.shown.get(input);
    try {
      // A field that was not changed stays as it is: not every text of a filter has a form in the fields.
      const token = isSame(this.first) ? filters.token : this.first.value.trim();
      const isRange = isSame(this.from) && isSame(this.until);
      const blocks = isRange ? filters.blocks : blocksOf(this.from.value, this.until.value);
      const isMin = isSame(this.min) && token === filters.token;
      const { min, decimals } = isMin ? filters : NO_FILTERS;
      const [kind, category, internal] = [this.kind.value, this.category.value, this.internal.checked];
      const next: Filters = { token, kind, category, blocks, min, internal };
      if (min !== "") next.decimals = decimals ?? null;
      void this.space.filter(next, isMin || token === "" ? "" : this.min.value);
    } catch (error) {
      this.space.fail(error);
    }
  }

  /** Amounts of different tokens have no unit in common. */
  private allowMin(): void {
    const isOne = this.first.value.trim() !== "";
    this.min.disabled = !isOne;
    this.min.placeholder = isOne ? "0" : "for one token";
  }

  /** Shows the filters of the recipe. If nothing new is drawn, what the user typed stays. */
  update(isNew: boolean): void {
    const { recipe, tokens } = this.space;
    const { filters } = recipe;
    this.element.classList.toggle("on", isFiltered(filters));
    if (!isNew) return;
    const [from, until] = ends(filters.blocks);
    const decimals = filters.decimals ?? tokens[filters.token]?.decimals ?? 0;
    const texts: [HTMLInputElement, string][] = [
      [this.first, tokens[filters.token] === undefined ? filters.token : symbol(tokens, filters.token)],
      [this.from, from],
      [this.until, until],
      [this.min, filters.min === "" ? "" : exact(filters.min, decimals).replace(/,/g, "")],
    ];
    for (const [input, text] of texts) input.value = text;
    this.shown = new Map(texts);
    this.kind.value = filters.kind;
    this.category.value = filters.category;
    const isLabeled = this.space.parts
      .of(recipe)
      .some(([, { edges }]) => edges.some(({ from_label, to_label }) => from_label != null || to_label != null));
    this.labels.hidden = !isLabeled && filters.category === "";
    this.time.update();
    this.internal.checked = filters.internal;
    this.allowMin();
    fill(
      this.tokens,
      ...Object.keys(tokens)
        .slice(0, 200)
        .map((id) => h("option", { value: symbol(tokens, id) })),
    );
  }
}
