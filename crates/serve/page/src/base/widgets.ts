// Parts that several pages use.

import { ApiError } from "./api.ts";
import { announce, fill, h, icon, iconButton, ICONS, put } from "./dom.ts";
import { count, plain, second, short } from "./format.ts";
import { addressPath, blockPath, tokenPath, transactionPath } from "./route.ts";
import { exactAmount, NATIVE, roundedAmount, symbol } from "./tokens.ts";
import type { Answer, Label, Position, TokenId, Tokens } from "./types.ts";

/** The kind of a label as a chip. Its color comes from the style sheet. */
export function chip(label: Label): HTMLElement {
  const kind = (label.kind ?? label.category ?? "other").toLowerCase();
  const text = plain(label.name, 32);
  return h(
    "span",
    { class: "chip", "data-kind": kind, title: label.category ? `${text} (${plain(label.category)})` : text },
    text,
  );
}

/** A link to an address, with its label if it has one. */
export function addressLink(address: string | null, label?: Label | null, whole = false): HTMLElement {
  if (address === null) return h("span", { class: "muted" }, "none");
  const text = whole ? address : short(address);
  return h(
    "span",
    { class: "party" },
    h("a", { href: addressPath(address), class: "mono", title: address }, text),
    label ? chip(label) : null,
  );
}

export function transactionLink(hash: string | null): HTMLElement {
  if (hash === null) return h("span", { class: "muted" }, "none");
  return h("a", { href: transactionPath(hash), class: "mono", title: hash }, short(hash));
}

export const blockLink = (block: number): HTMLElement =>
  h("a", { href: blockPath(block), class: "mono" }, count(block));

export function when(position: Position | null): HTMLElement {
  if (position === null) return h("span", { class: "muted" }, "none");
  const block = h("span", { class: "nowrap" }, "block ", blockLink(position.block));
  return h("span", {}, second(position.time), position.time === null ? "" : " · ", block);
}

/** The symbol of a token, which leads to its page. */
export function tokenLink(tokens: Tokens, token: TokenId): HTMLElement {
  const text = symbol(tokens, token);
  return token === NATIVE ? h("span", {}, text) : h("a", { href: tokenPath(token), title: token }, text);
}

/** A rounded amount; the exact one is its tooltip. */
export function amount(
  tokens: Tokens,
  token: TokenId,
  value: string,
  kind = "",
  id: string | null = null,
): HTMLElement {
  const text = kind === "erc721" ? symbol(tokens, token) : roundedAmount(tokens, token, value, kind);
  const number = id === null ? "" : ` #${plain(id, 14)}`;
  const title = `${exactAmount(tokens, token, value)}${id === null ? "" : `, id ${plain(id, 80)}`}`;
  if (token === NATIVE) return h("span", { class: "amount", title }, text);
  return h("a", { class: "amount", href: tokenPath(token), title }, text + number);
}

/** Puts a text into the clipboard. Browsers give it to pages of this machine and of HTTPS only. */
async function putIntoClipboard(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = h("textarea", { class: "unseen", value: text });
  document.body.appendChild(area);
  const before = document.activeElement as HTMLElement | null;
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  before?.focus();
  if (!isDone) throw new Error("the browser does not copy");
}

/** A button that copies a text. */
export function copy(text: string, name: string): HTMLElement {
  const button = iconButton(
    ICONS.copy,
    `Copy ${name}`,
    () => {
      putIntoClipboard(text).then(
        () => {
          announce(`${name} is copied`);
          button.classList.add("done");
          setTimeout(() => button.classList.remove("done"), 1_200);
        },
        () => announce(`${name} is not copied`),
      );
    },
    { class: "tool small" },
  );
  return button;
}

/** The command line that gives the same. */
export function commandLine(command: string | null): HTMLElement | null {
  if (command === null || command === "") return null;
  return h(
    "div",
    { class: "command" },
    h("span", { class: "prompt", "aria-hidden": "true" }, "$"),
    // Words stay whole where they have room.
    h("code", {}, ...command.split(" ").flatMap((word, at) => [at > 0 && " ", h("span", {}, word)])),
    copy(command, "command"),
  );
}

/** What an answer does not contain. */
export function gaps(incomplete: string[]): HTMLElement | null {
  if (incomplete.length === 0) return null;
  return h(
    "div",
    { class: "gaps", role: "note" },
    icon(ICONS.warning),
    h("ul", { "aria-label": "What is missing" }, ...incomplete.map((text) => h("li", {}, text))),
  );
}

/** The end of a page: gaps and the command line. */
export function foot(answer: Answer): (HTMLElement | null)[] {
  return [gaps(answer.incomplete), commandLine(answer.command)];
}

export function failure(error: unknown): HTMLElement {
  const hint = error instanceof ApiError ? error.hint : null;
  const message = error instanceof Error ? error.message : String(error);
  return h(
    "div",
    { class: "failure", role: "alert" },
    icon(ICONS.warning),
    h("div", {}, h("p", {}, message), hint ? h("p", { class: "muted" }, hint) : null),
  );
}

export interface Column<T> {
  name: string;
  cell: (row: T) => Node | string | null;
  /** Numbers stand on the right. */
  isNumber?: boolean;
  /** Long texts have several lines. */
  isLong?: boolean;
}

/** A table with a caption for screen readers. It scrolls inside its box. */
export function table<T>(
  caption: string,
  columns: Column<T>[],
  rows: T[],
  onRow?: (row: T, element: HTMLElement) => void,
): HTMLElement {
  if (rows.length === 0) return h("p", { class: "empty" }, "None.");
  const kind = ({ isNumber, isLong }: Column<T>): Record<string, unknown> =>
    isNumber || isLong ? { class: isNumber ? "number" : "long" } : {};
  const body = rows.map((row) => {
    const line = h("tr", {}, ...columns.map((column) => h("td", kind(column), column.cell(row))));
    onRow?.(row, line);
    return line;
  });
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, ...columns.map((column) => h("th", { scope: "col", ...kind(column) }, column.name)))),
      h("tbody", {}, ...body),
    ),
  );
}

/** Facts with their names. Facts without a value are left out. */
export function facts(all: [string, Node | string | number | null][]): HTMLElement {
  const list = h("dl", { class: "facts" });
  for (const [name, value] of all)
    if (value !== null && value !== "") put(list, h("div", {}, h("dt", {}, name), h("dd", {}, value)));
  return list;
}

export const card = (title: string, ...children: (Node | string | null)[]): HTMLElement =>
  h("section", { class: "card" }, h("h2", {}, title), ...children);

/** The event of a section that a button leads to. */
const JUMP = "jump";

/** Milliseconds in view after which a section asks. Those before it may still grow. */
const PAUSE = 400;

/** A section whose content is asked for when it comes into view. Who leaves the page ends the request. */
export function lazyCard(title: string, load: (signal: AbortSignal) => Promise<(Node | string | null)[]>): HTMLElement {
  const box = h("div", { class: "list" }, h("p", { class: "loading" }, "Loading…"));
  const section = card(title, box);
  const leaving = new AbortController();
  let timer = 0;
  const start = (): void => {
    clearTimeout(timer);
    watcher.disconnect();
    section.removeEventListener(JUMP, start);
    load(leaving.signal).then(
      (parts) => fill(box, ...parts),
      (error: unknown) => fill(box, failure(error)),
    );
  };
  const watcher = new IntersectionObserver((entries) => {
    clearTimeout(timer);
    if (entries.at(-1)?.isIntersecting) timer = window.setTimeout(start, PAUSE);
  });
  watcher.observe(section);
  section.addEventListener(JUMP, start);
  addEventListener(
    "hashchange",
    () => {
      clearTimeout(timer);
      watcher.disconnect();
      leaving.abort();
    },
    { once: true },
  );
  return section;
}

/** A button that leads to a section of the page. */
export function jump(section: HTMLElement, text: string): HTMLElement {
  const onclick = (): void => {
    section.scrollIntoView();
    section.dispatchEvent(new Event(JUMP));
  };
  return h("button", { type: "button", class: "button", onclick }, text);
}

/** The head of a page: what it is, its name, and what can be done. */
export function heading(kind: string, name: string, isCode: boolean, ...actions: (Node | null)[]): HTMLElement {
  const title = h("h1", isCode ? { class: "mono" } : {}, name);
  return h(
    "header",
    { class: "heading" },
    h("p", { class: "kind" }, kind),
    h("div", { class: "name" }, title, isCode ? copy(name, kind.toLowerCase()) : null),
    h("div", { class: "actions" }, ...actions),
  );
}

/** A button with an icon and a text. The key stays the same when its text changes. */
export const action = (
  path: string,
  text: string,
  onclick: () => void,
  properties: Record<string, unknown> = {},
): HTMLElement =>
  h("button", { type: "button", class: "button", "data-key": path, onclick, ...properties }, icon(path), text);
