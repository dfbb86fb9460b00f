// Fields of forms with their labels.

import { h } from "./dom.ts";

type Field = HTMLInputElement | HTMLSelectElement;

/** A field for a text. */
export const textField = (id: string, placeholder: string, more: Record<string, unknown> = {}): HTMLInputElement =>
  h("input", { type: "text", id, placeholder, autocomplete: "off", spellcheck: "false", ...more });

/** A field for one of several values, each with its text. */
export function choice(id: string, options: [string, string][], chosen = ""): HTMLSelectElement {
  const select = h("select", { id }, ...options.map(([value, text]) => h("option", { value }, text)));
  if (chosen !== "") select.value = chosen;
  return select;
}

export const checkbox = (id: string, checked = false): HTMLInputElement =>
  h("input", { type: "checkbox", id, checked });

/** A field after its name. */
export const labeled = (name: string, field: Field): HTMLElement =>
  h("div", { class: "filter" }, h("label", { for: field.id }, name), field);

/** A box before its text. */
export const checked = (box: HTMLInputElement, text: string): HTMLElement =>
  h("div", { class: "filter check" }, box, h("label", { for: box.id }, text));
