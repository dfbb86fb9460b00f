// A browser at the page, and what every test checks: no request to another host, no error of the page.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from "playwright-core";

export const BASE = process.env.TXGRAPH_PAGE_URL ?? "http://127.0.0.1:8600";
const PROGRAM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** The root of a peel chain, and a mixer, in testdata/small. */
export const PEEL = "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0";
export const PEEL_NEXT = "0xa36cea4d9ba68e7f63e9c08dfe87ca5284a6c217";
export const PEEL_LAST = "0xf4c71c4b96606343c0511861a6abcc8da52b2e37";
export const MIXER = "0xaecb301df506d89934995cf39ba7810c9fc6466b";

/** An account with an open approval, and its spender. */
export const OWNER = "0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529";
export const SPENDER = "0x23b9f8b9c7624bf5bbdc966963cd2888b8a46c5c";

/** Text that tries to be markup. */
export const HOSTILE = `<img src=x onerror="alert(1)"><script>alert(2)</script>\u202e'"&`;

/** The sizes and colors in which views are looked at. */
export const LOOKS: [string, BrowserContextOptions][] = [
  ["light, 1280 pixels", {}],
  ["dark, 1280 pixels", { colorScheme: "dark" }],
  ["390 pixels", { viewport: { width: 390, height: 844 } }],
  ["dark, 390 pixels", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
];

let browser: Browser | null = null;

async function launch(): Promise<Browser> {
  assert.ok(existsSync(PROGRAM), `${PROGRAM} is missing: install the package chromium, or set CHROMIUM`);
  // WebGL by software, so that the tests need no graphics card.
  const args = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];
  browser ??= await chromium.launch({ executablePath: PROGRAM, args });
  return browser;
}

export async function close(): Promise<void> {
  await browser?.close();
  browser = null;
}

/** Runs a test at a path of the page, or at a file. */
export async function at(
  path: string,
  options: BrowserContextOptions,
  test: (page: Page) => Promise<void>,
  prepare?: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await (
    await launch()
  ).newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    // Answers with a status of errors are part of some tests.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      faults.push(message.text());
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(BASE) && url !== path && !/^(blob|data):/.test(url)) faults.push(`request to ${url}`);
  });
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await prepare?.(page);
  try {
    await page.goto(path.startsWith("file:") ? path : `${BASE}/${path}`);
    await test(page);
    assert.deepEqual(faults, []);
  } catch (error) {
    const { TXGRAPH_PAGE_SHOT } = process.env;
    if (TXGRAPH_PAGE_SHOT) await page.screenshot({ path: TXGRAPH_PAGE_SHOT });
    throw error;
  } finally {
    // A request that a test changes may still be on its way.
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
  }
}

/** Waits until the graph page has asked for everything. */
export async function settled(page: Page): Promise<void> {
  await page.waitForSelector("main.graph[aria-busy=false] .status:has-text('arrow')");
}

/** The numbers of addresses and arrows that the status states. */
export async function counts(page: Page): Promise<[number, number]> {
  await settled(page);
  const text = (await page.textContent(".status")) ?? "";
  const [, addresses = "", arrows = ""] = /([\d,]+) address\w*, ([\d,]+) arrow/.exec(text) ?? [];
  return [Number(addresses.replace(/,/g, "")), Number(arrows.replace(/,/g, ""))];
}

/** A section of a page by its title. */
export const section = (page: Page, title: string): Locator => page.locator(`.card:has(h2:text-is('${title}'))`);

/** Answers requests to a path with a document. */
export const answering =
  (path: RegExp, status: number, json: object) =>
  async (page: Page): Promise<void> =>
    void (await page.route(path, (route) => route.fulfill({ status, json })));

/** Notes the parameters of requests to a path. */
export const noting =
  (path: string, asked: URLSearchParams[]) =>
  async (page: Page): Promise<void> =>
    void page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.pathname === `/v1/${path}`) asked.push(url.searchParams);
    });

/** The content of a file that a click gives. */
export async function downloaded(page: Page, click: () => Promise<void>): Promise<[string, Buffer]> {
  const [download] = await Promise.all([page.waitForEvent("download"), click()]);
  return [download.suggestedFilename(), readFileSync(await download.path())];
}

const AXE = readFileSync("node_modules/axe-core/axe.min.js", "utf8");

/** The serious faults of accessibility that axe finds. */
export async function axe(page: Page): Promise<string[]> {
  // Evaluated by the debugger: the policy of the page allows no other script.
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    interface Found {
      violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
    }
    const { violations } = await (globalThis as unknown as { axe: { run(): Promise<Found> } }).axe.run();
    const bad = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    return bad.map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary.slice(0, 200)}`).join("; ")}`,
    );
  });
}

export async function hasNoSidewaysScroll(page: Page): Promise<void> {
  const [content, view] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok((content ?? 0) <= (view ?? 0), `${content} pixels of content in ${view}`);
}
