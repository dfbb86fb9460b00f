// Patterns in all transfers of some blocks.

import { ask } from "../base/api.ts";
import { blocksOf, ends } from "../base/blocks.ts";
import { announce, fill, h } from "../base/dom.ts";
import { labeled, textField } from "../base/forms.ts";
import { count, plain, plural } from "../base/format.ts";
import { patternsPath } from "../base/route.ts";
import { NATIVE } from "../base/tokens.ts";
import type { Address, Answer, Info, Label, Tokens } from "../base/types.ts";
import { addressLink, amount, blockLink, card, failure, foot, heading, table } from "../base/widgets.ts";

/** Blocks that are looked through unless the user names others. */
const BLOCKS = 2_000;

/** Findings of each pattern that the server lists by default, and at most. */
const [ROWS, ROWS_MAX] = [10, 1_000];

/** Transfers that fit the rule of a pattern. */
interface Finding {
  pattern: string;
  number: number;
  address: Address;
  other_address: Address | null;
  token_address: Address | null;
  token_standard: string;
  amount: string;
  addresses: number;
  first_block: number;
  last_block: number;
  note: string;
}

interface PatternsAnswer extends Answer {
  result: { rules: { pattern: string; found: number; rule: string }[]; findings: Finding[] };
  labels: Record<Address, Label>;
  tokens: Tokens;
}

function findings(answer: PatternsAnswer, pattern: string): HTMLElement {
  const { labels, tokens } = answer;
  const party = (address: string | null): HTMLElement | null =>
    address === null ? null : addressLink(address, labels[address]);
  return table(
    `Findings of ${pattern}`,
    [
      { name: "Address", cell: ({ address }: Finding) => party(address) },
      { name: "Other address", cell: ({ other_address }) => party(other_address) },
      {
        name: "Amount",
        cell: ({ amount: value, token_address: token, token_standard: standard }) =>
          amount(tokens, token ?? NATIVE, value, standard),
        isNumber: true,
      },
      { name: "Addresses", cell: ({ addresses }) => count(addresses), isNumber: true },
      { name: "First block", cell: ({ first_block }) => blockLink(first_block) },
      { name: "Last block", cell: ({ last_block }) => blockLink(last_block) },
      { name: "Note", cell: ({ note }) => plain(note, 300), isLong: true },
    ],
    listed(answer, pattern),
  );
}

const listed = ({ result }: PatternsAnswer, pattern: string): Finding[] =>
  result.findings.filter((finding) => finding.pattern === pattern);

function shown(answer: PatternsAnswer, more: (() => void) | null): (Node | null)[] {
  const { rules } = answer.result;
  const all = rules.reduce((sum, { found }) => sum + found, 0);
  announce(plural(all, "finding"));
  const cards = rules
    .filter(({ found }) => found > 0)
    .map(({ pattern, found, rule }) =>
      card(
        `${plain(pattern)}: ${plural(found, "finding")}`,
        h("p", { class: "muted" }, plain(rule, 1_000)),
        findings(answer, pattern),
        ...rest(listed(answer, pattern).length, found, more),
      ),
    );
  return [all === 0 ? h("p", { class: "empty" }, "No transfers fit a pattern.") : null, ...cards, ...foot(answer)];
}

/** How many findings a table has, and a button for more. */
function rest(rows: number, found: number, more: (() => void) | null): (Node | null)[] {
  if (rows >= found) return [];
  const button = h("button", { type: "button", class: "more", onclick: more }, "Show more");
  return [h("p", { class: "muted" }, `${count(rows)} of ${count(found)}`), more === null ? null : button];
}

export async function patternsPage(blocks: string, info: Info, go: (path: string) => void): Promise<HTMLElement> {
  const first = Math.max(info.tip.number + 1 - BLOCKS, 0);
  const asked = blocks === "" ? `${first}:${info.tip.number + 1}` : blocks;
  const [from, until] = ends(asked);
  const field = (id: string, value: string): HTMLInputElement => textField(id, "block or date", { size: 11, value });
  const [begin, end] = [field("patterns-from", from), field("patterns-until", until)];
  const box = h("div", { class: "list" });
  const trouble = h("div");
  const list = (limit: number): void => {
    fill(box, h("p", { class: "loading" }, "Loading…"));
    const more = limit >= ROWS_MAX ? null : (): void => list(Math.min(10 * limit, ROWS_MAX));
    const parameters = limit === ROWS ? {} : { limit };
    ask<PatternsAnswer>("patterns", { blocks: asked, ...parameters }).then(
      (answer) => fill(box, ...shown(answer, more)),
      (error: unknown) => fill(box, failure(error)),
    );
  };
  list(ROWS);
  const find = (): void => {
    try {
      const isSame = begin.value === from && end.value === until;
      // Without an end: all blocks.
      go(patternsPath(isSame ? asked : blocksOf(begin.value, end.value) || ":"));
      fill(trouble);
    } catch (error) {
      fill(trouble, failure(error));
    }
  };
  return h(
    "main",
    { id: "main", class: "page" },
    heading("Blocks", "Patterns", false),
    card(
      "Look through all transfers",
      h(
        "p",
        { class: "muted" },
        "A finding says that transfers fit a rule, and nothing about intent: payouts of an exchange are an airdrop, too.",
      ),
      h(
        "form",
        {
          class: "statement",
          "aria-label": "Blocks",
          onsubmit: (event: Event) => {
            event.preventDefault();
            find();
          },
        },
        labeled("From", begin),
        labeled("Before", end),
        h("button", { type: "submit", class: "button primary" }, "Find"),
      ),
      trouble,
    ),
    box,
  );
}
