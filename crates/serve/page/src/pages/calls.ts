// The calls of a transaction.

import { h } from "../base/dom.ts";
import { count, integer, plain } from "../base/format.ts";
import { NATIVE } from "../base/tokens.ts";
import type { Call, Tokens } from "../base/types.ts";
import { addressLink, amount } from "../base/widgets.ts";
import type { Labels } from "./transfers.ts";

/** Calls that one tree shows. */
const CALLS_MAX = 2_000;

/** An input that begins with the selector of a function. */
const isSelector = /^0x[0-9a-f]{8}/;

/** A tree of calls as nested lists. Those that hang deep are closed at first. */
export function callTree(root: Call, tokens: Tokens, labels: Labels): HTMLElement {
  let left = CALLS_MAX;
  const line = (call: Call): HTMLElement => {
    const value = integer(call.value);
    const name = call.method ?? (isSelector.test(call.input ?? "") ? (call.input ?? "").slice(0, 10) : "");
    return h(
      "span",
      { class: call.error ? "call failed" : "call" },
      h("span", { class: "type" }, call.type.toLowerCase()),
      addressLink(call.to ?? null, labels[call.to ?? ""]),
      name !== "" && h("code", { title: plain(name, 2_000) }, plain(name, 60)),
      value > 0n && amount(tokens, NATIVE, value.toString()),
      call.gasUsed && h("span", { class: "muted" }, `${count(Number(integer(call.gasUsed)))} gas`),
      call.error && h("span", { class: "bad" }, plain(call.revertReason ?? call.error, 120)),
    );
  };
  const branch = (call: Call, depth: number): HTMLElement => {
    left -= 1;
    const inner = call.calls ?? [];
    if (inner.length === 0 || left <= 0) return h("li", { class: "end" }, line(call));
    const children: HTMLElement[] = [];
    for (const child of inner) {
      if (left <= 0) {
        children.push(h("li", { class: "muted" }, "More calls are not shown."));
        break;
      }
      children.push(branch(child, depth + 1));
    }
    const list = h("ul", { hidden: depth >= 4 }, ...children);
    const toggle = h("button", {
      type: "button",
      class: "toggle",
      "aria-label": "Inner calls",
      "aria-expanded": String(!list.hidden),
      onclick: () => {
        list.hidden = !list.hidden;
        toggle.setAttribute("aria-expanded", String(!list.hidden));
      },
    });
    return h("li", {}, toggle, line(call), list);
  };
  return h("ul", { class: "calls" }, branch(root, 0));
}
