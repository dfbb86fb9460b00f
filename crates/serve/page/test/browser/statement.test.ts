import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import {
  answering,
  at,
  axe,
  BASE,
  close,
  downloaded,
  hasNoSidewaysScroll,
  HOSTILE,
  LOOKS,
  MIXER,
  OWNER,
  section,
} from "./browser.ts";

after(close);

/** An account with transfers of a token and fees. */
const ACCOUNT = "0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba";

const JUMP = ".heading button:text-is('Statement')";

async function show(page: Page): Promise<void> {
  await page.click(JUMP);
  await section(page, "Statement").locator("button:text-is('Show')").click();
}

test("a statement shows opening and closing balances, and what they were compared with", () =>
  at(`#/address/${ACCOUNT}`, {}, async (page) => {
    await page.waitForSelector(JUMP);
    const card = section(page, "Statement");
    assert.equal(await page.inputValue("#statement-year"), "2024");
    await show(page);
    const balances = card.locator("table:has(caption:text-is('Balances before and after')) tbody tr");
    await balances.first().waitFor();
    assert.deepEqual(await balances.first().locator("td").allTextContents(), [
      "ETH",
      "200 ETH",
      "0 ETH",
      "0.001033467770130934 ETH",
      "199.998966532229869066 ETH",
      "after every block",
    ]);
    assert.match((await balances.nth(1).textContent()) ?? "", /USD6.*99,548 USD6before and after$/);
    await card.locator(".good:has-text('give the closing balance of 2 assets')").waitFor();
    assert.equal(await card.locator("table:has(caption:text-is('Movements')) tbody tr").count(), 21);
    const command = card.locator(".command code");
    assert.equal(await command.textContent(), `txgraph statement ${ACCOUNT} --year 2024 -f json`);
    // A range takes the place of the year.
    await page.fill("#statement-from", "1_5");
    assert.equal(await page.inputValue("#statement-year"), "");
    await page.fill("#statement-until", "20");
    await page.check("#statement-internal");
    await page.press("#statement-until", "Enter");
    await card.locator("h3:has-text('Blocks 15 to 19')").waitFor();
    assert.equal(await command.textContent(), `txgraph statement ${ACCOUNT} --blocks 15:20 --with-internal -f json`);
    // No movement.
    await page.fill("#statement-from", "38");
    await page.fill("#statement-until", "39");
    await page.press("#statement-until", "Enter");
    await card.locator("h3:has-text('Blocks 38 to 38: 0 movements')").waitFor();
    await page.fill("#statement-year", "1999");
    assert.equal(await page.inputValue("#statement-from"), "");
    await page.press("#statement-year", "Enter");
    await card.locator("[role=alert]:has-text('is before the first block')").waitFor();
  }));

test("files of a statement are those that the server writes", () =>
  at(`#/address/${ACCOUNT}`, {}, async (page) => {
    await page.click(JUMP);
    const card = section(page, "Statement");
    const file = async (button: string): Promise<[string, string]> => {
      const [name, content] = await downloaded(page, () => card.locator(`button:has-text('${button}')`).click());
      return [name, content.toString()];
    };
    const served = async (query: string): Promise<string> =>
      (await page.request.get(`${BASE}/v1/statement?address=${ACCOUNT}&year=2024&${query}`)).text();
    const [name, movements] = await file("Download CSV");
    assert.equal(name, "movements-0x502f1f2f.csv");
    assert.equal(movements, await served("format=csv"));
    assert.equal(movements.trim().split("\n").length, 22);
    await page.selectOption("#statement-file", "koinly");
    const [, koinly] = await file("Download CSV");
    assert.match(koinly, /^Date,Sent Amount/);
    assert.equal(koinly, await served("format=csv&table=koinly"));
    const [document, json] = await file("Download JSON");
    assert.equal(document, "statement-0x502f1f2f.json");
    assert.equal(json, await served("format=json"));
    // What the server refuses is said, and the file is not written.
    await page.fill("#statement-year", "1999");
    await card.locator("button:has-text('Download CSV')").click();
    await card.locator("[role=alert]:has-text('is before the first block')").waitFor();
  }));

test("a statement that does not add up says so, and texts of others stay text", () => {
  const token = `0x${"5".repeat(40)}`;
  const balance = {
    token_address: token,
    token_standard: "erc20",
    token_id: null,
    opening: "0",
    received: "5",
    sent: "0",
    unexplained_received: null,
    unexplained_sent: "2",
    closing: "3",
  };
  const row = { timestamp: 1_704_067_200, block_number: 1, counterparty: MIXER, received: "5", sent: null };
  const item = { token_address: token, token_standard: "erc721", token_id: "77" };
  const json = {
    address: ACCOUNT,
    metadata: { requested: [{ first: 1, last: 40 }] },
    balances: [balance, { ...balance, token_standard: "erc1155", token_id: "9", opening: null, closing: null }],
    movements: [{ ...row, ...item, received: "1", kind: "transfer", balance: "5", transaction_hash: null }],
    labels: { [MIXER]: { name: HOSTILE, category: HOSTILE, source: null } },
    tokens: { [token]: { address: token, symbol: HOSTILE, decimals: 0, name: HOSTILE } },
    incomplete: [HOSTILE],
    command: HOSTILE,
  };
  return at(
    `#/address/${ACCOUNT}`,
    {},
    async (page) => {
      await show(page);
      const card = section(page, "Statement");
      await card.locator("p.bad:has-text('do not explain all changes of 2 assets')").waitFor();
      const cells = await card.locator("table:has(caption:text-is('Balances before and after')) td").allTextContents();
      assert.match(cells[4] ?? "", /^−2 /);
      assert.deepEqual([cells[6], cells[8], cells[12], cells[13]], ["before and after", "unknown", "unknown", "no"]);
      // Assets with one contract are distinguished.
      assert.match(cells[7] ?? "", / #9$/);
      const movement = await card.locator("table:has(caption:text-is('Movements')) td").allTextContents();
      assert.match(movement[4] ?? "", /^<img.* #77$/);
      assert.equal(movement[5], "1");
      assert.equal(await page.locator("main img, main script").count(), 0);
      assert.match((await card.textContent()) ?? "", /<img src=x/);
      assert.deepEqual(await axe(page), []);
    },
    answering(/\/v1\/statement/, 200, json),
  );
});

for (const [name, options] of LOOKS) {
  test(`a statement: axe finds nothing serious, and nothing scrolls sideways: ${name}`, () =>
    at(`#/address/${OWNER}`, options, async (page) => {
      await show(page);
      await section(page, "Statement").locator("table").first().waitFor();
      assert.deepEqual(await axe(page), []);
      await hasNoSidewaysScroll(page);
    }));
}
