import assert from "node:assert/strict";
import { test } from "node:test";
import { draw } from "../../src/graph/drawing.ts";
import { EMPTY, History, withNote } from "../../src/graph/recipe.ts";
import { pathStep } from "../../src/graph/path.ts";
import { remarksOf, startOf, tokenOf } from "../../src/graph/start.ts";
import { describe, titleOf } from "../../src/graph/words.ts";
import { address, drawn, edge, neighbors, part, TOKEN, TOKENS } from "./made.ts";

const named = (roots: number[], query = "", transaction: string | null = null): Parameters<typeof startOf>[0] => ({
  roots: roots.map(address),
  transaction,
  token: null,
  parameters: new URLSearchParams(query),
});

test("a URL says how a drawing begins", () => {
  const one = startOf(named([1]), EMPTY, true);
  assert.deepEqual(
    one.steps.map((step) => step.kind === "neighbors" && step.direction),
    ["in", "out"],
  );
  assert.ok(one.filters.internal);
  const far = startOf(named([1], "hops=99&direction=in&token=x&internal=false"), EMPTY, true);
  assert.deepEqual(far.steps, [{ kind: "graph", roots: [address(1)], hops: 10, direction: "in" }]);
  assert.deepEqual([far.filters.token, far.filters.internal], ["x", false]);
  const [two] = startOf(named([1, 2], "hops=x"), EMPTY, false).steps;
  assert.ok(two?.kind === "graph" && two.hops === 1 && two.roots.length === 2);
  const hash = `0x${"1".repeat(64)}`;
  assert.deepEqual(startOf(named([], "", hash), EMPTY, false).steps, [{ kind: "transaction", hash }]);
});

test("an address can be added to a drawing", () => {
  const before = withNote(startOf(named([1]), EMPTY, false), address(1), "kept");
  const after = startOf(named([2], "add=1"), before, false);
  assert.deepEqual(after.roots, [address(1), address(2)]);
  assert.equal(after.steps.length, 4);
  assert.equal(after.notes[address(1)], "kept");
});

test("undo leads to the recipe before", () => {
  const history = new History();
  const [first, second] = [startOf(named([1]), EMPTY, false), startOf(named([2]), EMPTY, false)];
  history.reset(first);
  assert.equal(history.previous, first);
  history.push(second);
  assert.equal(history.previous, first);
  history.undo();
  assert.equal(history.next, second);
});

test("tokens are found by address and by the symbol of the drawing", async () => {
  const drawing = draw(...drawn([1], [[neighbors(1, "out"), part([edge(1, 2)])]]));
  assert.equal(await tokenOf(" USD ", drawing), TOKEN);
  assert.equal(await tokenOf("native", drawing), "native");
  assert.equal(await tokenOf(TOKEN.toUpperCase().replace("0X", "0x"), drawing), TOKEN);
  assert.equal(await tokenOf("", drawing), "");
  // A token that was seen before, and two that claim one symbol.
  const other = address(0xfa4e);
  const more = { ...TOKENS, [other]: { address: other, symbol: "OTH", decimals: 2, name: null } };
  assert.equal(await tokenOf("oth", drawing, more), other);
  const twins = { ...TOKENS, [other]: { address: other, symbol: "USD", decimals: 2, name: null } };
  assert.equal(await tokenOf("USD (0x0000…fa4e)", drawing, twins), other);
  // The name that the drawing shows.
  assert.equal(await tokenOf("USD", drawing, twins), TOKEN);
  await assert.rejects(tokenOf("USD", { tokens: {} }, twins), /Several tokens are called USD/);
  await assert.rejects(tokenOf("0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", drawing), /wrong checksum/);
});

test("what a URL asks for without effect is said", () => {
  const remarks = (query: string): string[] => remarksOf(named([1], query));
  assert.deepEqual(remarks(""), []);
  assert.deepEqual(remarks("hops=3&direction=in&kind=erc721&token=x"), []);
  assert.deepEqual(remarks("hops=20"), ["hops=20: not a number from 1 to 10: the drawing has 10"]);
  assert.deepEqual(remarks("hops=2.5"), ["hops=2.5: not a number from 1 to 10: the drawing has 2"]);
  assert.deepEqual(remarks("direction=up"), ["direction=up: not in, out or both: both are shown"]);
  assert.match(remarks("kind=erc777")[0] ?? "", /^kind=erc777: not native, erc20, .*: all kinds are shown$/);
  assert.equal(startOf(named([1], "kind=erc777"), EMPTY, false).filters.kind, "");
});

test("a path that cannot be asked for is an error", () => {
  const form = { hops: "", any_order: false };
  assert.deepEqual(pathStep(address(1), ` ${address(2)}`, form), { kind: "path", from: address(1), to: address(2) });
  const long = pathStep(address(1), address(2), { hops: "9", any_order: true });
  assert.deepEqual([long.hops, long.any_order], [9, true]);
  assert.throws(() => pathStep(address(1), "0x12", form), /`0x12` is not an address/);
  assert.throws(() => pathStep(address(1), address(1), form), /another address/);
  assert.throws(() => pathStep(address(1), "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", form), /wrong checksum/);
  for (const hops of ["0", "51", "x", "1.5"])
    assert.throws(() => pathStep(address(1), address(2), { ...form, hops }), /from 1 to 50/, hops);
});

test("drawings, addresses and arrows in words", () => {
  const label = { name: "Mixer\u202e", category: "mixer" };
  const [recipe, parts] = drawn(
    [1],
    [[neighbors(1, "out"), part([edge(1, 2, { from_label: label, count: 2 }), edge(3, 1)])]],
  );
  const drawing = draw(recipe, parts);
  assert.equal(titleOf(recipe, drawing), "Transfers around Mixer� (0x0000…0001)");
  assert.equal(describe(drawing, address(1)), "Mixer� 0x0000…0001, 1 arrow in, 1 arrow out");
  assert.equal(
    describe(drawing, `${address(1)}>${address(2)}>${TOKEN}>erc20`),
    "Mixer� 0x0000…0001 to 0x0000…0002, 1 USD, 2 transfers",
  );
  assert.equal(titleOf(EMPTY, drawing), "Drawing");
});
