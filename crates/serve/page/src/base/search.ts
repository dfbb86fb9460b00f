// The search box: a text field with a list of what was found (the combobox pattern of ARIA).

import { ask } from "./api.ts";
import { announce, fill, h, icon, ICONS } from "./dom.ts";
import { plain, plural, short } from "./format.ts";
import { foundPath, isAddress, isHash } from "./route.ts";
import type { Found, SearchAnswer } from "./types.ts";

/** Milliseconds without a key before the server is asked. */
const PAUSE = 160;

/** What a text names for certain, without a request to the server. */
export function evident(text: string): Found | null {
  const value = text.trim().toLowerCase();
  if (isAddress(value)) return { kind: "address", value, text: "address" };
  if (isHash(value)) return { kind: "transaction", value, text: "transaction" };
  const number = value.replace(/[,_]/g, "");
  return /^\d{1,12}$/.test(number) ? { kind: "block", value: number, text: "block" } : null;
}

export class Search {
  readonly element: HTMLElement;
  readonly input: HTMLInputElement;
  private readonly list: HTMLElement;
  private found: Found[] = [];
  private active = -1;
  private timer = 0;
  private asked: AbortController | null = null;

  constructor(
    id: string,
    placeholder: string,
    private readonly go: (path: string) => void,
  ) {
    this.list = h("ul", { id: `${id}-list`, class: "found", role: "listbox", "aria-label": "Found", hidden: true });
    this.input = h("input", {
      id,
      type: "text",
      class: "query",
      placeholder,
      "aria-label": "Search",
      role: "combobox",
      autocomplete: "off",
      spellcheck: "false",
      autocapitalize: "off",
      "aria-expanded": "false",
      "aria-controls": `${id}-list`,
      "aria-autocomplete": "list",
      oninput: () => this.later(),
      onkeydown: (event: KeyboardEvent) => this.key(event),
      onblur: () => setTimeout(() => this.close(), 150),
    });
    this.element = h("div", { class: "search", role: "search" }, icon(ICONS.search), this.input, this.list);
  }

  private later(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.ask(), PAUSE);
  }

  private async ask(): Promise<void> {
    const text = this.input.value.trim();
    this.asked?.abort();
    if (text === "") return this.close();
    this.asked = new AbortController();
    try {
      const answer = await ask<SearchAnswer>("search", { q: text }, this.asked.signal);
      if (this.input.value.trim() === text) this.show(answer.results);
    } catch (error) {
      if (error instanceof DOMException) return;
      const known = evident(text);
      this.show(known === null ? [] : [known]);
    }
  }

  private show(found: Found[]): void {
    this.found = found;
    this.active = -1;
    const option = ({ kind, value, text }: Found, index: number): HTMLElement => {
      const isCode = kind === "address" || kind === "transaction" || kind === "token";
      return h(
        "li",
        {
          id: `${this.input.id}-${index}`,
          role: "option",
          "aria-selected": "false",
          onmousedown: () => this.choose(index),
        },
        h("span", { class: "what" }, kind),
        h("span", { class: "text" }, plain(text, 60)),
        isCode ? h("span", { class: "mono muted" }, short(value)) : null,
      );
    };
    fill(this.list, ...found.map(option), found.length === 0 && h("li", { class: "none" }, "Nothing found."));
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    announce(found.length === 0 ? "nothing found" : plural(found.length, "result"));
  }

  close(): void {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  private mark(index: number): void {
    this.active = index;
    [...this.list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === index)));
    this.input.setAttribute("aria-activedescendant", `${this.input.id}-${index}`);
  }

  private choose(index: number): void {
    const found = this.found[index];
    if (found === undefined) return;
    this.input.value = "";
    this.close();
    this.go(foundPath(found.kind, found.value));
  }

  private key(event: KeyboardEvent): void {
    const { found } = this;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (found.length === 0 || this.list.hidden) return;
      const step = event.key === "ArrowDown" ? 1 : -1;
      this.mark((this.active + step + found.length) % found.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      void this.enter();
    } else if (event.key === "Escape") {
      this.close();
    }
  }

  private async enter(): Promise<void> {
    if (this.active >= 0 && !this.list.hidden) return this.choose(this.active);
    clearTimeout(this.timer);
    const known = evident(this.input.value);
    if (known !== null) {
      this.input.value = "";
      this.close();
      return this.go(foundPath(known.kind, known.value));
    }
    await this.ask();
    if (this.found.length === 1) this.choose(0);
  }
}
