// The first page: the search, and what the server has.

import { ask } from "../base/api.ts";
import { caseInput, h, ICONS, put } from "../base/dom.ts";
import { count, minute, plural } from "../base/format.ts";
import { blockPath, patternsPath } from "../base/route.ts";
import { Search } from "../base/search.ts";
import type { BlockAnswer, Info } from "../base/types.ts";
import { action, facts, gaps } from "../base/widgets.ts";

/** Blocks that the first page lists. */
const BLOCKS = 5;

export const chainName = (info: Info): string => info.chain ?? `chain ${info.chain_id}`;

/** The newest blocks, as places to begin. */
function latest(info: Info): HTMLElement {
  const list = h("ul", { class: "latest", "aria-label": "Newest blocks" });
  const last = info.tip.number;
  const numbers = Array.from({ length: Math.min(BLOCKS, last + 1) }, (_, index) => last - index);
  const asked = numbers.map((number) => ask<BlockAnswer>("block", { block: number }).catch(() => null));
  void Promise.all(asked).then((blocks) => {
    for (const block of blocks) {
      if (block === null) continue;
      const { number, time, transactions } = block;
      put(
        list,
        h(
          "li",
          {},
          h(
            "a",
            { href: blockPath(number) },
            h("span", { class: "mono" }, count(number)),
            h("span", { class: "muted" }, plural(transactions.length, "transaction")),
            h("span", { class: "muted" }, minute(time)),
          ),
        ),
      );
    }
  });
  return list;
}

/** Begins with a case that was saved. */
function caseButton(open: (file: File) => void): HTMLElement {
  const input = caseInput(open);
  return h(
    "span",
    {},
    action(ICONS.open, "Open a saved case", () => input.click()),
    input,
  );
}

export function home(info: Info, go: (path: string) => void, open: (file: File) => void): HTMLElement {
  const search = new Search("start", "Address, hash, block, token, label", go);
  const has = (is: boolean, yes: string, no: string): string => (is ? yes : no);
  const [first, last] = info.blocks;
  return h(
    "main",
    { class: "home", id: "main" },
    h("h1", {}, "Follow tokens through ", h("span", { class: "nowrap" }, chainName(info))),
    h("p", { class: "lead" }, "From the files of your own node. Nothing that you look up reaches anyone else."),
    search.element,
    latest(info),
    h(
      "div",
      { class: "begin" },
      caseButton(open),
      h("a", { href: patternsPath(), class: "button" }, "Look for patterns"),
    ),
    facts([
      [
        "Blocks with receipts",
        first === undefined || last === undefined ? "none" : `${count(first)} to ${count(last)}`,
      ],
      ["Index of transfers", has(info.has_index, "yes", "no: large ranges are slow")],
      ["Coins inside transactions", has(info.has_internal, "yes", "no")],
      ["State", has(info.has_state, "yes", "no: no balances")],
    ]),
    gaps(info.incomplete),
  );
}
