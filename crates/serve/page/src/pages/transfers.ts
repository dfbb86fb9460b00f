// A table of transfers that grows by pages.

import { ask, besidesRows, type Parameters } from "../base/api.ts";
import { upTo } from "../base/blocks.ts";
import { announce, fill, h } from "../base/dom.ts";
import { plural, second } from "../base/format.ts";
import type { Label, Tokens, Transfer, TransfersAnswer } from "../base/types.ts";
import { addressLink, amount, blockLink, type Column, failure, foot, table, transactionLink } from "../base/widgets.ts";

/** Transfers that one request asks for. */
const PAGE = 50;

/** Requests for one page if transfers are chosen here, and none of them is. */
const PAGES = 10;

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

export interface ListOptions {
  columns?: (tokens: Tokens, labels: Labels) => Column<Transfer>[];
  /** Chooses transfers where the server cannot. */
  keep?: (transfer: Transfer) => boolean;
  /** The first block that the node has. */
  first?: number;
}

/** Transfers that a query finds, with a button for more. */
export function transferList(
  caption: string,
  query: Parameters,
  about: string | null,
  { columns = (tokens, labels) => transferColumns(tokens, labels, about), keep = () => true, first }: ListOptions = {},
): HTMLElement {
  const box = h("div", { class: "list" }, h("p", { class: "loading" }, "Loading…"));
  const rows: Transfer[] = [];
  const tokens: Tokens = {};
  const labels: Labels = {};
  let offset = 0;
  let known: TransfersAnswer | null = null;
  /** The blocks of the first answer: new ones would shift the pages. */
  let blocks = typeof query.blocks === "string" ? query.blocks : "";

  const next = async (): Promise<TransfersAnswer> => {
    const asked = { ...query, blocks, order: "newest", limit: PAGE, offset };
    const answer = await ask<TransfersAnswer>("transfers", asked);
    if (known === null && answer.as_of !== null) blocks = upTo(blocks, answer.as_of, first);
    known = answer;
    offset += answer.transfers.length;
    rows.push(...answer.transfers.filter(keep));
    Object.assign(tokens, answer.tokens);
    Object.assign(labels, answer.labels);
    return answer;
  };
  const show = (answer: TransfersAnswer, error: unknown = null): void => {
    // The list says that itself.
    const incomplete = besidesRows(answer);
    const button = h("button", { type: "button", class: "more" }, "Show more");
    button.addEventListener("click", () => {
      button.disabled = true;
      void more();
    });
    fill(
      box,
      table(caption, columns(tokens, labels), rows),
      error === null ? null : failure(error),
      answer.more ? button : null,
      ...foot({ ...answer, incomplete }),
    );
  };
  const more = async (): Promise<void> => {
    try {
      const before = rows.length;
      let answer = await next();
      for (let page = 1; page < PAGES && rows.length === before && answer.more; page += 1) answer = await next();
      show(answer);
      announce(`${plural(rows.length, "transfer")} shown`);
    } catch (error) {
      // What is shown stays.
      if (known === null) fill(box, failure(error));
      else show(known, error);
    }
  };
  void more();
  return box;
}
