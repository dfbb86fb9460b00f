// The page of a transaction: movements, calls, logs, changes of state.

import { ask } from "../base/api.ts";
import { h, icon, ICONS } from "../base/dom.ts";
import { count, exact, integer, plain, second, short } from "../base/format.ts";
import { NATIVE } from "../base/tokens.ts";
import type { Call, Info, LogRow, StateChange, Swap, Tokens, TransactionAnswer } from "../base/types.ts";
import { addressLink, amount, blockLink, card, facts, foot, heading, table } from "../base/widgets.ts";
import { coinOf } from "./address.ts";
import { type Labels, transferColumns } from "./transfers.ts";

/** Calls that one tree shows. */
const CALLS_MAX = 2_000;

export function status(value: number | boolean | null): HTMLElement {
  if (value === null) return h("span", { class: "muted" }, "unknown");
  const isGood = value === true || value === 1;
  return h("span", { class: isGood ? "good" : "bad" }, isGood ? "succeeded" : "failed");
}

/** A tree of calls as nested lists. Those that hang deep are closed at first. */
function callTree(root: Call, tokens: Tokens): HTMLElement {
  let left = CALLS_MAX;
  const line = (call: Call): HTMLElement => {
    const value = integer(call.value);
    const name = call.method
      ? plain(call.method, 60)
      : (call.input?.length ?? 0) >= 10
        ? (call.input?.slice(0, 10) ?? "")
        : "";
    return h(
      "span",
      { class: call.error ? "call failed" : "call" },
      h("span", { class: "type" }, call.type.toLowerCase()),
      addressLink(call.to ?? null),
      name !== "" && h("code", {}, name),
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

function logTable(logs: LogRow[]): HTMLElement {
  const event = (log: LogRow): HTMLElement =>
    log.event === null
      ? h("code", {}, log.topics[0] === undefined ? "anonymous" : short(log.topics[0], 8))
      : h("code", {}, plain(log.event, 300));
  return table(
    "Logs",
    [
      { name: "No.", cell: ({ index }: LogRow) => String(index), isNumber: true },
      { name: "Contract", cell: ({ address }) => addressLink(address) },
      { name: "Event", cell: event },
      { name: "Data", cell: ({ data }) => h("code", { title: data.slice(0, 2_000) }, short(data, 8)) },
    ],
    logs,
  );
}

function stateTable(changes: StateChange[], decimals: number): HTMLElement {
  type Row = { address: string; what: string; before: string; after: string };
  const rows = changes.flatMap(({ address, balance, nonce, slots }): Row[] => {
    const all: Row[] = [];
    if (balance)
      all.push({ address, what: "balance", before: exact(balance[0], decimals), after: exact(balance[1], decimals) });
    if (nonce) all.push({ address, what: "nonce", before: String(nonce[0]), after: String(nonce[1]) });
    return [
      ...all,
      ...slots.map(({ slot, before, after }) => ({
        address,
        what: `slot ${short(slot, 8)}`,
        before: short(before, 10),
        after: short(after, 10),
      })),
    ];
  });
  return table(
    "Changes of state",
    [
      { name: "Account", cell: ({ address }: Row) => addressLink(address) },
      { name: "Part", cell: ({ what }) => what },
      { name: "Before", cell: ({ before }) => h("code", {}, before), isNumber: true },
      { name: "After", cell: ({ after }) => h("code", {}, after), isNumber: true },
    ],
    rows,
  );
}

export async function transactionPage(hash: string, info: Info): Promise<HTMLElement> {
  const answer = await ask<TransactionAnswer>("transaction", { hash });
  const tokens: Tokens = { ...coinOf(info), ...answer.tokens };
  const labels = answer.labels ?? {};
  const gas = answer.gas_used === null ? null : count(Number(answer.gas_used));
  const graph = h("a", { href: `#/graph/tx/${hash}`, class: "button primary" }, icon(ICONS.graph), "Graph");
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
          ["Method", answer.method === null ? null : h("code", {}, plain(answer.method, 120))],
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
    answer.calls === null ? null : card("Calls", callTree(answer.calls, tokens)),
    card("Logs", logTable(answer.logs)),
    answer.state === null ? null : card("Changes of state", stateTable(answer.state, info.coin.decimals)),
  );
}
