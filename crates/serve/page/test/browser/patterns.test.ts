import assert from "node:assert/strict";
import { after, test } from "node:test";
import { answering, at, axe, close, hasNoSidewaysScroll, HOSTILE, LOOKS, MIXER, PEEL } from "./browser.ts";

after(close);

test("patterns: from the first page, with their rules, and for other blocks", () =>
  at("", {}, async (page) => {
    await page.click("a:has-text('Look for patterns')");
    const card = page.locator(".card:has(h2:text-is('peel-chain: 2 findings'))");
    await card.locator(`tbody a[href='#/address/${PEEL}']`).waitFor();
    assert.match((await card.textContent()) ?? "", /at least 3 addresses in a row.*100,000 USD6.*6 peels/);
    assert.equal(await page.inputValue("#patterns-until"), "41");
    const command = page.locator(".command code");
    assert.equal(await command.textContent(), "txgraph analyze patterns --blocks 0:41 --limit 10 -f json");
    await page.fill("#patterns-from", "38");
    await page.fill("#patterns-until", "39");
    await page.press("#patterns-until", "Enter");
    await page.waitForSelector("p:text-is('No transfers fit a pattern.')");
    assert.match(page.url(), /#\/patterns\?blocks=38%3A39$/);
    await page.fill("#patterns-from", "x");
    await page.press("#patterns-from", "Enter");
    await page.waitForSelector("[role=alert]");
  }));

test("patterns: texts of others stay text", () => {
  const finding = {
    pattern: "mixer",
    number: 1,
    address: MIXER,
    other_address: null,
    token_address: null,
    token_standard: "native",
    amount: "1",
    addresses: 5,
    first_block: 1,
    last_block: 2,
    note: HOSTILE,
  };
  const json = {
    result: { rules: [{ pattern: "mixer", found: 3, rule: HOSTILE }], findings: [finding] },
    labels: { [MIXER]: { name: HOSTILE, category: HOSTILE, source: null } },
    tokens: {},
    incomplete: [HOSTILE],
    command: HOSTILE,
  };
  return at(
    "#/patterns",
    {},
    async (page) => {
      await page.waitForSelector(".card:has(h2:text-is('mixer: 3 findings')) tbody tr");
      assert.equal(await page.locator("main img, main script").count(), 0);
      assert.match((await page.textContent("main")) ?? "", /<img src=x/);
      assert.deepEqual(await axe(page), []);
    },
    answering(/\/v1\/patterns/, 200, json),
  );
});

for (const [name, options] of LOOKS) {
  test(`patterns: axe finds nothing serious, and nothing scrolls sideways: ${name}`, () =>
    at("#/patterns", options, async (page) => {
      await page.waitForSelector(".card tbody tr");
      assert.deepEqual(await axe(page), []);
      await hasNoSidewaysScroll(page);
    }));
}
