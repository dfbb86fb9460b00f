// The page that `txgraph graph -o picture.html` writes.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { at, axe, close, downloaded, LOOKS, PEEL } from "./browser.ts";

const { TXGRAPH_PICTURE = "picture.html" } = process.env;
const FILE = `file://${TXGRAPH_PICTURE}`;
const start = `${PEEL.slice(0, 6)}…`;

after(close);

test("keys choose addresses, show the table, and search", () =>
  at(FILE, {}, async (page) => {
    const arrows = Number(await page.getAttribute("body", "data-arrows"));
    assert.ok(arrows > 2);
    assert.match(await page.title(), new RegExp(`from ${start}`));
    await page.focus("#view");
    await page.keyboard.press("ArrowRight");
    const root = (await page.textContent("#details h2")) ?? "";
    assert.ok(root.startsWith(start), root);
    await page.keyboard.press("ArrowRight");
    const next = (await page.textContent("#details h2")) ?? "";
    assert.notEqual(next, root);
    await page.keyboard.press("Enter");
    assert.equal(await page.textContent(":focus"), "close");
    await page.keyboard.press("Escape");
    assert.ok(await page.isHidden("#details"));
    await page.keyboard.press("t");
    assert.equal(await page.locator("#table tbody tr").count(), arrows);
    await page.locator("#table tbody tr").first().locator("button").nth(2).click();
    assert.match((await page.textContent("#details")) ?? "", /token/);
    await page.focus("#view");
    await page.keyboard.press("/");
    await page.keyboard.type(PEEL);
    assert.equal(await page.textContent("#found"), "1 found");
  }));

test("a click chooses what is drawn there, and hidden vertices take their arrows with them", () =>
  at(FILE, {}, async (page) => {
    const arrows = Number(await page.getAttribute("body", "data-arrows"));
    // The search centers the only vertex that it finds.
    await page.fill("#search", PEEL);
    const box = await page.locator("#view").boundingBox();
    assert.ok(box !== null);
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    assert.ok(((await page.textContent("#details h2")) ?? "").startsWith(start));
    await page.click("#details button:text-is('hide')");
    assert.ok(Number(await page.getAttribute("body", "data-arrows")) < arrows);
    await page.click("#show");
    assert.equal(Number(await page.getAttribute("body", "data-arrows")), arrows);
    await page.locator("#legend button").first().click();
    assert.ok(Number(await page.getAttribute("body", "data-arrows")) < arrows);
  }));

test("the saved picture has every arrow and its amount", () =>
  at(FILE, {}, async (page) => {
    const arrows = Number(await page.getAttribute("body", "data-arrows"));
    await page.selectOption("#amounts", "all");
    const [name, content] = await downloaded(page, () => page.click("#save"));
    assert.equal(name, "transfers.svg");
    const svg = content.toString();
    assert.equal(svg.match(/ [CL][\d.,\- ]+" fill="none"/g)?.length, arrows);
    assert.ok(svg.includes(">" + (await page.textContent("#legend button"))?.split(" ")[0]) || svg.includes("USD6"));
    assert.ok(!svg.includes("NaN"));
  }));

for (const [name, options] of LOOKS) {
  test(`axe finds nothing serious in a picture: ${name}`, () =>
    at(FILE, options, async (page) => {
      await page.focus("#view");
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("t");
      assert.deepEqual(await axe(page), []);
    }));
}
