// The open approvals of an address.

import type { Approval, ApprovalsAnswer } from "../base/account.ts";
import { ask } from "../base/api.ts";
import { announce, fill, h } from "../base/dom.ts";
import { count, minute, plain, plural, second } from "../base/format.ts";
import type { Info } from "../base/types.ts";
import {
  addressLink,
  amount,
  blockLink,
  type Column,
  failure,
  foot,
  lazyCard,
  table,
  tokenLink,
  transactionLink,
} from "../base/widgets.ts";

/** How much a spender may take. */
function allowed(answer: ApprovalsAnswer, row: Approval): Node | string {
  const { kind, token_address: token, token_id: id, unlimited, amount: value, expires_timestamp: expires } = row;
  if (kind === "item") return `item #${plain(id ?? "", 14)}`;
  if (kind === "operator") return h("strong", {}, "all items");
  if (unlimited) return h("strong", {}, "unlimited");
  if (value === null) return h("span", { class: "muted" }, "unknown");
  const left = amount(answer.tokens, token, value);
  return expires === null ? left : h("span", {}, left, ` until ${minute(expires)}`);
}

function columns(answer: ApprovalsAnswer, isSpender: boolean): Column<Approval>[] {
  const { labels, tokens } = answer;
  const party = (address: string): HTMLElement => addressLink(address, labels[address]);
  return [
    isSpender
      ? { name: "Owner", cell: ({ owner }) => party(owner) }
      : { name: "Spender", cell: ({ spender }) => party(spender) },
    { name: "Token", cell: ({ token_address }) => tokenLink(tokens, token_address) },
    { name: "May take", cell: (row) => allowed(answer, row), isNumber: true },
    {
      name: "At risk",
      cell: ({ at_risk, token_address, kind }) => {
        if (at_risk === null) return "unknown";
        if (kind === "item" || kind === "operator") return count(Number(at_risk));
        return amount(tokens, token_address, at_risk);
      },
      isNumber: true,
    },
    { name: "Kind", cell: ({ kind }) => kind },
    { name: "Since (UTC)", cell: ({ last_timestamp }) => second(last_timestamp) },
    { name: "Block", cell: ({ last_block }) => blockLink(last_block) },
    { name: "Transaction", cell: ({ transaction_hash }) => transactionLink(transaction_hash) },
  ];
}

function shown(answer: ApprovalsAnswer, isSpender: boolean): (Node | null)[] {
  const { approvals, block } = answer;
  const what = isSpender ? "Who lets this address take tokens" : "Who may take tokens of this address";
  const number = approvals.length === 0 ? "No approval is" : plural(approvals.length, "approval is", "approvals are");
  const text = `${number} open at the end of block ${count(block)}.`;
  announce(text);
  return [
    h("p", { class: "muted" }, text),
    approvals.length === 0 ? null : table(what, columns(answer, isSpender), approvals),
    ...foot(answer),
  ];
}

/** The approvals that an address gave, and those that others gave to it. */
export function approvalsCard(address: string, info: Info): HTMLElement {
  // Of the blocks that the node has. The answer says what it lacks.
  const [first = 0] = info.blocks;
  const blocks = first > 0 ? `${first}:` : "";
  const load = async (isSpender: boolean, signal: AbortSignal): Promise<(Node | null)[]> =>
    shown(await ask<ApprovalsAnswer>("approvals", { address, as_spender: isSpender, blocks }, signal), isSpender);
  return lazyCard("Approvals", async (signal) => {
    const box = h("div", { class: "list" }, ...(await load(false, signal)));
    const choices = ["Given by this address", "Given to this address"].map((text, at) =>
      h(
        "button",
        { type: "button", class: "button", "aria-pressed": String(at === 0), onclick: () => choose(at) },
        text,
      ),
    );
    let chosen = 0;
    const choose = (at: number): void => {
      chosen = at;
      choices.forEach((choice, index) => choice.setAttribute("aria-pressed", String(index === at)));
      fill(box, h("p", { class: "loading" }, "Loading…"));
      const show = (...parts: (Node | null)[]): void => void (at === chosen && fill(box, ...parts));
      load(at === 1, signal).then(
        (parts) => show(...parts),
        (error: unknown) => show(failure(error)),
      );
    };
    return [
      h("p", { class: "muted" }, "A spender with an approval can take tokens without a signature of the owner."),
      h("div", { class: "actions" }, ...choices),
      box,
    ];
  });
}
