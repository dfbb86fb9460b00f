// A table of transfers that grows by pages.

import { ask, besidesRows, type Parameters } from "../base/api.ts";
import { announce, fill, h } from "../base/dom.ts";
import { plural, second } from "../base/format.ts";
import type { Label, Tokens, Transfer, TransfersAnswer } from "../base/types.ts";
import { addressLink, amount, blockLink, type Column, failure, foot, table, transactionLink } from "../base/widgets.ts";

/** Transfers that one request asks for. */
const PAGE = 50;

export type Labels = Record<string, Label>;

/** The columns of a table of transfers. `about` is the address that the page is about. */
export function transferColumns(
  tokens: Tokens,
  labels: Labels,
  about: string | null,
  withTransaction = true,
): Column<Transfer>[] {
  const party = (address: string): HTMLElement =>
    address === about ? h("span", { class: "self" }, "this address") : addressLink(address, labels[address]);
  const columns: Column<Transfer>[] = [
    { name: "From", cell: ({ from }) => party(from) },
    { name: "To", cell: ({ to }) => party(to) },
    {
      name: "Amount",
      cell: ({ token, amount: value, standard, id }) => amount(tokens, token, value, standard, id),
      isNumber: true,
    },
    { name: "Kind", cell: ({ kind, standard }) => `${standard} ${kind === standard ? "" : kind}`.trim() },
  ];
  if (!withTransaction) return columns;
  return [
    { name: "Time (UTC)", cell: ({ time }) => second(time) },
    { name: "Block", cell: ({ block }) => blockLink(block) },
    { name: "Transaction", cell: ({ transaction }) => transactionLink(transaction) },
    ...columns,
  ];
}

/** The columns where both addresses and the token are known. */
export function shortColumns(tokens: Tokens): Column<Transfer>[] {
  return [
    { name: "Time (UTC)", cell: ({ time, block }) => (time === null ? blockLink(block) : second(time)) },
    {
      name: "Amount",
      cell: ({ token, amount: value, standard, id }) => amount(tokens, token, value, standard, id),
      isNumber: true,
    },
    { name: "Transaction", cell: ({ transaction }) => transactionLink(transaction) },
  ];
}

/** Transfers that a query finds, with a button for more. */
export function transferList(
  caption: string,
  query: Parameters,
  about: string | null,
  columns = (tokens: Tokens, labels: Labels) => transferColumns(tokens, labels, about),
): HTMLElement {
  const box = h("div", { class: "list" }, h("p", { class: "loading" }, "Loading…"));
  const rows: Transfer[] = [];
  const tokens: Tokens = {};
  const labels: Labels = {};
  const more = async (): Promise<void> => {
    try {
      const answer = await ask<TransfersAnswer>("transfers", {
        ...query,
        order: "newest",
        limit: PAGE,
        offset: rows.length,
      });
      rows.push(...answer.transfers);
      Object.assign(tokens, answer.tokens);
      Object.assign(labels, answer.labels);
      // The list says that itself.
      const incomplete = besidesRows(answer);
      const button = h("button", { type: "button", class: "more", onclick: () => void more() }, "Show more");
      fill(
        box,
        table(caption, columns(tokens, labels), rows),
        answer.more ? button : null,
        ...foot({ ...answer, incomplete }),
      );
      announce(`${plural(rows.length, "transfer")} shown`);
    } catch (error) {
      fill(box, failure(error));
    }
  };
  void more();
  return box;
}
