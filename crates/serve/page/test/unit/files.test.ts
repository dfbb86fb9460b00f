import assert from "node:assert/strict";
import { test } from "node:test";
import { draw } from "../../src/graph/drawing.ts";
import { caseFile, csv, dot, field, page, quoted, readCase } from "../../src/graph/files.ts";
import { aboutOf } from "../../src/graph/about.ts";
import type { Parts } from "../../src/graph/parts.ts";
import { EMPTY } from "../../src/graph/recipe.ts";
import { compressed, graphSense } from "../../src/graph/graphsense.ts";
import { svg, xml } from "../../src/graph/svg.ts";
import type { Info } from "../../src/base/types.ts";
import { address, drawn, edge, neighbors, part, TOKEN, TOKENS } from "./made.ts";

const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e&'\\`;

function hostile(): ReturnType<typeof drawn> {
  const label = { name: HOSTILE, category: HOSTILE, source: HOSTILE };
  const tokens = { ...TOKENS, [TOKEN]: { address: TOKEN, symbol: HOSTILE, decimals: 6, name: HOSTILE } };
  const answer = part([edge(1, 2, { from_label: label, to_label: label }), edge(3, 1)], {
    tokens,
    incomplete: [HOSTILE],
    command: HOSTILE,
  });
  return drawn([1], [[neighbors(1, "out"), answer]], { notes: { [address(1)]: HOSTILE } });
}

test("text of others is never markup of files", () => {
  const drawing = draw(...hostile());
  for (const text of [svg(drawing, HOSTILE), page(drawing, HOSTILE, [HOSTILE])]) {
    assert.doesNotMatch(text, /<script|<img/);
    // All quotes are those of attributes: none is inside of a text.
    assert.doesNotMatch(text, /onerror=alert\(1\)>/);
  }
  assert.match(page(drawing, "t", []), /default-src 'none'/);
  assert.equal(xml("\u0000<&\"'>"), "&lt;&amp;&quot;&#39;&gt;");
  const lines = dot(drawing, HOSTILE).split("\n");
  for (const line of lines) assert.equal((line.replace(/\\\\|\\"/g, "").match(/"/g) ?? []).length % 2, 0, line);
  assert.equal(quoted('a"\n\\'), '"a\\" \\\\"');
});

test("fields of CSV are quoted, and are no formulas", () => {
  assert.equal(field("a,b"), '"a,b"');
  assert.equal(field('say "x"'), '"say ""x"""');
  assert.equal(field("=1+1"), "'=1+1");
  // As the tests of the tables of txgraph have it.
  assert.equal(field(";=cmd|'/C calc'!A0;"), ";'=cmd|'/C calc'!A0;");
  assert.equal(field('a; "=1,@b;b'), `"a;' ""=1,@b;b"`);
  assert.equal(field("a;b"), "a;b");
  assert.equal(field("a\n=1"), "a =1");
  assert.equal(field("\t@SUM(A1)"), "'@SUM(A1)");
  assert.equal(field("-5.25"), "-5.25");
  assert.equal(field(null), "");
  const rows = csv(draw(...drawn([1], [[neighbors(1, "out"), part([edge(1, 2)])]])))
    .trim()
    .split("\n");
  assert.equal(rows.length, 2);
  assert.match(rows[1] ?? "", new RegExp(`^${address(1)},${address(2)},,,${TOKEN},USD,erc20,1,1000000,1,1,2023-`));
});

test("a case comes back as it was saved", () => {
  const [recipe, parts] = hostile();
  const text = caseFile(7, recipe, parts.of(recipe));
  const found = readCase(text, 7);
  assert.deepEqual(found.recipe, recipe);
  const again = drawn([1], found.parts, { notes: recipe.notes });
  assert.deepEqual(draw(...again), draw(recipe, parts));
});

test("what is no case is refused with the reason", () => {
  const [recipe, parts] = hostile();
  const text = caseFile(7, recipe, parts.of(recipe));
  const changed = (more: object): string => JSON.stringify({ ...JSON.parse(text), ...more });
  assert.throws(() => readCase("{", 7), /not JSON/);
  assert.throws(() => readCase("null", 7), /not a case/);
  assert.throws(() => readCase("[]", 7), /not a case/);
  assert.throws(() => readCase(text, 8), /chain 7/);
  assert.throws(() => readCase(changed({ version: 2 }), 7), /version 2/);
  assert.throws(() => readCase(changed({ recipe: {} }), 7), /damaged/);
  assert.throws(() => readCase(changed({ parts: null }), 7), /damaged/);
});

test("the picture has all arrows, names and the legend", () => {
  const text = svg(draw(...drawn([1], [[neighbors(1, "out"), part([edge(1, 2), edge(1, 3)])]])), "Title");
  assert.equal((text.match(/class="amount"/g) ?? []).length, 2);
  assert.match(text, /0x0000…0003/);
  assert.match(text, /class="legend"[^>]*>USD</);
  assert.match(text, /aria-label="Title"/);
});

const INFO = {
  version: "1.2",
  chain_id: 7,
  chain: null,
  tip: { number: 900, hash: "0x", time: 1_704_067_200 },
} as Info;

test("files say of which blocks they are, how they are filtered, and what they leave out", () => {
  const filters = { ...EMPTY.filters, token: TOKEN, kind: "erc20", blocks: "10:20", min: "1500000", decimals: 6 };
  const [recipe, parts] = drawn(
    [1],
    [
      [neighbors(1, "in"), part([edge(2, 1)], { as_of: 800, more: 3 })],
      [neighbors(1, "out"), part([edge(1, 3), edge(1, 4)], { as_of: 950, incomplete: ["blocks are missing"] })],
    ],
    { filters, hidden: [address(4)] },
  );
  const drawing = draw(recipe, parts);
  const { lines, missing } = aboutOf(INFO, recipe, parts, drawing, TOKENS);
  assert.deepEqual(lines, [
    "Chain 7, up to blocks 800 to 950, as the answers are of different times, by txgraph 1.2.",
    `Filters: token USD (${TOKEN}), kind erc20, blocks 10:20, at least 1.5 USD.`,
  ]);
  assert.deepEqual(missing, [
    "1 hidden address is not drawn",
    `3 more arrows to ${address(1)} are not drawn`,
    "blocks are missing",
    "only the arrows shown were filtered by kind (erc20); more exist",
  ]);
  const shared = page(drawing, "t", lines, missing);
  for (const text of [...lines, ...missing]) assert.ok(shared.includes(text), text);
  const picture = svg(drawing, "t", [...lines, ...missing]);
  assert.match(picture, /class="about"[^>]*>Filters: token USD/);
  assert.doesNotMatch(svg(drawing, "t"), /class="about"/);
  const [head = "", first = ""] = csv(drawing, lines.join(" ")).split("\n");
  assert.ok(head.endsWith(",last_transaction,about") && first.endsWith('at least 1.5 USD."'), first);
  assert.match(dot(drawing, "t", lines.join(" ")), /comment="Chain 7, up to blocks/);
});

test("files say that answers are from a file", () => {
  const [recipe, served] = drawn(
    [1],
    [
      [neighbors(1, "in"), part([edge(2, 1)])],
      [neighbors(1, "out"), part([edge(1, 3)])],
    ],
  );
  const line = (parts: Parts): string | undefined => aboutOf(INFO, recipe, parts, draw(recipe, parts), {}).lines[1];
  assert.equal(line(served), undefined);
  const one = served.withFile(recipe, [[neighbors(1, "in"), part([])]]);
  assert.equal(line(one), "1 of 2 answers are from a file, not from this server.");
  assert.equal(line(served.withFile(recipe, served.of(recipe))), "All answers are from a file, not from this server.");
});

test("the block of a file is that of its answers, and not that of now", () => {
  const line = (...blocks: (number | null | undefined)[]): string => {
    const [recipe, parts] = drawn(
      [],
      blocks.map((as_of, at) => [neighbors(at, "out"), part([], { as_of })]),
    );
    return aboutOf(INFO, recipe, parts, draw(recipe, parts), {}).lines.join("|");
  };
  assert.equal(line(800, 800), "Chain 7, up to block 800, by txgraph 1.2.");
  assert.equal(line(900), "Chain 7, up to block 900 of 2024-01-01 00:00:00 UTC, by txgraph 1.2.");
  assert.equal(line(undefined), "Chain 7, up to an unknown block, by txgraph 1.2.");
  assert.match(line(800, null), /up to block 800 \(some answers: up to an unknown block\)/);
});

test("the legend says how many tokens it leaves out", () => {
  const edges = Array.from({ length: 15 }, (_, index) => edge(1, 2, { token: address(0xa000 + index) }));
  assert.match(svg(draw(...drawn([1], [[neighbors(1, "out"), part(edges)]])), "t"), />and 3 more tokens</);
});

/** The text of a save file of GraphSense. */
function unpacked(bytes: Uint8Array<ArrayBuffer>): string {
  const view = new DataView(bytes.buffer);
  const known = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));
  let [text, before] = ["", ""];
  for (let at = 0; at < bytes.length; at += 4) {
    const word = known[view.getUint32(at, true)] ?? before + (before[0] ?? "");
    if (before !== "") known.push(before + (word[0] ?? ""));
    text += word;
    before = word;
  }
  return text;
}

test("files for GraphSense have addresses, labels and pairs", () => {
  const numbers = (text: string): number[] => [...new Uint32Array(compressed(text).buffer)];
  assert.deepEqual(numbers("aaaa"), [97, 256, 97]);
  const words = [84, 79, 66, 69, 79, 82, 78, 79, 84, 256, 258, 260, 265, 259, 261, 263];
  assert.deepEqual(numbers("TOBEORNOTTOBEORTOBEORNOT"), words);
  const label = { name: "Köln", category: "mixer" };
  const edges = [edge(2, 1, { to_label: label }), edge(1, 2, { token: "native" }), edge(1, 3)];
  const drawing = draw(...drawn([1], [[neighbors(1, "out"), part(edges, { more: 4 })]]));
  const file = unpacked(graphSense(1, drawing, "title"));
  const content = JSON.parse(Buffer.from(file, "base64").toString()) as unknown[][];
  const [format, version, title, places = [], transactions, notes, pairs] = content;
  assert.deepEqual([format, version, title, transactions], ["pathfinder", "1", "title", []]);
  const id = (number: number): unknown[] => ["eth", address(number)];
  assert.deepEqual(
    places.map((place) => (place as unknown[])[0]),
    [id(1), id(2), id(3)],
  );
  assert.deepEqual(notes, [[id(1), "∞ Köln", [214 / 255, 184 / 255, 240 / 255, 1]]]);
  assert.deepEqual(pairs, [
    [id(1), id(2), []],
    [id(1), id(3), []],
  ]);
  assert.throws(() => graphSense(5, drawing, "title"), /no chain 5/);
});
