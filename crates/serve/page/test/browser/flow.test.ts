import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { answering, at, axe, close, hasNoSidewaysScroll, HOSTILE, LOOKS, PEEL, PEEL_LAST, settled } from "./browser.ts";

after(close);

const FLOW = ".panel section:has(h3:text-is('Maximum flow'))";

/** Draws the path from the root of the peel chain to its end. */
async function drawPath(page: Page): Promise<void> {
  await settled(page);
  await page.click("button:has-text('Path from here')");
  await page.fill("#path-to", PEEL_LAST);
  await page.press("#path-to", "Enter");
  await page.waitForSelector(`${FLOW} .flow, ${FLOW} .failure, ${FLOW} .hints`);
}

test("a path shows the maximum flow and what bounds it", () => {
  const asked: string[] = [];
  return at(
    `#/graph/${PEEL}`,
    {},
    async (page) => {
      await drawPath(page);
      const flow = page.locator(FLOW);
      const text = (await flow.textContent()) ?? "";
      assert.match(text, /At most [\d,.]+ USD6 can have gone\..*can have carried it\. \d+ transfers? bounds? it/);
      assert.ok((await flow.locator("tbody tr").count()) > 0);
      assert.match((await flow.locator(".command code").textContent()) ?? "", /^txgraph path .* --max-flow --json$/);
      // The drawing as a whole has it, too, and asks no second time.
      await page.keyboard.press("Escape");
      await page.locator(".panel h2").waitFor();
      await flow.locator(".flow").waitFor();
      assert.equal(asked.length, 1);
    },
    async (page) =>
      page.on("request", (request) => void (request.url().includes("max_flow=true") && asked.push(request.url()))) &&
      undefined,
  );
});

test("a maximum flow of several tokens, and texts of others", () => {
  const token = `0x${"5".repeat(40)}`;
  const transfer = {
    from_address: PEEL,
    to_address: PEEL_LAST,
    token_address: token,
    token_id: null,
    token_standard: "erc20",
    value: "5",
    block_timestamp: 1_704_067_200,
    block_number: 1,
    transaction_hash: `0x${"1".repeat(64)}`,
  };
  const flow = { token_address: token, token_id: null, at_most: "5", cut: [transfer], parts: [] };
  const cut = Array.from({ length: 30 }, () => ({ ...transfer, token_address: null, token_standard: "native" }));
  const json = {
    found: true,
    transfers: [],
    hints: [],
    flows: [flow, { ...flow, token_address: null, at_most: "150", cut }],
    tokens: { [token]: { address: token, symbol: HOSTILE, decimals: 0, name: HOSTILE } },
    incomplete: [HOSTILE],
    command: HOSTILE,
  };
  return at(
    `#/graph/${PEEL}`,
    {},
    async (page) => {
      await drawPath(page);
      const shown = page.locator(FLOW);
      assert.equal(await shown.locator(".flow").count(), 2);
      assert.equal(await shown.locator("tbody tr").count(), 21);
      await shown.locator("p:text-is('and 10 more')").waitFor();
      assert.equal(await page.locator("main img, main script").count(), 0);
      assert.match((await shown.textContent()) ?? "", /<img src=x/);
      assert.deepEqual(await axe(page), []);
    },
    answering(/max_flow=true/, 200, json),
  );
});

test("a maximum flow that the server refuses is said, and the path stays", () => {
  const error = { code: "timeout", message: "the time limit of the request ended; ask for less", hint: null };
  return at(
    `#/graph/${PEEL}`,
    {},
    async (page) => {
      await drawPath(page);
      await page.waitForSelector(`${FLOW} [role=alert]:has-text('time limit')`);
      await settled(page);
    },
    answering(/max_flow=true/, 504, { error }),
  );
});

for (const [name, options] of LOOKS) {
  test(`a maximum flow: axe finds nothing serious, and nothing scrolls sideways: ${name}`, () =>
    at(`#/graph/${PEEL}`, options, async (page) => {
      await drawPath(page);
      assert.deepEqual(await axe(page), []);
      await hasNoSidewaysScroll(page);
    }));
}
