// A table of transfers that grows by pages.

import { ask, type Parameters } from "../base/api.ts";
import { announce, fill, h } from "../base/dom.ts";
import { plural, second } from "../base/format.ts";
import type { Tokens, Transfer, TransfersAnswer } from "../base/types.ts";
import { addressLink, amount, blockLink, type Column, failure, foot, table, transactionLink } from "../base/widgets.ts";

/** Transfers that one request asks for. */
const PAGE = 50;

/** The columns of a table of transfers. `about` is the address that the page is about. */
export function transferColumns(tokens: Tokens, about: string | null, withTransaction = true): Column<Transfer>[] {
  const party = (address: string): HTMLElement =>
    address === about ? h("span", { class: "self" }, "this address") : addressLink(address);
  const columns: Column<Transfer>[] = [
    { name: "From", cell: ({ from }) => party(from) },
    { name: "To", cell: ({ to }) => party(to) },
    { name: "Amount", cell: ({ token, amount: value, kind, id }) => amount(tokens, token, value, kind, id), isNumber: true },
    { name: "Kind", cell: ({ kind }) => kind },
  ];
  if (!withTransaction) return columns;
  return [
    { name: "Time (UTC)", cell: ({ time }) => second(time) },
    { name: "Block", cell: ({ block }) => blockLink(block) },
    { name: "Transaction", cell: ({ transaction }) => transactionLink(transaction) },
    ...columns,
  ];
}

/** Transfers that a question finds, with a button for more. */
export function transferList(caption: string, question: Parameters, about: string | null): HTMLElement {
  const box = h("div", { class: "list" }, h("p", { class: "loading" }, "Loading…"));
  const rows: Transfer[] = [];
  const tokens: Tokens = {};
  const more = async (): Promise<void> => {
    try {
      const answer = await ask<TransfersAnswer>("transfers", { ...question, limit: PAGE, offset: rows.length });
      rows.push(...answer.transfers);
      Object.assign(tokens, answer.tokens);
      const button = h("button", { type: "button", class: "more", onclick: () => void more() }, "Show more");
      fill(box, table(caption, transferColumns(tokens, about), rows), answer.more ? button : null, ...foot(answer));
      announce(`${plural(rows.length, "transfer")} shown`);
    } catch (error) {
      fill(box, failure(error));
    }
  };
  void more();
  return box;
}
