// The page of a transaction: movements, calls, logs, changes of state.

import { ask } from "../base/api.ts";
import { h, icon, ICONS } from "../base/dom.ts";
import { count, exact, integer, plain, plural, second, short } from "../base/format.ts";
import { transactionGraphPath } from "../base/route.ts";
import { NATIVE } from "../base/tokens.ts";
import type { Info, LogRow, StateChange, Swap, Tokens, TransactionAnswer } from "../base/types.ts";
import { addressLink, amount, blockLink, card, copy, facts, foot, heading, table } from "../base/widgets.ts";
import { coinOf } from "./address.ts";
import { callTree } from "./calls.ts";
import { type Labels, transferColumns } from "./transfers.ts";

export function status(value: number | boolean | null): HTMLElement {
  if (value === null) return h("span", { class: "muted" }, "unknown");
  const isGood = value === true || value === 1;
  return h("span", { class: isGood ? "good" : "bad" }, isGood ? "succeeded" : "failed");
}

/** Who gave what for what, and those of whom the transfers do not say it. */
function swapTable({ swaps, unresolved }: TransactionAnswer, tokens: Tokens, labels: Labels): HTMLElement[] {
  const party = (address: string): HTMLElement => addressLink(address, labels[address]);
  const rows = table(
    "Swaps",
    [
      { name: "Who", cell: ({ address }: Swap) => party(address) },
      { name: "Gave", cell: ({ given_token, given }) => amount(tokens, given_token, given), isNumber: true },
      { name: "For", cell: ({ got_token, got }) => amount(tokens, got_token, got), isNumber: true },
      { name: "Paid to", cell: ({ address, to }) => (to === address ? "the same" : party(to)) },
    ],
    swaps,
  );
  if (unresolved.length === 0) return [rows];
  const traders = unresolved.flatMap((address, at) => [at === 0 ? "" : ", ", party(address)]);
  const unclear = h("p", { class: "muted" }, "The transfers do not say what these gave for what: ", ...traders);
  return swaps.length === 0 ? [unclear] : [rows, unclear];
}

function logTable(logs: LogRow[], labels: Labels): HTMLElement {
  const event = ({ event, topics }: LogRow): HTMLElement => {
    if (event !== null) return h("code", {}, plain(event, 2_000));
    const lines = topics.map((topic) => h("code", { class: "line", title: topic }, short(topic, 8)));
    return h("span", {}, ...(topics.length === 0 ? ["anonymous"] : lines));
  };
  return table(
    "Logs",
    [
      { name: "No.", cell: ({ index }: LogRow) => String(index), isNumber: true },
      { name: "Contract", cell: ({ address }) => addressLink(address, labels[address]) },
      { name: "Event", cell: event, isLong: true },
      { name: "Data", cell: ({ data }) => h("code", { title: data.slice(0, 2_000) }, short(data, 8)) },
    ],
    logs,
  );
}

/** A word of the storage without its leading zeros, so that small numbers are seen. */
const word = (hex: string): string => hex.replace(/^0x0+(?=.)/, "0x");

function stateTable(changes: StateChange[], decimals: number, labels: Labels): HTMLElement {
  type Row = { address: string; what: string; title?: string; before: string; after: string };
  const rows = changes.flatMap(({ address, balance, nonce, created, destroyed, slots }): Row[] => {
    const all: Row[] = [];
    if (created) all.push({ address, what: "account", before: "", after: "created" });
    if (balance)
      all.push({ address, what: "balance", before: exact(balance[0], decimals), after: exact(balance[1], decimals) });
    if (nonce) all.push({ address, what: "nonce", before: String(nonce[0]), after: String(nonce[1]) });
    for (const { slot, before, after } of slots)
      all.push({
        address,
        what: `slot ${short(word(slot), 8)}`,
        title: slot,
        before: word(before),
        after: word(after),
      });
    if (destroyed) all.push({ address, what: "account", before: "", after: "destroyed" });
    return all;
  });
  const code = (text: string): HTMLElement => h("code", { class: "wrap" }, text);
  return table(
    "Changes of state",
    [
      { name: "Account", cell: ({ address }: Row) => addressLink(address, labels[address]) },
      { name: "Part", cell: ({ what, title }) => h("span", { title }, what) },
      { name: "Before", cell: ({ before }) => code(before), isLong: true },
      { name: "After", cell: ({ after }) => code(after), isLong: true },
    ],
    rows,
  );
}

/** The size of the input, and a button that copies it. */
function inputFact(input: string): HTMLElement | null {
  const bytes = (input.length - 2) / 2;
  return bytes <= 0 ? null : h("span", {}, plural(bytes, "byte"), copy(input, "input"));
}

export async function transactionPage(hash: string, info: Info): Promise<HTMLElement> {
  const answer = await ask<TransactionAnswer>("transaction", { hash });
  const tokens: Tokens = { ...coinOf(info), ...answer.tokens };
  const labels = answer.labels ?? {};
  const gas = answer.gas_used === null ? null : count(Number(answer.gas_used));
  const graph = h("a", { href: transactionGraphPath(hash), class: "button primary" }, icon(ICONS.graph), "Graph");
  const price = answer.gas_price === null ? null : `${exact(integer(answer.gas_price), 9)} gwei`;
  return h(
    "main",
    { id: "main", class: "page" },
    heading("Transaction", hash, true, status(answer.status), graph),
    h(
      "div",
      { class: "columns" },
      card(
        "Transaction",
        facts([
          ["From", addressLink(answer.from, labels[answer.from])],
          ["To", answer.to === null ? "a new contract" : addressLink(answer.to, labels[answer.to])],
          ["Reason", answer.reason ? h("span", { class: "bad" }, plain(answer.reason, 200)) : null],
          ["Created", answer.created === null ? null : addressLink(answer.created)],
          ["Value", amount(tokens, NATIVE, answer.value)],
          ["Method", answer.method === null ? null : h("code", {}, plain(answer.method, 2_000))],
          ["Input", inputFact(answer.input)],
          ["Time (UTC)", second(answer.time)],
          [
            "Block",
            h("span", {}, blockLink(answer.block), h("span", { class: "muted" }, `, position ${answer.index}`)),
          ],
        ]),
      ),
      card(
        "Gas",
        facts([
          ["Gas used", gas],
          ["Price", price],
          ["Fee", answer.fee === null ? null : amount(tokens, NATIVE, answer.fee)],
        ]),
        ...foot(answer),
      ),
    ),
    card("Movements", table("Movements", transferColumns(tokens, labels, null, false), answer.transfers)),
    answer.swaps.length + answer.unresolved.length === 0 ? null : card("Swaps", ...swapTable(answer, tokens, labels)),
    answer.calls === null ? null : card("Calls", callTree(answer.calls, tokens, labels)),
    card("Logs", logTable(answer.logs, labels)),
    answer.state === null ? null : card("Changes of state", stateTable(answer.state, info.coin.decimals, labels)),
  );
}
