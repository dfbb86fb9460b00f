// What an address had, got, gave and has.

import type { AssetBalance, Movement, StatementAnswer } from "../base/account.ts";
import { ask, askFile, type Parameters } from "../base/api.ts";
import { blocksOf } from "../base/blocks.ts";
import { announce, download, fill, h, ICONS } from "../base/dom.ts";
import { checkbox, checked, choice, labeled, textField } from "../base/forms.ts";
import { count, date, integer, plain, plural, second } from "../base/format.ts";
import { exactAmount, NATIVE } from "../base/tokens.ts";
import type { Info } from "../base/types.ts";
import {
  action,
  addressLink,
  amount,
  blockLink,
  card,
  type Column,
  failure,
  foot,
  table,
  tokenLink,
  transactionLink,
} from "../base/widgets.ts";

/** Movements that the page lists. */
const MOVEMENTS = 50;

/** The files of a statement. */
const FILES: Record<string, [string, Parameters]> = {
  movements: ["movements", { format: "csv", table: "movements" }],
  balances: ["balances", { format: "csv", table: "balances" }],
  koinly: ["for Koinly", { format: "csv", table: "koinly" }],
  rotki: ["for rotki", { format: "csv", table: "rotki" }],
};

type Asset = Pick<AssetBalance, "token_address" | "token_standard" | "token_id">;

/** An amount of an asset; of ERC-721, a number of items. */
function value(answer: StatementAnswer, asset: Asset, text: string | null): Node | string {
  if (text === null) return "";
  const { token_address: token, token_standard: standard, token_id: id } = asset;
  if (standard === "erc721") return count(Number(integer(text)));
  return amount(answer.tokens, token ?? NATIVE, text, standard, id);
}

/** The same with all of its digits. */
function exactly(answer: StatementAnswer, asset: Asset, text: string | null): Node | string {
  if (text === null) return "unknown";
  if (asset.token_standard === "erc721") return count(Number(integer(text)));
  return exactAmount(answer.tokens, asset.token_address ?? NATIVE, text);
}

/** The token of an asset; its own name where it has no symbol, and the number of the item. */
function assetLink({ tokens }: StatementAnswer, { token_address: token, token_id: id }: Asset): HTMLElement {
  const known = token === null ? undefined : tokens[token];
  return h(
    "span",
    {},
    tokenLink(tokens, token ?? NATIVE),
    known?.name && !known.symbol ? h("span", { class: "muted" }, ` ${plain(known.name)}`) : null,
    id === null ? null : h("span", { title: `id ${plain(id, 80)}` }, ` #${plain(id, 14)}`),
  );
}

/** What the balances of an asset were compared with. */
function proof({ token_standard: standard, opening }: AssetBalance): string {
  if (standard === "native") return "after every block";
  return opening === null ? "no" : "before and after";
}

const isUnexplained = (row: AssetBalance): boolean =>
  row.unexplained_received !== null || row.unexplained_sent !== null;

/** The balances that nothing explains, or the statement that there are none. */
function conclusion({ balances }: StatementAnswer): HTMLElement {
  const differing = balances.filter(isUnexplained).length;
  const compared = balances.filter((row) => proof(row) !== "no").length;
  const text =
    differing === 0
      ? `Opening balance and movements give the closing balance of ${plural(compared, "asset")}, as the node stores it.`
      : `The movements do not explain all changes of ${plural(differing, "asset")}. The difference is in rows of kind “unexplained”.`;
  return h("p", { class: differing === 0 ? "good" : "bad" }, text);
}

function balanceColumns(answer: StatementAnswer): Column<AssetBalance>[] {
  const unexplained = (row: AssetBalance): Node | string => {
    if (!isUnexplained(row)) return "none";
    const [got, gave] = [row.unexplained_received, row.unexplained_sent];
    const [plus, minus] = [got === null ? "" : "+", gave === null ? "" : "−"];
    return h(
      "span",
      { class: "bad" },
      plus,
      value(answer, row, got),
      got && gave ? " " : "",
      minus,
      value(answer, row, gave),
    );
  };
  const all: Column<AssetBalance>[] = [
    { name: "Asset", cell: (row) => assetLink(answer, row) },
    { name: "Opening", cell: (row) => exactly(answer, row, row.opening), isNumber: true },
    { name: "Received", cell: (row) => exactly(answer, row, row.received), isNumber: true },
    { name: "Sent", cell: (row) => exactly(answer, row, row.sent), isNumber: true },
    { name: "Closing", cell: (row) => exactly(answer, row, row.closing), isNumber: true },
    { name: "Compared with the state", cell: proof },
  ];
  if (answer.balances.some(isUnexplained)) all.splice(4, 0, { name: "Unexplained", cell: unexplained, isNumber: true });
  return all;
}

function movementColumns(answer: StatementAnswer): Column<Movement>[] {
  return [
    { name: "Time (UTC)", cell: ({ timestamp }) => second(timestamp) },
    { name: "Block", cell: ({ block_number }) => blockLink(block_number) },
    { name: "Kind", cell: ({ kind }) => (kind === "unexplained" ? h("span", { class: "bad" }, kind) : kind) },
    {
      name: "With",
      cell: ({ counterparty: other }) => (other === null ? null : addressLink(other, answer.labels[other])),
    },
    { name: "Asset", cell: (row) => assetLink(answer, row) },
    { name: "Received", cell: (row) => value(answer, row, row.received), isNumber: true },
    { name: "Sent", cell: (row) => value(answer, row, row.sent), isNumber: true },
    { name: "Balance", cell: (row) => value(answer, row, row.balance), isNumber: true },
    { name: "Transaction", cell: ({ transaction_hash: hash }) => (hash === null ? null : transactionLink(hash)) },
  ];
}

function shown(answer: StatementAnswer): (Node | null)[] {
  const { balances, movements } = answer;
  const [{ first, last } = { first: 0, last: 0 }] = answer.metadata.requested;
  const newest = movements.slice(-MOVEMENTS).reverse();
  const title = `Blocks ${count(first)} to ${count(last)}: ${plural(movements.length, "movement")}`;
  announce(title);
  return [
    h("h3", {}, title),
    balances.length === 0 ? null : conclusion(answer),
    table("Balances before and after", balanceColumns(answer), balances),
    movements.length > MOVEMENTS ? h("h3", {}, `The newest ${MOVEMENTS} movements; the files have all`) : null,
    movements.length === 0 ? null : table("Movements", movementColumns(answer), newest),
    ...foot(answer),
  ];
}

export function statementCard(address: string, info: Info): HTMLElement {
  const inYear = textField("statement-year", "all", { size: 5, value: date(info.tip.time).slice(0, 4) });
  const from = textField("statement-from", "block or date", { size: 11 });
  const until = textField("statement-until", "block or date", { size: 11 });
  const inside = checkbox("statement-internal");
  const file = choice(
    "statement-file",
    Object.entries(FILES).map(([name, [text]]) => [name, text]),
  );
  // A year and a range exclude each other.
  inYear.addEventListener("input", () => void (inYear.value !== "" && ((from.value = ""), (until.value = ""))));
  for (const input of [from, until])
    input.addEventListener("input", () => void (input.value !== "" && (inYear.value = "")));
  const asked = (): Parameters => {
    const blocks = blocksOf(from.value, until.value);
    return { address, year: inYear.value.trim(), blocks, internal: inside.checked };
  };
  const box = h("div", { class: "list" });
  const saved = h("div", { class: "list" });
  const wait = async (into: HTMLElement, what: string, work: () => Promise<(Node | null)[]>): Promise<void> => {
    fill(into, h("p", { class: "loading" }, what));
    fill(into, ...(await work().catch((error: unknown) => [failure(error)])));
  };
  const show = (): Promise<void> =>
    wait(box, "Loading…", async () => shown(await ask<StatementAnswer>("statement", asked())));
  const save = (name: string, parameters: Parameters): Promise<void> =>
    wait(saved, "Writing the file…", async () => {
      const file = await askFile("statement", { ...asked(), ...parameters });
      const ending = parameters.format === "csv" ? "csv" : "json";
      const title = `${name}-${address.slice(0, 10)}.${ending}`;
      download(title, file.type, file);
      announce(`${title} is saved`);
      return [h("p", { class: "muted" }, `${title} is saved.`)];
    });
  return card(
    "Statement",
    h(
      "p",
      { class: "muted" },
      "Every movement with its balance: transfers, fees, withdrawals and rewards. The balance of the coin is compared with the state of the node after every block that changed the account, ERC-20 and ERC-721 tokens before the first block and after the last. A difference is a row of its own, of kind “unexplained”.",
    ),
    h(
      "form",
      {
        class: "statement",
        "aria-label": "Statement",
        onsubmit: (event: Event) => {
          event.preventDefault();
          void show();
        },
      },
      labeled("Year", inYear),
      labeled("From", from),
      labeled("Before", until),
      checked(inside, "execute every block"),
      h("button", { type: "submit", class: "button primary" }, "Show"),
    ),
    h(
      "div",
      { class: "statement" },
      labeled("Table", file),
      action(ICONS.save, "Download CSV", () => {
        const [, parameters] = FILES[file.value] ?? ["", {}];
        void save(file.value, parameters);
      }),
      action(ICONS.save, "Download JSON", () => void save("statement", { format: "json" })),
    ),
    saved,
    box,
  );
}
