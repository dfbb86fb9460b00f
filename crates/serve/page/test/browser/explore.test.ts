// Ways through a drawing: how it begins, what is filtered in the page, and what arrows stand for.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import {
  answering,
  at,
  axe,
  BASE,
  close,
  counts,
  downloaded,
  hasNoSidewaysScroll,
  LOOKS,
  MIXER,
  noting,
  PEEL,
  section,
  settled,
} from "./browser.ts";

after(close);

const USD6 = "0xd601451207128971898aab8654521699f35222e2";

test("a drawing begins with a token, and is there again after a reload", () =>
  at(`#/token/${USD6}`, {}, async (page) => {
    await page.click("a.button:has-text('Graph')");
    const before = await counts(page);
    assert.ok(before[1] > 10, String(before));
    await page.waitForSelector(".panel h2:text-is('Newest transfers of USD6')");
    await page.waitForSelector(".gaps:has-text('only the newest 100 transfers are drawn')");
    await page.reload();
    assert.deepEqual(await counts(page), before);
    await page.goBack();
    await page.waitForSelector("h1:text-is('USD6')");
    await page.goForward();
    assert.deepEqual(await counts(page), before);
  }));

test("a saved case opens from the first page, and stays after a reload", () =>
  at(`#/graph/${PEEL}`, {}, async (page) => {
    const before = await counts(page);
    const [, text] = await downloaded(page, () => page.click("button[aria-label^='Save the case']"));
    const file = join(tmpdir(), `txgraph-first-${process.pid}.json`);
    writeFileSync(file, text);
    await page.evaluate(() => sessionStorage.clear());
    await page.goto(`${BASE}/#/`);
    await page.reload();
    await page.setInputFiles(".home input[type=file]", file);
    assert.deepEqual(await counts(page), before);
    await page.reload();
    assert.deepEqual(await counts(page), before);
  }));

test("the time of a drawing is chosen with two handles", () => {
  const asked: URLSearchParams[] = [];
  return at(
    `#/graph/${MIXER}`,
    {},
    async (page) => {
      const all = await counts(page);
      const before = asked.length;
      await page.focus("#time-high");
      await page.keyboard.press("Home");
      await settled(page);
      assert.ok(asked.length > before);
      assert.match(asked.at(-1)?.get("blocks") ?? "", /^:\d+$/);
      const some = await counts(page);
      assert.ok(some[1] > 0 && some[1] < all[1], `${all} ${some}`);
      assert.equal(await page.getAttribute("#time-high", "aria-valuetext"), "block 13");
      // At its end of the strip, a handle bounds nothing.
      await page.focus("#time-high");
      await page.keyboard.press("End");
      await page.waitForFunction(() => document.querySelector<HTMLInputElement>("#filter-until")?.value === "");
      assert.deepEqual(await counts(page), all);
    },
    noting("neighbors", asked),
  );
});

test("arrows are chosen by the kind of a label", () =>
  at(`#/graph/${MIXER}?category=other`, {}, async (page) => {
    assert.deepEqual(await counts(page), [2, 1]);
    await page.selectOption("#filter-category", "any");
    assert.ok((await counts(page))[1] > 1);
    await page.selectOption("#filter-category", "exchange");
    assert.equal((await counts(page))[1], 0);
    await page.keyboard.press("Control+z");
    await page.click("button:text-is('Clear')");
    assert.ok((await counts(page))[1] > 1);
  }));

test("an address is followed over several hops, through swaps", () => {
  const asked: URLSearchParams[] = [];
  return at(
    `#/graph/${PEEL}`,
    {},
    async (page) => {
      const before = await counts(page);
      await page.click("button:has-text('Follow…')");
      await page.check("#follow-swaps");
      await page.selectOption("#follow-hops", "4");
      await page.click(".follow button[type=submit]");
      await page.waitForSelector("button[aria-label^='Undo']:enabled");
      assert.ok((await counts(page))[1] > before[1]);
      const [query] = asked;
      assert.deepEqual(
        ["root", "hops", "direction", "swaps"].map((name) => query?.get(name)),
        [PEEL, "4", "out", "true"],
      );
      // The form keeps what was chosen.
      assert.ok(await page.isChecked("#follow-swaps"));
      assert.deepEqual(await axe(page), []);
    },
    noting("graph", asked),
  );
});

const address = (number: number): string => `0x${number.toString(16).padStart(40, "0")}`;
const place = { block: 1, time: 1_704_067_200, transaction: `0x${"1".repeat(64)}`, index: 0 };
const NATIVE = { native: { address: "native", symbol: "ETH", decimals: 18, name: null } };

test("a folded arrow lists its arrows, and each of them its transfers", () => {
  const asked: URLSearchParams[] = [];
  const edges = Array.from({ length: 2_500 }, (_, index) => ({
    from: MIXER,
    to: address(0x1000 + index),
    token: "native",
    kind: "native",
    count: 1,
    amount: "1000",
    first: place,
    last: place,
  }));
  const answer = { address: MIXER, direction: "out", edges, more: 0, tokens: NATIVE, incomplete: [], command: null };
  return at(
    `#/graph/${MIXER}`,
    {},
    async (page) => {
      await settled(page);
      await page.keyboard.press("t");
      await page.click(".drawer tr:has-text('others') button[aria-label*='show them']");
      await page.waitForSelector(".panel p:text-is('This arrow stands for 2,495 arrows:')");
      await page.waitForSelector(".panel p:text-is('and 2,395 weaker arrows')");
      await page.locator(".panel tbody tr").first().locator("button:text-is('1 transfer')").click();
      await page.waitForSelector(".panel table:has(caption:text-is('Transfers of this arrow')), .panel .list .empty");
      assert.equal(asked.at(-1)?.get("from"), MIXER);
      assert.ok(edges.some(({ to }) => to === asked.at(-1)?.get("to")));
    },
    async (page) => {
      await noting("transfers", asked)(page);
      await answering(/neighbors/, 200, answer)(page);
    },
  );
});

test("the sides of a swap are marked in the drawing of its transaction", () => {
  const [trader, pool] = [address(1), address(2)];
  const side = (from: string, to: string, token: string): object => ({
    ...place,
    log_index: 0,
    kind: "transfer",
    standard: "erc20",
    from,
    to,
    token,
    amount: "5",
    id: null,
  });
  const swap = { address: trader, to: trader, given_token: address(7), given: "5", got_token: address(8), got: "5" };
  const transfers = [side(trader, pool, address(7)), side(pool, trader, address(8))];
  const answer = { transfers, swaps: [swap], unresolved: [], tokens: {}, labels: {}, incomplete: [], command: null };
  return at(
    `#/graph/tx/${place.transaction}`,
    {},
    async (page) => {
      assert.deepEqual(await counts(page), [2, 2]);
      await page.keyboard.press("t");
      await page.click(".drawer tbody tr:first-child button[aria-label*='show them']");
      const fact = page.locator(".panel .facts div:has(dt:text-is('Swap')) dd");
      assert.match((await fact.textContent()) ?? "", /gave 5 units of .* for 5 units of/);
    },
    answering(/\/v1\/transaction/, 200, answer),
  );
});

for (const [name, options] of LOOKS) {
  test(`filters and forms have room: ${name}`, () =>
    at(`#/graph/${MIXER}`, options, async (page) => {
      await settled(page);
      await page.keyboard.press("f");
      await page.click("button:has-text('Follow…')");
      await page.click("button:has-text('Path from here')");
      await page.waitForSelector(".profile dl");
      await hasNoSidewaysScroll(page);
      assert.deepEqual(await axe(page), []);
      await page.click("button[aria-label='Save as…']");
      await page.click(".panel h2, .panel .kind");
      await page.waitForSelector("[role=menu]", { state: "hidden" });
    }));
}

/** Refuses requests about all blocks. */
const pruned = async (page: Page): Promise<void> =>
  void (await page.route(/\/v1\/(neighbors|address|token|transfers)\?/, async (route) => {
    if (route.request().url().includes("partial=true")) {
      const response = await route.fetch();
      const json = (await response.json()) as { incomplete: string[] };
      json.incomplete.push("blocks 1:20 are missing: receipts pruned up to block 19");
      return route.fulfill({ response, json });
    }
    const error = { code: "incomplete", message: "blocks not available: 1:20", hint: "`partial=true` answers" };
    return route.fulfill({ status: 422, json: { error } });
  }));

test("a pruned node answers with the blocks that it has, and the page says which ones are missing", async () => {
  const missing = ".gaps:has-text('blocks 1:20 are missing')";
  await at(
    `#/graph/${MIXER}`,
    {},
    async (page) => {
      assert.ok((await counts(page))[1] > 0);
      await page.click(".status button:has-text('gap')");
      await page.waitForSelector(`.panel ${missing}`);
    },
    pruned,
  );
  await at(
    `#/address/${MIXER}`,
    {},
    async (page) => {
      await section(page, "Account").locator(missing).waitFor();
      await section(page, "Transfers").locator(missing).waitFor();
    },
    pruned,
  );
});

test("a file for GraphSense is refused for other chains", () =>
  at(`#/graph/${PEEL}`, {}, async (page) => {
    await settled(page);
    await page.click("button[aria-label='Save as…']");
    await page.click("[role=menuitem]:has-text('GraphSense')");
    await page.waitForSelector("[role=alert]:has-text('GraphSense has no chain')");
  }));

test("what cannot be shown can be tried again", () =>
  at("#/block/20", {}, async (page) => {
    await page.waitForSelector("h1:text-is('20')");
    await page.route(/\/v1\/block\?/, (route) => route.abort());
    await page.click("a:has-text('Later')");
    await page.waitForSelector("[role=alert]:has-text('the server does not answer')");
    assert.deepEqual(await axe(page), []);
    await page.unroute(/\/v1\/block\?/);
    await page.click("button:text-is('Try again')");
    await page.waitForSelector("h1:text-is('21')");
  }));

test("a drawing that took too long is asked for again, with filters", () => {
  const asked: URLSearchParams[] = [];
  const error = { code: "timeout", message: "the time limit ended", hint: "name fewer blocks" };
  return at(
    `#/graph/${MIXER}`,
    {},
    async (page) => {
      await page.waitForSelector("[role=alert]:has-text('the time limit ended')");
      await page.waitForSelector(".panel p:text-is('Change the filters, or try again.')");
      // The filters are those of what failed.
      assert.ok(await page.isChecked("#filter-internal"));
      await page.unroute(/neighbors/);
      await page.fill("#filter-until", "20");
      await page.press("#filter-until", "Enter");
      assert.ok((await counts(page))[1] > 0);
      assert.equal(asked.at(-1)?.get("blocks"), ":20");
    },
    async (page) => {
      await noting("neighbors", asked)(page);
      await answering(/neighbors/, 504, { error })(page);
    },
  );
});

test("a server that needs a token says that it refused a wrong one", () => {
  const refused = answering(/\/v1\/info/, 401, { error: { code: "token", message: "wrong token", hint: null } });
  return at(
    "",
    {},
    async (page) => {
      await page.waitForSelector("#token:focus");
      assert.equal(await page.locator("[role=alert]").count(), 0);
      await page.keyboard.type("wrong");
      await page.keyboard.press("Enter");
      await page.waitForSelector("[role=alert]:has-text('The server refused the token.')");
      assert.deepEqual(await axe(page), []);
    },
    refused,
  );
});

for (const [name, options] of LOOKS) {
  test(`long names, texts and amounts have room: ${name}`, () =>
    at(
      `#/tx/${place.transaction}`,
      options,
      async (page) => {
        await section(page, "Logs").waitFor();
        await hasNoSidewaysScroll(page);
        assert.deepEqual(await axe(page), []);
        const [before, changed] = await section(page, "Changes of state").locator("td code").allTextContents();
        assert.deepEqual([before, changed], ["0x1", `0x1${"0".repeat(62)}`]);
      },
      async (page) => {
        const long = "W".repeat(300);
        const method = `${long}(to: ${"0xcAA8aBEb21eA52D586925572de161dA0BffE3E48, ".repeat(9)})`;
        const slot = {
          slot: `0x${"a".repeat(64)}`,
          before: `0x${"1".padStart(64, "0")}`,
          after: `0x01${"0".repeat(62)}`,
        };
        const state = { address: PEEL, balance: null, nonce: null, created: false, destroyed: false, slots: [slot] };
        const log = { index: 0, address: PEEL, topics: [place.transaction], data: "0x", event: method };
        const amount = (2n ** 256n - 1n).toString();
        const transfer = {
          ...place,
          log_index: 0,
          kind: "transfer",
          standard: "erc20",
          from: PEEL,
          to: MIXER,
          id: null,
        };
        const token = { address: address(9), symbol: long, decimals: 0, name: long };
        await page.route(/\/v1\/transaction/, (route) =>
          route.fulfill({
            json: {
              hash: place.transaction,
              block: 1,
              index: 0,
              time: place.time,
              from: PEEL,
              to: MIXER,
              value: amount,
              gas_used: 21_000,
              gas_price: amount,
              fee: amount,
              status: false,
              reason: long,
              input: `0x${"ab".repeat(5_000)}`,
              method,
              created: null,
              transfers: [{ ...transfer, token: address(9), amount }],
              swaps: [],
              unresolved: [],
              logs: [log],
              calls: { type: "CALL", from: PEEL, to: MIXER, value: "0x1", gasUsed: "0x1", error: long, calls: [] },
              state: [state],
              labels: { [PEEL]: { name: long, category: "mixer", source: null } },
              tokens: { ...NATIVE, [address(9)]: token },
              incomplete: [long],
              command: `txgraph tx ${long}`,
            },
          }),
        );
      },
    ));
}

test("a command is copied, also where the page has no clipboard", async () => {
  const command = `txgraph address ${MIXER} --json`;
  const copied = async (page: Page): Promise<void> => {
    const line = section(page, "Account").locator(".command");
    assert.equal(await line.locator("code").textContent(), command);
    await line.locator("button").click();
    await line.locator("button.done").waitFor();
    // What was copied is pasted into the search.
    await page.focus("#search");
    await page.keyboard.press("Control+V");
    assert.equal(await page.inputValue("#search"), command);
  };
  const path = `#/address/${MIXER}`;
  await at(path, { permissions: ["clipboard-read", "clipboard-write"] }, copied);
  const without = async (page: Page): Promise<void> =>
    void (await page.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined })));
  await at(path, { permissions: ["clipboard-read", "clipboard-write"] }, copied, without);
});
