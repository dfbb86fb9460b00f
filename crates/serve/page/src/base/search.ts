// The search box: a text field with a list of what was found (the combobox pattern of ARIA).

import { addressOf } from "./addresses.ts";
import { ApiError, ask } from "./api.ts";
import { announce, fill, h, icon, ICONS } from "./dom.ts";
import { plain, plural, short } from "./format.ts";
import { foundPath, isHash } from "./route.ts";
import type { Found, SearchAnswer } from "./types.ts";

/** Milliseconds without a key before the server is asked. */
const PAUSE = 160;

/** What a text names for certain, without a request to the server. A wrong checksum is an error. */
export function evident(text: string): Found | null {
  const address = addressOf(text);
  if (address !== null) return { kind: "address", value: address, text: "address" };
  const value = text.trim().toLowerCase();
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

  /** Asks, and shows what was found. Returns what the text names for certain, if it was found. */
  private async ask(): Promise<Found | null> {
    const text = this.input.value.trim();
    this.asked?.abort();
    if (text === "") {
      this.close();
      return null;
    }
    this.asked = new AbortController();
    let known: Found | null = null;
    try {
      known = evident(text);
      // The server knows no separators of thousands.
      const q = known?.kind === "block" ? known.value : text;
      const { results, incomplete } = await ask<SearchAnswer>("search", { q }, this.asked.signal);
      if (this.input.value.trim() !== text) return null;
      this.show(results, results.length === 0 ? ["Nothing found.", ...incomplete] : incomplete);
      return known === null && results.length > 1 ? null : (results[0] ?? null);
    } catch (error) {
      if (error instanceof DOMException) return null;
      const hint = error instanceof ApiError ? error.hint : null;
      const reasons = [error instanceof Error ? error.message : String(error), ...(hint === null ? [] : [hint])];
      this.show(known === null ? [] : [known], reasons);
      return known;
    }
  }

  /** Lists what was found, and what is to be said about it. */
  private show(found: Found[], notes: string[]): void {
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
    const note = (text: string): HTMLElement =>
      h("li", { class: "none", role: "option", "aria-disabled": "true", "aria-selected": "false" }, text);
    fill(this.list, ...found.map(option), ...notes.map(note));
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    announce(found.length === 0 ? notes.join(" ") : plural(found.length, "result"));
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
    if (found !== undefined) this.leave(found);
  }

  private leave({ kind, value }: Found): void {
    this.input.value = "";
    this.close();
    this.go(foundPath(kind, value));
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
    const found = await this.ask();
    if (found !== null) this.leave(found);
  }
}
