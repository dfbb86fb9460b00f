// Frames of a large drawing: no names are drawn while it is moved.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { answering, at, close, counts } from "./browser.ts";

after(close);

const ARROWS = 2_000;
const address = (number: number): string => `0x${number.toString(16).padStart(40, "0")}`;
const place = { block: 1, time: 1_704_067_200, transaction: `0x${"1".repeat(64)}`, index: 0 };
const ends = { from_label: null, to_label: null, from_contract: false, to_contract: false };

/** Two layers of addresses, each with several arrows, so that nothing is folded. */
const LAYER = 500;
const edges = Array.from({ length: ARROWS }, (_, index) => ({
  from: address(0x1000 + (index % LAYER)),
  to: address(0x2000 + ((index * 7 + Math.floor(index / LAYER)) % LAYER)),
  token: "native",
  kind: "native",
  count: 1,
  amount: "1000000000000000000",
  first: place,
  last: place,
  ...ends,
}));
const vertices = [...new Set(edges.flatMap(({ from, to }) => [from, to]))].map((address, row) => ({
  address,
  column: address.endsWith("1000") ? 0 : 1,
  row,
  depth: 1,
  label: null,
  is_contract: false,
  marks: [],
}));
const tokens = { native: { address: null, symbol: "ETH", decimals: 18, name: null } };

/** The texts that were drawn since the last call. */
const drawn = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const found = globalThis as unknown as { texts: number };
    const { texts } = found;
    found.texts = 0;
    return texts;
  });

const frames = (page: Page): Promise<void> =>
  page.evaluate(
    () => new Promise<void>((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))),
  );

for (const [name, isTouch] of [
  ["a mouse", false],
  ["fingers", true],
] as const) {
  test(`a large drawing has no names while ${name} move it`.replace("mouse move", "mouse moves"), () =>
    at(
      `#/graph/${address(0x1000)}?hops=2&direction=out`,
      { hasTouch: isTouch },
      async (page) => {
        assert.equal((await counts(page))[1], ARROWS);
        await page.waitForFunction(() => (globalThis as unknown as { texts: number }).texts > 0);
        const box = await page.locator(".canvas").boundingBox();
        const [x, y] = [(box?.x ?? 0) + 40, (box?.y ?? 0) + (box?.height ?? 0) - 30];
        const cdp = await page.context().newCDPSession(page);
        const touch = (type: "touchStart" | "touchMove" | "touchEnd", by: number): Promise<unknown> =>
          cdp.send("Input.dispatchTouchEvent", { type, touchPoints: type === "touchEnd" ? [] : [{ x: x + by, y }] });
        const move = (by: number): Promise<unknown> => (isTouch ? touch("touchMove", by) : page.mouse.move(x + by, y));
        await (isTouch ? touch("touchStart", 0) : page.mouse.move(x, y).then(() => page.mouse.down()));
        for (const by of [2, 6, 10, 14]) await move(by).then(() => frames(page));
        await drawn(page);
        for (let by = 18; by < 60; by += 4) await move(by).then(() => frames(page));
        assert.equal(await drawn(page), 0);
        await (isTouch ? touch("touchEnd", 60) : page.mouse.up());
        await page.waitForFunction(() => (globalThis as unknown as { texts: number }).texts > 0);
      },
      async (page) => {
        await answering(/\/v1\/graph/, 200, { vertices, edges, tokens, incomplete: [], command: null })(page);
        await page.addInitScript(() => {
          const found = Object.assign(globalThis, { texts: 0 });
          const { fillText } = CanvasRenderingContext2D.prototype;
          CanvasRenderingContext2D.prototype.fillText = function (...text) {
            found.texts += 1;
            fillText.apply(this, text);
          };
        });
      },
    ),
  );
}
