// The filters of a drawing.

import { blocksOf, ends } from "../base/blocks.ts";
import { fill, h } from "../base/dom.ts";
import { exact } from "../base/format.ts";
import { symbol } from "../base/tokens.ts";
import { type Filters, isFiltered, KINDS, NO_FILTERS } from "./recipe.ts";
import type { Workspace } from "./workspace.ts";

export class FilterBar {
  readonly element: HTMLFormElement;
  readonly first: HTMLInputElement;
  private readonly tokens = h("datalist", { id: "tokens" });
  private readonly kind = h(
    "select",
    { id: "filter-kind" },
    h("option", { value: "" }, "all"),
    ...KINDS.map((kind) => h("option", { value: kind }, kind)),
  );
  private readonly from = this.input("from", "block or date", 11);
  private readonly until = this.input("until", "block or date", 11);
  private readonly min = this.input("min", "0", 9);
  private readonly internal = h("input", { type: "checkbox", id: "filter-internal" });
  /** The texts of the fields as the recipe has them. */
  private shown = new Map<HTMLInputElement, string>();

  constructor(private readonly space: Workspace) {
    this.first = this.input("token", "all", 10);
    this.first.setAttribute("list", "tokens");
    const field = (name: string, input: HTMLElement): HTMLElement =>
      h("div", { class: "filter" }, h("label", { for: input.id }, name), input);
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
      field("Token", this.first),
      field("Kind", this.kind),
      field("From", this.from),
      field("Before", this.until),
      field("At least", this.min),
      h(
        "div",
        { class: "filter check" },
        this.internal,
        h("label", { for: "filter-internal" }, "coins inside transactions"),
      ),
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
    );
    this.first.addEventListener("input", () => this.allowMin());
    this.kind.addEventListener("change", () => this.apply());
    this.internal.addEventListener("change", () => this.apply());
    this.internal.disabled = !space.info.has_internal;
  }

  private input(name: string, placeholder: string, size: number): HTMLInputElement {
    return h("input", {
      type: "text",
      id: `filter-${name}`,
      placeholder,
      size,
      autocomplete: "off",
      spellcheck: "false",
    });
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
      const next: Filters = { token, kind: this.kind.value, blocks, min, internal: this.internal.checked };
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
