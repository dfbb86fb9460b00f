// What is typed into filters, searches and paths: it is understood, or refused in words, and stays in its field.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { at, BASE, close, counts, MIXER, noting, PEEL, PEEL_NEXT, settled } from "./browser.ts";

after(close);

async function enter(page: Page, id: string, text: string): Promise<void> {
  await page.fill(id, text);
  await page.press(id, "Enter");
}

test("the smallest amount has the decimals of its token, also when nothing is left", () => {
  const asked: URLSearchParams[] = [];
  return at(
    `#/graph/${PEEL}`,
    {},
    async (page) => {
      await settled(page);
      assert.ok(await page.isDisabled("#filter-min"));
      await page.fill("#filter-token", "USD6");
      await enter(page, "#filter-min", "9000000.5");
      assert.deepEqual((await counts(page))[1], 0);
      assert.equal(asked.at(-1)?.get("min"), "9000000500000");
      assert.equal(await page.inputValue("#filter-min"), "9000000.5");
      assert.equal(await page.inputValue("#filter-token"), "USD6");
      // The drawing has no token now.
      await enter(page, "#filter-min", "2");
      assert.ok((await counts(page))[1] > 0);
      assert.equal(asked.at(-1)?.get("min"), "2000000");
      // What is no amount is refused, and stays.
      for (const text of ["abc", "1.5e3", "-5", "1,5"]) {
        await enter(page, "#filter-min", text);
        await page.waitForSelector(`[role=alert]:has-text('${text}')`);
        assert.equal(await page.inputValue("#filter-min"), text);
      }
      assert.equal(asked.at(-1)?.get("min"), "2000000");
      // Another token is another amount.
      await page.keyboard.press("Escape");
      await page.click(".canvas", { position: { x: 5, y: 5 } });
      await page.click(".legend button:has-text('USD6')");
      await page.waitForFunction(() => document.querySelector<HTMLInputElement>("#filter-token")?.value === "");
      assert.equal(await page.inputValue("#filter-min"), "");
      assert.ok(await page.isDisabled("#filter-min"));
    },
    noting("neighbors", asked),
  );
});

test("blocks and times of the filters", () => {
  const asked: URLSearchParams[] = [];
  return at(
    `#/graph/${MIXER}`,
    {},
    async (page) => {
      await settled(page);
      await page.fill("#filter-from", "1_0");
      await enter(page, "#filter-until", "2024-01-01 02:00");
      await settled(page);
      assert.equal(asked.at(-1)?.get("blocks"), "10:2024-01-01T02:00");
      // The fields have both ends again.
      assert.equal(await page.inputValue("#filter-from"), "10");
      assert.equal(await page.inputValue("#filter-until"), "2024-01-01T02:00");
      await page.selectOption("#filter-kind", "native");
      await settled(page);
      assert.equal(await page.inputValue("#filter-until"), "2024-01-01T02:00");
      await enter(page, "#filter-from", "1,000");
      await page.waitForSelector("[role=alert]");
      assert.equal(asked.at(-1)?.get("blocks"), "1000:2024-01-01T02:00");
      assert.equal(await page.inputValue("#filter-from"), "1,000");
      const before = asked.length;
      await enter(page, "#filter-from", "1,5");
      await page.waitForSelector("[role=alert]:has-text('is not a block or a date')");
      assert.equal(asked.length, before);
    },
    noting("neighbors", asked),
  );
});

test("a URL that asks for what a drawing does not do", () =>
  at(`#/graph/${PEEL}?hops=20&direction=up&kind=erc777`, {}, async (page) => {
    await settled(page);
    const text = (await page.locator(".trouble .gaps").textContent()) ?? "";
    assert.match(text, /kind=erc777.*hops=20: not a number from 1 to 10.*direction=up/);
    assert.equal(await page.inputValue("#filter-kind"), "");
  }));

test("a filter by kind says that there are more arrows", () =>
  at(
    `#/graph/${MIXER}?kind=native`,
    {},
    async (page) => {
      await settled(page);
      await page.keyboard.press("Escape");
      await page.click(".canvas", { position: { x: 5, y: 5 } });
      await page.waitForSelector(".panel .gaps:has-text('only the arrows shown were filtered by kind (native)')");
      await page.waitForSelector(".panel p:text-is('They do not choose by kind (native).')");
      await page.keyboard.press("t");
      await page.waitForSelector(`.groups button:has-text('7 more arrows')`);
    },
    async (page) =>
      void (await page.route(/\/v1\/neighbors/, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...((await response.json()) as object), more: 7 } });
      })),
  ));

test("a path that cannot be asked for, and how it is searched", () => {
  const asked: URLSearchParams[] = [];
  return at(
    `#/graph/${PEEL_NEXT}`,
    {},
    async (page) => {
      await settled(page);
      await page.click("button:has-text('Path from here')");
      await enter(page, "#path-to", "0x12");
      await page.waitForSelector("[role=alert]:has-text('`0x12` is not an address')");
      assert.equal(await page.inputValue("#path-to"), "0x12");
      await enter(page, "#path-to", PEEL_NEXT);
      await page.waitForSelector("[role=alert]:has-text('ends at another address')");
      await enter(page, "#path-to", "0xA36cea4d9ba68e7f63e9c08dfe87ca5284a6c217");
      await page.waitForSelector("[role=alert]:has-text('wrong checksum')");
      assert.equal(asked.length, 0);
      await page.fill("#path-hops", "2");
      await page.check("#path-order");
      await enter(page, "#path-to", PEEL);
      await page.waitForSelector("[role=alert]:has-text('No route was found: ')");
      assert.deepEqual([asked.at(-1)?.get("hops"), asked.at(-1)?.get("any_order")], ["2", "true"]);
      // The form is still there for another search.
      assert.equal(await page.inputValue("#path-to"), PEEL);
      assert.ok(await page.isChecked("#path-order"));
    },
    noting("path", asked),
  );
});

test("search: the hash of a block, a wrong checksum, and why nothing is found", () =>
  at("#/block/20", {}, async (page) => {
    const hash = (await page.locator(".facts div:has(dt:text-is('Hash')) code").textContent()) ?? "";
    await enter(page, "#search", hash);
    await page.waitForURL(`${BASE}/#/block/${hash}`);
    const wrong = "0xA36cea4d9ba68e7f63e9c08dfe87ca5284a6c217";
    await enter(page, "#search", wrong);
    await page.waitForSelector(".found .none:has-text('has a wrong checksum; with these digits it is')");
    await page.goto(`${BASE}/#/address/${wrong}`);
    await page.waitForSelector("[role=alert]:has-text('has a wrong checksum')");
    await enter(page, "#search", "900,000");
    await page.waitForSelector(".found .none:has-text('block 900000 is above 40')");
    await page.route(/\/v1\/search/, (route) =>
      route.fulfill({
        status: 503,
        json: { error: { code: "busy", message: "too many requests", hint: "try again" } },
      }),
    );
    await page.fill("#search", "USD");
    await page.waitForSelector(".found .none:has-text('too many requests')");
    // What is certain is opened without the search, too.
    await enter(page, "#search", "12");
    await page.waitForSelector("h1:text-is('12')");
  }));
