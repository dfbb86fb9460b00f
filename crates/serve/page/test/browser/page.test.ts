import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import {
  at,
  axe,
  BASE,
  close,
  counts,
  downloaded,
  hasNoSidewaysScroll,
  HOSTILE,
  LOOKS,
  MIXER,
  PEEL,
  PEEL_LAST,
  PEEL_NEXT,
  settled,
} from "./browser.ts";

after(close);

const graph = (address: string): string => `#/graph/${address}`;

const saveAs = (page: Page, name: string) => async (): Promise<void> => {
  await page.click("button[aria-label='Save as…']");
  await page.click(`[role=menuitem]:has-text('${name}')`);
};

test("search: a token by its symbol, with the keyboard only", () =>
  at("", {}, async (page) => {
    await page.waitForSelector("#start:focus");
    await page.keyboard.type("usd6");
    await page.waitForSelector("[role=option]:has-text('USD6')");
    assert.match((await page.textContent("#live")) ?? "", /result/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForSelector("h1:has-text('USD6')");
    assert.match(page.url(), /#\/token\/0x/);
    assert.ok((await page.locator(".card:has-text('Holders') tbody tr").count()) > 1);
  }));

test("search: a block, an address, a transaction, and nothing", () =>
  at("#/block/1", {}, async (page) => {
    await page.waitForSelector("h1:has-text('1')");
    await page.keyboard.press("/");
    await page.keyboard.type("20");
    await page.keyboard.press("Enter");
    await page.waitForSelector("h1:text-is('20')");
    const hash = (await page.getAttribute("table a[href^='#/tx/']", "title")) ?? "";
    await page.fill("#search", PEEL);
    await page.press("#search", "Enter");
    await page.waitForSelector(`h1:text-is('${PEEL}')`);
    await page.fill("#search", hash);
    await page.press("#search", "Enter");
    await page.waitForSelector(`h1:text-is('${hash}')`);
    await page.fill("#search", "no such name");
    await page.waitForSelector(".found .none");
  }));

test("a contract says what it is", () =>
  at("#/address/0xd601451207128971898aab8654521699f35222e2", {}, async (page) => {
    await page.waitForSelector(".heading .kind:text-is('Contract')");
    await page.waitForSelector(".facts div:has(dt:text-is('Token')) dd:has-text('supply')");
    assert.equal(await page.locator(".facts dt:text-is('Pool of')").count(), 0);
  }));

test("pages lead to each other and back", () =>
  at(`#/address/${PEEL}`, {}, async (page) => {
    await page.click(".card:has-text('Transfers') a[href^='#/tx/']");
    await page.waitForSelector(".heading .kind:text-is('Transaction')");
    await page.waitForSelector(".card:has-text('Movements') tbody tr");
    await page.click("dd a[href^='#/block/']");
    await page.waitForSelector(".heading .kind:text-is('Block')");
    await page.goBack();
    await page.goBack();
    await page.waitForSelector(`h1:text-is('${PEEL}')`);
    await page.click("a.button:has-text('Graph')");
    assert.ok((await counts(page))[1] >= 2);
    await page.click(`.panel a[href='#/address/${PEEL}']`);
    await page.waitForSelector(`h1:text-is('${PEEL}')`);
    // The drawing is still there.
    await page.keyboard.press("g");
    assert.ok((await counts(page))[1] >= 2);
  }));

test("a page that is left while it loads does not take the place of the next one", () =>
  at("#/block/20", {}, async (page) => {
    await page.waitForSelector("h1:text-is('20')");
    await page.route(/\/v1\/block\?block=21/, async (route) => {
      await new Promise((done) => setTimeout(done, 1_500));
      await route.continue();
    });
    await page.evaluate(() => void (location.hash = "#/block/21"));
    await page.evaluate(() => void (location.hash = "#/block/19"));
    await page.waitForSelector("h1:text-is('19')");
    await page.waitForTimeout(2_000);
    assert.equal(await page.textContent("h1"), "19");
  }));

test("expand, undo and redo, with buttons and keys", () =>
  at(graph(PEEL), {}, async (page) => {
    const before = await counts(page);
    await page.keyboard.press("t");
    await page.click(`.drawer button[title='${PEEL_NEXT}']`);
    await page.focus(".canvas");
    await page.keyboard.press("o");
    await page.waitForSelector("button[aria-label^='Undo']:enabled");
    const expanded = await counts(page);
    assert.ok(expanded[1] > before[1], `${before} ${expanded}`);
    await page.keyboard.press("Control+z");
    assert.deepEqual(await counts(page), before);
    await page.click("button[aria-label^='Redo']");
    assert.deepEqual(await counts(page), expanded);
    // The table has the arrows of the drawing.
    assert.equal(await page.locator(".drawer tbody tr").count(), expanded[1]);
    // A click on the number of transfers shows them.
    await page.click(".drawer tbody tr:first-child button[aria-label*='show them']");
    await page.waitForSelector(".panel table:has(caption:text-is('Transfers of this arrow')) tbody tr");
  }));

test("what is chosen is said", () =>
  at(graph(PEEL), {}, async (page) => {
    await settled(page);
    await page.focus(".canvas");
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() =>
      /^0x.* arrows? in, .* arrows? out$/.test(document.getElementById("live")?.textContent ?? ""),
    );
  }));

test("a click selects, a double click expands, a movement stays", () =>
  at(graph(PEEL), {}, async (page) => {
    await settled(page);
    await page.keyboard.press("Escape");
    const box = await page.locator(".canvas").boundingBox();
    assert.ok(box);
    const before = await counts(page);
    const found = await search(page, box);
    assert.ok(found, "no address was hit");
    await page.mouse.dblclick(found.x, found.y);
    await page.waitForTimeout(500);
    const after = await counts(page);
    assert.ok(after[0] >= before[0]);
    await page.mouse.move(found.x, found.y);
    await page.mouse.down();
    await page.mouse.move(found.x + 40, found.y + 90, { steps: 5 });
    await page.mouse.up();
    await page.keyboard.press("Escape");
    await page.waitForSelector("button:has-text('Arrange moved addresses')");
    await page.click("button:has-text('Arrange moved addresses')");
    assert.deepEqual(await counts(page), after);
  }));

/** Clicks from the middle of the drawing outward until an address is selected. */
async function search(
  page: Page,
  box: { x: number; y: number; width: number; height: number },
): Promise<{ x: number; y: number } | null> {
  const [step, middle] = [12, { x: box.x + box.width / 2, y: box.y + box.height / 2 }];
  const places = Array.from({ length: 60 * 30 }, (_, index) => ({
    x: middle.x + ((index % 60) - 30) * step,
    y: middle.y + (Math.floor(index / 60) - 15) * step,
  }));
  const distance = ({ x, y }: { x: number; y: number }): number => Math.hypot(x - middle.x, y - middle.y);
  const inside = places.filter(({ x, y }) => x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height);
  for (const { x, y } of inside.sort((a, b) => distance(a) - distance(b))) {
    await page.mouse.click(x, y);
    if ((await page.locator(".panel .whole").count()) > 0) return { x, y };
  }
  return null;
}

test("filters: token, kind, range and amount, and their removal", () =>
  at(graph(MIXER), {}, async (page) => {
    const all = await counts(page);
    await page.fill("#filter-token", "USD6");
    await page.press("#filter-token", "Enter");
    const some = await counts(page);
    assert.ok(some[1] < all[1], `${all} ${some}`);
    await page.click("button:text-is('Clear')");
    assert.deepEqual(await counts(page), all);
    await page.selectOption("#filter-kind", "erc721");
    assert.ok((await counts(page))[1] < all[1]);
    await page.selectOption("#filter-kind", "");
    await page.fill("#filter-until", "1");
    await page.press("#filter-until", "Enter");
    assert.ok((await counts(page))[1] < all[1]);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Escape");
    await page.click("button[aria-label^='Undo']");
    assert.deepEqual(await counts(page), all);
  }));

test("a path between two addresses", () =>
  at(graph(PEEL), {}, async (page) => {
    const before = await counts(page);
    await page.click("button:has-text('Path from here')");
    await page.fill("#path-to", PEEL_LAST);
    await page.press("#path-to", "Enter");
    await page.waitForFunction(
      (text) => document.querySelector(".status")?.textContent !== text,
      `${before[0]} addresses, ${before[1]} arrows`,
    );
    assert.ok((await counts(page))[1] > before[1]);
    await page.keyboard.press("t");
    await page.waitForSelector(`.drawer button[title='${PEEL_LAST}']`);
    // In the other direction there is none, and the page says so.
    await page.click(`.drawer button[title='${PEEL_LAST}']`);
    await page.click("button:has-text('Path from here')");
    await page.fill("#path-to", PEEL);
    await page.press("#path-to", "Enter");
    await page.waitForSelector("[role=alert]:has-text('No route was found')");
  }));

test("a case is saved and opened again, with notes and without requests", () =>
  at(graph(MIXER), {}, async (page) => {
    await settled(page);
    await page.fill("#note", "pays in <b>one</b> ether");
    await page.press("#note", "Tab");
    const before = await counts(page);
    const [name, text] = await downloaded(page, () => page.click("button[aria-label^='Save the case']"));
    assert.match(name, /\.json$/);
    const file = join(tmpdir(), `txgraph-case-${process.pid}.json`);
    writeFileSync(file, text);
    await page.evaluate(() => sessionStorage.clear());
    await page.goto(`${BASE}/#/graph`);
    await page.reload();
    await page.waitForSelector("main.graph");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.setInputFiles("input[type=file]", file);
    await page.waitForFunction(() => !document.querySelector(".status")?.textContent?.startsWith("0 "));
    assert.deepEqual(await counts(page), before);
    assert.deepEqual(
      asked.filter((url) => url.includes("/v1/neighbors")),
      [],
    );
    await page.keyboard.press("Escape");
    await page.waitForSelector(".notes p:text-is('pays in <b>one</b> ether')");
    await page.waitForSelector("[role=note]:has-text('answers are from a file, not from this server')");
    await page.click("button:has-text('Ask the server again')");
    await page.waitForSelector("[role=note]:has-text('from a file')", { state: "detached" });
    assert.ok(asked.some((url) => url.includes("/v1/neighbors")));
    assert.deepEqual(await counts(page), before);
    // What is no case is refused.
    writeFileSync(file, "{}");
    await page.setInputFiles("input[type=file]", file);
    await page.waitForSelector("[role=alert]:has-text('not a case')");
  }));

test("a reload keeps the drawing", () =>
  at(graph(PEEL), {}, async (page) => {
    await settled(page);
    await page.focus(".canvas");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("o");
    await page.waitForSelector("button[aria-label^='Undo']:enabled");
    const before = await counts(page);
    await page.reload();
    assert.deepEqual(await counts(page), before);
  }));

test("files: SVG, PNG, CSV, DOT, and a page that needs no server", () =>
  at(graph(MIXER), {}, async (page) => {
    const [, arrows] = await counts(page);
    const file = async (name: string): Promise<Buffer> => (await downloaded(page, saveAs(page, name)))[1];
    const svg = (await file("SVG")).toString();
    assert.equal((svg.match(/class="arrow"/g) ?? []).length, arrows);
    const png = await file("PNG");
    assert.equal(png.subarray(1, 4).toString(), "PNG");
    assert.ok(png.length > 5_000);
    assert.equal((await file("CSV")).toString().trim().split("\n").length, arrows + 1);
    assert.equal(((await file("DOT")).toString().match(/ -> /g) ?? []).length, arrows);
    const shared = (await file("HTML")).toString();
    assert.doesNotMatch(shared, /<script|https?:\/\/(?!www\.w3\.org)/);
    const offline = await page.context().newPage();
    await offline.setContent(shared);
    assert.equal(await offline.locator("tbody tr").count(), arrows);
    await offline.close();
  }));

test("hidden addresses come back", () =>
  at(graph(PEEL), {}, async (page) => {
    const before = await counts(page);
    await page.focus(".canvas");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("h");
    await page.click("button:has-text('hidden address')");
    assert.deepEqual(await counts(page), before);
  }));

test("the keys are listed, and the dialog gives the focus back", () =>
  at(graph(PEEL), {}, async (page) => {
    await settled(page);
    await page.focus(".canvas");
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open] kbd");
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.activeElement?.className), "canvas");
    await page.keyboard.press("f");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "filter-token");
  }));

test("everything is reached with Tab, in order", () =>
  at(graph(PEEL), {}, async (page) => {
    await settled(page);
    await page.waitForSelector(".profile dl");
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    const names: string[] = [];
    for (let step = 0; step < 60; step += 1) {
      await page.keyboard.press("Tab");
      names.push(
        await page.evaluate(() => {
          const { activeElement: element } = document;
          return element?.getAttribute("aria-label") ?? element?.id ?? "";
        }),
      );
    }
    const order = ["Search", "Open a case (Ctrl+O)", "Fit everything (0)", "filter-token", "Drawing", "note"].map(
      (name) => names.indexOf(name),
    );
    assert.ok(
      order.every((place, index) => place >= 0 && (index === 0 || place > (order[index - 1] ?? 0))),
      `${order}: ${names}`,
    );
  }));

const VIEWS = ["", `#/address/${MIXER}`, "#/block/20", graph(MIXER), "#/nothing"];

for (const [name, options] of LOOKS) {
  test(`axe finds nothing serious, and nothing scrolls sideways: ${name}`, async () => {
    for (const view of VIEWS) {
      await at(view, options, async (page) => {
        await page.waitForSelector("main");
        if (view === graph(MIXER)) {
          await settled(page);
          await page.keyboard.press("t");
          await page.waitForSelector(".drawer tbody tr");
        }
        await page.waitForLoadState("networkidle");
        assert.deepEqual(await axe(page), [], view);
        await hasNoSidewaysScroll(page);
      });
    }
    await at("#/block/20", options, async (page) => {
      await page.click("table a[href^='#/tx/']");
      await page.waitForSelector(".card:has-text('Movements')");
      assert.deepEqual(await axe(page), [], "transaction");
      await hasNoSidewaysScroll(page);
      await page.keyboard.press("?");
      assert.deepEqual(await axe(page), [], "keys");
    });
  });
}

/** Puts hostile text into every text of an answer. */
function poison(value: unknown, key = ""): unknown {
  if (typeof value === "string")
    return ["symbol", "name", "text", "category", "method", "event", "command", "error", "revertReason"].includes(key)
      ? HOSTILE
      : value;
  if (Array.isArray(value)) return value.map((one) => poison(one, key));
  if (value === null || typeof value !== "object")
    return key === "from_label" || key === "to_label" || key === "label"
      ? { name: HOSTILE, category: HOSTILE, source: null }
      : value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, name === "incomplete" ? [HOSTILE] : poison(one, name)]),
  );
}

test("labels, symbols and messages of others stay text", async () => {
  const prepare = async (page: Page): Promise<void> =>
    void (await page.route(/\/v1\/(?!info)/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: poison(await response.json()) });
    }));
  for (const view of [graph(MIXER), `#/address/${MIXER}`, "#/block/20"]) {
    await at(
      view,
      {},
      async (page) => {
        await page.waitForSelector("main");
        if (view === graph(MIXER)) {
          await settled(page);
          await page.keyboard.press("t");
        }
        if (view === "#/block/20") {
          await page.click("table a[href^='#/tx/']");
          await page.waitForSelector(".card:has-text('Movements')");
        }
        await page.waitForLoadState("networkidle");
        assert.equal(await page.locator("main img, main script").count(), 0);
        assert.match((await page.textContent("main")) ?? "", /<img src=x/);
      },
      prepare,
    );
  }
});

test("a transaction lists its swaps, and those that are not clear", () => {
  const [trader, receiver, pool] = [1, 2, 3].map((digit) => `0x${String(digit).repeat(40)}`);
  const swap = { address: trader, to: receiver, given_token: "native", given: "1500000000000000000" };
  const got = { got_token: "native", got: "2000000000000000000" };
  const prepare = async (page: Page): Promise<void> =>
    void (await page.route(/\/v1\/transaction\?/, async (route) => {
      const response = await route.fetch();
      const answer = (await response.json()) as object;
      await route.fulfill({ response, json: { ...answer, swaps: [{ ...swap, ...got }], unresolved: [pool] } });
    }));
  return at(
    "#/block/20",
    {},
    async (page) => {
      await page.click("table a[href^='#/tx/']");
      const card = page.locator(".card:has(h2:text-is('Swaps'))");
      const text = (await card.textContent()) ?? "";
      assert.match(text, /1\.5 ETH.*2 ETH/);
      const links = card.locator("a[href^='#/address/']");
      const targets = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")?.slice(10)));
      assert.deepEqual(targets, [trader, receiver, pool]);
      assert.deepEqual(await axe(page), []);
    },
    prepare,
  );
});

test("what the server refuses is said, and the drawing stays", () => {
  const error = {
    error: { code: "incomplete", message: "receipts before block 500 are pruned", hint: "ask for later blocks" },
  };
  return at(graph(PEEL), {}, async (page) => {
    const before = await counts(page);
    await page.route(/neighbors/, (route) => route.fulfill({ status: 422, json: error }));
    await page.focus(".canvas");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("o");
    await page.waitForSelector("[role=alert]:has-text('are pruned')");
    assert.match((await page.textContent("[role=alert]")) ?? "", /ask for later blocks/);
    assert.deepEqual(await counts(page), before);
  });
});

test("many arrows are folded, and that is said", () => {
  const address = (number: number): string => `0x${number.toString(16).padStart(40, "0")}`;
  const place = { block: 1, time: 1_704_067_200, transaction: `0x${"1".repeat(64)}`, index: 0 };
  const edges = Array.from({ length: 3_000 }, (_, index) => ({
    from: MIXER,
    to: address(0x1000 + index),
    token: "native",
    kind: "native",
    count: 1,
    amount: "1000",
    first: place,
    last: place,
    from_label: null,
    to_label: null,
    from_contract: true,
    to_contract: false,
  }));
  const tokens = { native: { address: "native", symbol: "ETH", decimals: 18, name: null } };
  const prepare = async (page: Page): Promise<void> =>
    void (await page.route(/neighbors/, (route) => {
      const isOut = route.request().url().includes("direction=out");
      return route.fulfill({
        json: {
          address: MIXER,
          direction: "out",
          edges: isOut ? edges : [],
          more: 0,
          tokens,
          incomplete: [],
          command: null,
        },
      });
    }));
  return at(
    graph(MIXER),
    {},
    async (page) => {
      const [addresses, arrows] = await counts(page);
      assert.ok(arrows <= 2_000 && addresses < 50, `${addresses} ${arrows}`);
      await page.keyboard.press("Escape");
      await page.waitForSelector(".gaps:has-text('drawn as groups')");
    },
    prepare,
  );
});

test("without WebGL, the drawing is a picture with its table", () =>
  at(
    graph(PEEL),
    {},
    async (page) => {
      await settled(page);
      await page.waitForSelector(".canvas.still img");
      assert.ok((await page.locator(".drawer tbody tr").count()) > 0);
    },
    async (page) =>
      void (await page.addInitScript(() => {
        HTMLCanvasElement.prototype.getContext = () => null;
      })),
  ));

test("the policy of the page forbids other scripts and hosts", () =>
  at("", {}, async (page) => {
    const response = await page.reload();
    const headers = response?.headers() ?? {};
    assert.match(headers["content-security-policy"] ?? "", /default-src 'none'.*frame-ancestors 'none'/);
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["referrer-policy"], "no-referrer");
    assert.ok(headers.etag);
  }));
