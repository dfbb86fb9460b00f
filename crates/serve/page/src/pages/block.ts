// The page of a block.

import { ask } from "../base/api.ts";
import { h } from "../base/dom.ts";
import { count, integer, second } from "../base/format.ts";
import { blockPath } from "../base/route.ts";
import { NATIVE } from "../base/tokens.ts";
import type { BlockAnswer, Info } from "../base/types.ts";
import { addressLink, amount, card, facts, foot, heading, table, transactionLink } from "../base/widgets.ts";
import { coinOf } from "./address.ts";
import { status } from "./transaction.ts";

export async function blockPage(block: string, info: Info): Promise<HTMLElement> {
  const answer = await ask<BlockAnswer>("block", { block });
  const { number, transactions, withdrawals = [] } = answer;
  const tokens = coinOf(info);
  const step = (to: number, text: string): HTMLElement | null =>
    to < 0 || to > info.tip.number ? null : h("a", { href: blockPath(to), class: "button" }, text);
  const used = Number(integer(answer.gas_used));
  const limit = Number(integer(answer.gas_limit));
  type Row = BlockAnswer["transactions"][number];
  type Withdrawal = BlockAnswer["withdrawals"][number];
  return h(
    "main",
    { id: "main", class: "page" },
    heading("Block", count(number), false, step(number - 1, "← Earlier"), step(number + 1, "Later →")),
    card(
      "Block",
      facts([
        ["Time (UTC)", second(answer.time)],
        ["Hash", h("code", { class: "wrap" }, answer.hash)],
        ["Parent", h("a", { href: blockPath(answer.parent), class: "mono wrap" }, answer.parent)],
        ["Fee recipient", addressLink(answer.miner)],
        ["Gas used", `${count(used)} of ${count(limit)}${limit > 0 ? ` (${Math.round((100 * used) / limit)} %)` : ""}`],
        ["Base fee", answer.base_fee === null ? null : `${count(Number(integer(answer.base_fee)))} wei`],
        ["Transactions", count(transactions.length)],
      ]),
      ...foot(answer),
    ),
    card(
      "Transactions",
      table(
        "Transactions",
        [
          { name: "No.", cell: (row: Row) => String(transactions.indexOf(row)), isNumber: true },
          { name: "Transaction", cell: ({ hash }) => transactionLink(hash) },
          { name: "From", cell: ({ from }) => addressLink(from) },
          { name: "To", cell: ({ to }) => (to === null ? "a new contract" : addressLink(to)) },
          { name: "Value", cell: ({ value }) => amount(tokens, NATIVE, value), isNumber: true },
          { name: "Result", cell: (row) => status(row.status) },
        ],
        transactions,
      ),
    ),
    withdrawals.length > 0 &&
      card(
        "Withdrawals of validators",
        table(
          "Withdrawals of validators",
          [
            { name: "Index", cell: (row: Withdrawal) => String(row.index), isNumber: true },
            { name: "Validator", cell: ({ validator }) => String(validator), isNumber: true },
            { name: "To", cell: ({ to }) => addressLink(to) },
            { name: "Value", cell: ({ value }) => amount(tokens, NATIVE, value), isNumber: true },
          ],
          withdrawals,
        ),
      ),
  );
}
