import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  answering,
  at,
  axe,
  BASE,
  close,
  hasNoSidewaysScroll,
  HOSTILE,
  LOOKS,
  MIXER,
  OWNER,
  PEEL,
  section,
  SPENDER,
} from "./browser.ts";

after(close);

const JUMP = ".heading button:text-is('Approvals')";

test("approvals: from both sides, with links and the command", () =>
  at(`#/address/${OWNER}`, {}, async (page) => {
    await page.click(JUMP);
    const card = section(page, "Approvals");
    const row = card.locator("tbody tr");
    await row.waitFor();
    assert.match((await row.textContent()) ?? "", /OZA.*999,980 OZA.*allowance.*2024-01-01 00:52:36/);
    const links = await row.locator("a").evaluateAll((all) => all.map((link) => link.getAttribute("href") ?? ""));
    assert.equal(links[0], `#/address/${SPENDER}`);
    assert.ok(links.includes("#/block/13") && links.at(-1)?.startsWith("#/tx/0x"), `${links}`);
    const command = card.locator(".command code");
    assert.equal(await command.textContent(), `txgraph approvals ${OWNER} -f json`);
    await card.locator("button:text-is('Given to this address')").click();
    await card.locator("p:has-text('No approval is open at the end of block 40')").waitFor();
    assert.equal(await command.textContent(), `txgraph approvals ${OWNER} --as-spender -f json`);
    await page.goto(page.url().replace(OWNER, SPENDER));
    await page.waitForSelector(`h1:text-is('${SPENDER}')`);
    await page.click(JUMP);
    await card.locator("button:text-is('Given to this address')").click();
    await card.locator(`tbody a[href='#/address/${OWNER}']`).first().waitFor();
  }));

test("approvals are asked for when they come into view, and not when the page is left", () => {
  const asked: string[] = [];
  return at(
    `#/address/${OWNER}`,
    {},
    async (page) => {
      await section(page, "Transfers").locator("tbody tr").nth(40).waitFor();
      await page.waitForTimeout(500);
      assert.deepEqual(asked, []);
      await page.click(JUMP);
      await section(page, "Approvals").locator("tbody tr").waitFor();
      assert.equal(asked.length, 1);
      const failed = page.waitForEvent("requestfailed");
      await page.route(/\/v1\/approvals/, () => {});
      await section(page, "Approvals").locator("button:text-is('Given to this address')").click();
      await page.goto(`${BASE}/#/block/1`);
      assert.match((await failed).url(), /as_spender=true/);
    },
    async (page) => {
      page.on("request", (request) => void (request.url().includes("/v1/approvals") && asked.push(request.url())));
      // At once, before the pause of the section ends.
      const url = `${BASE}/v1/transfers?address=${OWNER}&order=newest&limit=50&offset=0`;
      await answering(/\/v1\/transfers/, 200, (await (await page.request.get(url)).json()) as object)(page);
    },
  );
});

test("approvals: unlimited ones, all items, and contracts that do not answer", () => {
  const row = (kind: string, more: object): object => ({
    kind,
    owner: PEEL,
    spender: MIXER,
    token_address: `0x${"5".repeat(40)}`,
    token_id: null,
    unlimited: false,
    amount: null,
    at_risk: null,
    expires_timestamp: null,
    last_timestamp: 1_704_067_200,
    last_block: 1,
    transaction_hash: `0x${"1".repeat(64)}`,
    ...more,
  });
  const approvals = [
    row("allowance", { unlimited: true, at_risk: "2500000" }),
    row("permit2", { amount: "1000000", at_risk: "1000000", expires_timestamp: 1_735_689_600 }),
    row("item", { token_id: "77", amount: "1", at_risk: "1" }),
    row("operator", { unlimited: true, at_risk: "3" }),
    row("allowance", {}),
  ];
  const label = { name: HOSTILE, category: HOSTILE, source: null };
  const token = { address: `0x${"5".repeat(40)}`, symbol: "ABC", decimals: 6, name: HOSTILE };
  const answer = { address: PEEL, block: 40, labels: { [MIXER]: label }, tokens: { [`0x${"5".repeat(40)}`]: token } };
  const json = { ...answer, approvals, incomplete: [HOSTILE], command: HOSTILE };
  return at(
    `#/address/${PEEL}`,
    {},
    async (page) => {
      await page.click(JUMP);
      const card = section(page, "Approvals");
      const cells = (column: number): Promise<string[]> =>
        card.locator(`tbody td:nth-child(${column})`).allTextContents();
      await card.locator("tbody tr").first().waitFor();
      assert.deepEqual(await cells(3), [
        "unlimited",
        "1 ABC until 2025-01-01 00:00",
        "item #77",
        "all items",
        "unknown",
      ]);
      assert.deepEqual(await cells(4), ["2.5 ABC", "1 ABC", "1", "3", "unknown"]);
      // Labels and texts of others stay text.
      assert.equal(await page.locator("main img, main script").count(), 0);
      assert.match((await card.textContent()) ?? "", /<img src=x/);
      assert.deepEqual(await axe(page), []);
    },
    answering(/\/v1\/approvals/, 200, json),
  );
});

test("approvals: what the server refuses is said", () => {
  const error = { code: "incomplete", message: `receipts are pruned ${HOSTILE}`, hint: "ask for later blocks" };
  return at(
    `#/address/${OWNER}`,
    {},
    async (page) => {
      await page.click(JUMP);
      const alert = section(page, "Approvals").locator("[role=alert]");
      await alert.waitFor();
      assert.match((await alert.textContent()) ?? "", /receipts are pruned <img.*ask for later blocks/);
      assert.equal(await page.locator("main img, main script").count(), 0);
    },
    answering(/\/v1\/approvals/, 422, { error }),
  );
});

for (const [name, options] of LOOKS) {
  test(`approvals: axe finds nothing serious, and nothing scrolls sideways: ${name}`, () =>
    at(`#/address/${OWNER}`, options, async (page) => {
      await page.click(JUMP);
      await section(page, "Approvals").locator("tbody tr").waitFor();
      assert.deepEqual(await axe(page), []);
      await hasNoSidewaysScroll(page);
    }));
}
