// The page of an address.

import { ask } from "../base/api.ts";
import { h, icon, ICONS } from "../base/dom.ts";
import { count } from "../base/format.ts";
import { graphPath, tokenPath } from "../base/route.ts";
import { NATIVE } from "../base/tokens.ts";
import type { AddressAnswer, Contract, Info, Tokens } from "../base/types.ts";
import { hasDrawing } from "../graph/start.ts";
import {
  addressLink,
  amount,
  card,
  chip,
  facts,
  foot,
  heading,
  jump,
  table,
  tokenLink,
  transactionLink,
  when,
} from "../base/widgets.ts";
import { approvalsCard } from "./approvals.ts";
import { statementCard } from "./statement.ts";
import { transferList } from "./transfers.ts";

export const coinOf = (info: Info): Tokens => ({
  [NATIVE]: { address: NATIVE, symbol: info.coin.symbol, decimals: info.coin.decimals, name: null },
});

/** Links to addresses, with words between them. */
const list = (links: HTMLElement[], word: string): HTMLElement =>
  h("span", {}, ...links.flatMap((link, at) => (at === 0 ? [link] : [word, link])));

/** What a contract is. */
function contractFacts(contract: Contract | null): [string, Node | null][] {
  if (contract === null) return [];
  const { implementation, token, pool, owner, signers, total_supply: supply, threshold } = contract;
  const named = token === null ? pool : [token, ...pool];
  const tokens: Tokens = Object.fromEntries(named.map((it) => [it.address ?? NATIVE, it]));
  const id = token?.address ?? NATIVE;
  return [
    ["Proxy of", implementation === null ? null : addressLink(implementation)],
    [
      "Token",
      token === null || supply === null
        ? null
        : h("span", {}, token.name === null ? "" : `${token.name} · `, "supply ", amount(tokens, id, supply)),
    ],
    [
      "Pool of",
      pool.length === 0
        ? null
        : list(
            pool.map((it) => tokenLink(tokens, it.address ?? NATIVE)),
            " and ",
          ),
    ],
    ["Owner", owner === null ? null : addressLink(owner)],
    [
      "Signers",
      signers.length === 0
        ? null
        : h(
            "span",
            {},
            `${threshold} of `,
            list(
              signers.map((it) => addressLink(it)),
              ", ",
            ),
          ),
    ],
  ];
}

export async function addressPage(address: string, info: Info): Promise<HTMLElement> {
  // The number of transfers and the list below count the same.
  const internal = info.has_internal && info.index_has_internal;
  const answer = await ask<AddressAnswer>("address", { address, internal });
  const { balances, creator, label, balance } = answer;
  const tokens: Tokens = {
    ...coinOf(info),
    ...Object.fromEntries(balances.map(({ token }) => [token.address ?? NATIVE, token])),
  };
  const isToken = answer.contract?.token != null || balances.some(({ token }) => token.address === address);
  const graph = h("a", { href: graphPath(address), class: "button primary" }, icon(ICONS.graph), "Graph");
  const holdings = table(
    "Balances",
    [
      { name: "Token", cell: ({ token }: AddressAnswer["balances"][number]) => addressLink(token.address) },
      {
        name: "Amount",
        cell: ({ token, amount: value }) =>
          value === null ? "unknown" : amount(tokens, token.address ?? NATIVE, value),
        isNumber: true,
      },
    ],
    balances,
  );
  const approvals = approvalsCard(address, info);
  const statement = statementCard(address, info);
  return h(
    "main",
    { id: "main", class: "page" },
    heading(
      answer.is_contract ? "Contract" : "Address",
      address,
      true,
      label ? chip(label) : null,
      graph,
      hasDrawing() ? h("a", { href: `${graphPath(address)}?add=1`, class: "button" }, "Add to the drawing") : null,
      answer.is_contract
        ? h("a", { href: tokenPath(address), class: "button" }, isToken ? "Token" : "As a token")
        : null,
      jump(approvals, "Approvals"),
      jump(statement, "Statement"),
    ),
    h(
      "div",
      { class: "columns" },
      card(
        "Account",
        facts([
          ["Balance", balance === null ? null : amount(tokens, NATIVE, balance)],
          ["Transfers", answer.transfers === null ? null : count(answer.transfers)],
          ["First", answer.first === null ? null : when(answer.first)],
          ["Last", answer.last === null ? null : when(answer.last)],
          ["Nonce", answer.nonce],
          [
            "Created by",
            creator === null
              ? null
              : h("span", {}, addressLink(creator.address), " in ", transactionLink(creator.transaction)),
          ],
          ...contractFacts(answer.contract),
        ]),
        ...foot(answer),
      ),
      card("Balances", holdings),
    ),
    card(
      "Transfers",
      transferList("Transfers of the address", { address, internal }, address, { first: info.blocks[0] }),
    ),
    approvals,
    statement,
  );
}
