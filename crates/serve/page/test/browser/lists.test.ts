// Lists and files say what they leave out, and of which blocks they are.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { at, close, downloaded, MIXER, noting, OWNER, PEEL, section, settled } from "./browser.ts";

after(close);

/** The address with the most transfers. */
const BUSY = OWNER;

/** An answer of the server with other fields. */
const changed =
  (path: RegExp, change: (answer: Record<string, never>) => object, headers: Record<string, string> = {}) =>
  async (page: Page): Promise<void> =>
    void (await page.route(path, async (route) => {
      const response = await route.fetch();
      const json = (await response.json()) as Record<string, never>;
      await route.fulfill({ response, headers: { ...response.headers(), ...headers }, json: change(json) });
    }));

test("more transfers are of the same blocks, and what is shown stays", () => {
  const asked: URLSearchParams[] = [];
  return at(
    `#/address/${BUSY}`,
    {},
    async (page) => {
      const card = section(page, "Transfers");
      await card.locator("tbody tr").first().waitFor();
      const rows = await card.locator("tbody tr").count();
      await page.route(/\/v1\/transfers/, (route) =>
        route.fulfill({ status: 503, json: { error: { code: "busy", message: "too many requests", hint: null } } }),
      );
      await card.locator("button:text-is('Show more')").click();
      await card.locator("[role=alert]:has-text('too many requests')").waitFor();
      assert.equal(await card.locator("tbody tr").count(), rows);
      await page.unroute(/\/v1\/transfers/);
      await changed(/\/v1\/transfers/, (answer) => ({ ...answer, more: false }))(page);
      await card.locator("button:text-is('Show more')").click();
      await card.locator("[role=alert]").waitFor({ state: "detached" });
      assert.ok((await card.locator("tbody tr").count()) > rows);
      assert.deepEqual(
        asked.map((query) => [query.get("blocks"), query.get("offset")]),
        [
          [null, "0"],
          [":41", String(rows)],
          [":41", String(rows)],
        ],
      );
    },
    async (page) => {
      await noting("transfers", asked)(page);
      await changed(/\/v1\/transfers/, (answer) => ({ ...answer, more: true }))(page);
    },
  );
});

test("an arrow lists the transfers of its kind and of the blocks of its answer", () => {
  const asked: URLSearchParams[] = [];
  return at(
    `#/graph/${PEEL}`,
    {},
    async (page) => {
      await settled(page);
      await page.keyboard.press("t");
      await page.click(".drawer tbody tr:first-child button[aria-label*='show them']");
      await page.waitForSelector(".panel .list .empty");
      // The transfers are all of another kind: a few pages were asked for.
      assert.ok(asked.length > 1 && asked.every((query) => query.get("blocks") === ":31"), String(asked));
    },
    async (page) => {
      await noting("transfers", asked)(page);
      const another = (answer: Record<string, never[]>): object => ({
        ...answer,
        more: true,
        transfers: (answer.transfers ?? []).map((transfer: object) => ({ ...transfer, standard: "erc1155" })),
      });
      await changed(/\/v1\/transfers/, another)(page);
      await changed(/\/v1\/neighbors/, (answer) => answer, { "x-txgraph-block": "30 0x12" })(page);
    },
  );
});

test("a file says its blocks, its filters, and what is hidden", () =>
  at(
    `#/graph/${MIXER}?token=native`,
    {},
    async (page) => {
      await settled(page);
      await page.keyboard.press("t");
      const other = page.locator(".drawer tbody button.cell[title^='0x']:not([title*='aecb301d'])").first();
      await other.click();
      await page.click(".panel button:has-text('Hide')");
      await page.waitForSelector(".status");
      const file = async (name: string): Promise<string> => {
        const click = async (): Promise<void> => {
          await page.click("button[aria-label='Save as…']");
          await page.click(`[role=menuitem]:has-text('${name}')`);
        };
        return (await downloaded(page, click))[1].toString();
      };
      await page.waitForSelector("button[aria-label^='Undo']:enabled");
      for (const name of ["HTML", "SVG", "CSV", "DOT"]) {
        // Lines of pictures are wrapped.
        const text = (await file(name)).replace(/<\/text><text[^>]*>/g, " ");
        assert.match(text, /up to blocks 20 to 30/, name);
        assert.match(text, /Filters: token ETH\./, name);
        assert.match(text, /1 hidden address is not drawn/, name);
      }
      // The case keeps the blocks.
      const save = (): Promise<void> => page.click("button[aria-label^='Save the case']");
      const found = JSON.parse((await downloaded(page, save))[1].toString()) as {
        parts: [object, { as_of: number }][];
      };
      assert.deepEqual(found.parts.map(([, part]) => part.as_of).sort(), [20, 30]);
    },
    async (page) => {
      await changed(/\/v1\/neighbors.*direction=in/, (answer) => answer, { "x-txgraph-block": "30 0x12" })(page);
      await changed(/\/v1\/neighbors.*direction=out/, (answer) => answer, { "x-txgraph-block": "20 0x12" })(page);
    },
  ));

test("the number of transfers of an address counts what its list has", () => {
  const profile: URLSearchParams[] = [];
  const list: URLSearchParams[] = [];
  return at(
    `#/address/${PEEL}`,
    {},
    async (page) => {
      await section(page, "Transfers").locator("tbody tr").first().waitFor();
      assert.equal(profile[0]?.get("internal"), "true");
      assert.equal(list[0]?.get("internal"), "true");
    },
    async (page) => {
      await noting("address", profile)(page);
      await noting("transfers", list)(page);
      await changed(/\/v1\/info/, (answer) => ({
        ...answer,
        has_index: true,
        has_internal: true,
        index_has_internal: true,
      }))(page);
    },
  );
});

test("patterns say how many findings are not listed, and list them", () => {
  return at(
    "#/patterns",
    {},
    async (page) => {
      const card = page.locator(".card:has(h2:has-text('peel-chain: 33 findings'))");
      await card.locator("p:text-is('2 of 33')").waitFor();
      const [request] = await Promise.all([
        page.waitForRequest(/\/v1\/patterns/),
        card.locator("button:text-is('Show more')").click(),
      ]);
      assert.equal(new URL(request.url()).searchParams.get("limit"), "100");
      await card.locator("p:text-is('2 of 33')").waitFor();
      // A time keeps its colons.
      await page.fill("#patterns-from", "2024-01-01 00:10");
      await page.fill("#patterns-until", "4_1");
      await page.press("#patterns-until", "Enter");
      await page.waitForURL(/blocks=2024-01-01T00%3A10%3A00%3A41$/);
      await page.waitForFunction(
        () => document.querySelector<HTMLInputElement>("#patterns-from")?.value === "2024-01-01T00:10:00",
      );
      await page.fill("#patterns-until", "4,1");
      await page.press("#patterns-until", "Enter");
      await page.waitForSelector("[role=alert]:has-text('is not a block or a date')");
    },
    async (page) => {
      await changed(/\/v1\/patterns/, (answer) => {
        const { result } = answer as unknown as { result: { rules: { pattern: string }[]; findings: object[] } };
        const rules = result.rules.map((rule) => (rule.pattern === "peel-chain" ? { ...rule, found: 33 } : rule));
        return { ...answer, result: { ...result, rules } };
      })(page);
    },
  );
});

test("the sums of an address say how many tokens they leave out, and distinguish kinds", () =>
  at(
    `#/graph/${PEEL}`,
    {},
    async (page) => {
      await settled(page);
      await page.waitForSelector(".panel p:text-is('and 4 more tokens')");
      const first = await page.locator(".sums tbody tr").first().locator("td").allTextContents();
      assert.deepEqual(first, ["5 units of 0xbeef…0000", "–"]);
      const second = await page.locator(".sums tbody tr").nth(1).locator("td").allTextContents();
      assert.deepEqual(second, ["2 0xbeef…0000", "–"]);
      await page.keyboard.press("t");
      assert.equal(await page.locator(".drawer tbody tr").count(), 16);
    },
    async (page) =>
      await changed(/\/v1\/neighbors/, (answer) => {
        const { edges } = answer as unknown as { edges: object[] };
        const edge = { ...edges[0], from: MIXER, to: PEEL, kind: "erc20", count: 1, amount: "5" };
        const token = (number: number): string => `0xbeef${number.toString(16).padStart(36, "0")}`;
        const erc20 = Array.from({ length: 15 }, (_, index) => ({ ...edge, token: token(index) }));
        const items = { ...edge, token: token(0), kind: "erc721", count: 2 };
        const own = { ...items, from: PEEL };
        const [first, ...others] = erc20;
        return { ...answer, edges: [first, items, ...others, own], tokens: {} };
      })(page),
  ));
