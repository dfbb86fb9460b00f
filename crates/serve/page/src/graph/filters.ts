// The filters of a drawing.

import { fill, h } from "../base/dom.ts";
import { exact, units } from "../base/format.ts";
import { symbol } from "../base/tokens.ts";
import { type Filters, NO_FILTERS } from "./recipe.ts";
import type { Workspace } from "./workspace.ts";

const KINDS = ["native", "erc20", "erc721", "erc1155"];

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
      field("Until", this.until),
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
    const [from, until] = [this.from.value.trim(), this.until.value.trim()];
    const token = this.first.value.trim();
    const blocks = from === "" && until === "" ? "" : `${from}:${until}`;
    const filters: Filters = {
      token,
      kind: this.kind.value,
      blocks,
      min: units(this.min.value, this.decimals()),
      internal: this.internal.checked,
    };
    void this.space.filter(filters);
  }

  /** The decimals of the chosen token: amounts of different tokens have no unit in common. */
  private decimals(): number {
    const { tokens } = this.space.drawing;
    return tokens[this.space.recipe.filters.token]?.decimals ?? 0;
  }

  /** Shows the filters of the recipe. */
  update(): void {
    const { filters } = this.space.recipe;
    const { tokens } = this.space.drawing;
    const [from = "", until = ""] = filters.blocks.split(":");
    this.first.value = tokens[filters.token] === undefined ? filters.token : symbol(tokens, filters.token);
    this.kind.value = filters.kind;
    this.from.value = from;
    this.until.value = until;
    this.min.disabled = filters.token === "";
    this.min.placeholder = filters.token === "" ? "for one token" : "0";
    this.min.value = filters.min === "" ? "" : exact(filters.min, this.decimals()).replace(/,/g, "");
    this.internal.checked = filters.internal;
    fill(
      this.tokens,
      ...Object.keys(tokens)
        .slice(0, 200)
        .map((id) => h("option", { value: symbol(tokens, id) })),
    );
    const isOn = JSON.stringify({ ...filters, internal: false }) !== JSON.stringify(NO_FILTERS);
    this.element.classList.toggle("on", isOn);
  }
}
