// The page of a token: its holders and transfers.

import { ask, besidesRows } from "../base/api.ts";
import { h, icon, ICONS } from "../base/dom.ts";
import { count, integer, percent, plain, plural, short } from "../base/format.ts";
import { addressPath, graphPath, tokenGraphPath } from "../base/route.ts";
import { symbol } from "../base/tokens.ts";
import type { Info, TokenAnswer, Tokens } from "../base/types.ts";
import { addressLink, amount, card, copy, facts, foot, heading, table } from "../base/widgets.ts";
import { transferList } from "./transfers.ts";

export async function tokenPage(id: string, info: Info): Promise<HTMLElement> {
  const answer = await ask<TokenAnswer>("token", { token: id });
  const { token, holders, more } = answer;
  const tokens: Tokens = { [id]: token };
  const sum = holders.reduce((all, holder) => all + integer(holder.amount), 0n);
  const share = (value: string): string =>
    sum === 0n ? "" : percent(Number((integer(value) * 1_000_000n) / sum) / 10_000);
  type Row = TokenAnswer["holders"][number];
  const contract = h("span", {}, h("a", { href: addressPath(id), class: "mono wrap" }, id), copy(id, "address"));
  return h(
    "main",
    { id: "main", class: "page" },
    heading(
      "Token",
      symbol(tokens, id),
      false,
      h("a", { href: tokenGraphPath(id), class: "button primary" }, icon(ICONS.graph), "Graph"),
    ),
    h(
      "div",
      { class: "columns" },
      card(
        "Token",
        facts([
          ["Name", token.name === null ? null : plain(token.name, 80)],
          ["Contract", contract],
          ["Decimals", token.decimals],
          ["Transfers", answer.transfers === null ? null : count(answer.transfers)],
        ]),
        h("p", { class: "muted" }, "The name and the symbol come from the contract. Any contract can claim them."),
        ...foot({ ...answer, incomplete: besidesRows(answer) }),
      ),
      card(
        "Holders",
        table(
          "Holders",
          [
            { name: "Address", cell: ({ address, label }: Row) => addressLink(address, label) },
            { name: "Amount", cell: ({ amount: value }) => amount(tokens, id, value), isNumber: true },
            { name: more > 0 ? "Share of these" : "Share", cell: ({ amount: value }) => share(value), isNumber: true },
            {
              name: "Graph",
              cell: ({ address }) =>
                h(
                  "a",
                  { href: `${graphPath(address)}?token=${id}`, "aria-label": `Graph of ${short(address)}` },
                  "follow",
                ),
            },
          ],
          holders,
        ),
        more > 0 ? h("p", { class: "muted" }, `and ${plural(more, "other holder")}`) : null,
      ),
    ),
    card("Transfers", transferList("Transfers of the token", { token: id }, null, { first: info.blocks[0] })),
  );
}
