import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { draw, moreId } from "../../src/graph/drawing.ts";
import { fold } from "../../src/graph/fold.ts";
import { apart } from "../../src/graph/layout.ts";
import { merge } from "../../src/graph/parts.ts";
import { around, collapsed, EMPTY, expanded, History, withNote } from "../../src/graph/recipe.ts";
import { bend, kindOf, KINDS, look, mixed, tokenColors } from "../../src/graph/style.ts";
import type { Edge } from "../../src/base/types.ts";
import { address, drawn, edge, neighbors, part, random, TOKEN } from "./made.ts";

test("rows are one apart, in order, and move little", () => {
  assert.deepEqual(apart([]), []);
  assert.deepEqual(apart([0, 5, 9]), [0, 5, 9]);
  assert.deepEqual(apart([0, 0, 0]), [-1, 0, 1]);
  const next = random(7);
  for (let round = 0; round < 200; round += 1) {
    const wanted = Array.from({ length: 1 + Math.floor(next() * 30) }, () => Math.floor(next() * 20)).sort(
      (a, b) => a - b,
    );
    const rows = apart(wanted);
    rows.forEach((row, index) => assert.ok(index === 0 || row - (rows[index - 1] ?? 0) > 1 - 1e-9, String(wanted)));
    const mean = (all: number[]): number => all.reduce((sum, row) => sum + row, 0) / all.length;
    assert.ok(Math.abs(mean(rows) - mean(wanted)) < 1e-6, "the mean stays");
  }
  const [light = 0, heavy = 0] = apart([0, 0], [1, 99]);
  assert.ok(Math.abs(heavy) < 0.02 && heavy - light > 0.99);
});

test("senders are on the left, receivers on the right, and nothing overlaps", () => {
  const [recipe, parts] = drawn(
    [1],
    [
      [neighbors(1, "in"), part([edge(2, 1), edge(3, 1)])],
      [neighbors(1, "out"), part([edge(1, 4), edge(1, 5)], { more: 7 })],
      [neighbors(4, "out"), part([edge(4, 6), edge(4, 2)])],
    ],
  );
  const { vertices, edges } = draw(recipe, parts);
  const column = (number: number): number | undefined => vertices.get(address(number))?.column;
  assert.deepEqual([2, 3, 1, 4, 5, 6].map(column), [-1, -1, 0, 1, 1, 2]);
  const more = vertices.get(moreId(address(1), "out"));
  assert.ok(more?.members === 7 && more.column === 1);
  assert.equal(edges.size, 6);
  const places = [...vertices.values()].map(({ x, y }) => `${x},${Math.round(y)}`);
  assert.equal(new Set(places).size, places.length);
});

test("an expansion keeps the columns of what was there", () => {
  const first: [ReturnType<typeof neighbors>, ReturnType<typeof part>][] = [
    [neighbors(1, "out"), part([edge(1, 2), edge(1, 3)])],
  ];
  const before = draw(...drawn([1], first)).vertices;
  // The new edges lead back to the root and to a vertex of another column.
  const after = draw(
    ...drawn([1], [...first, [neighbors(2, "out"), part([edge(2, 1), edge(2, 3), edge(2, 9)])]]),
  ).vertices;
  for (const [id, vertex] of before) assert.equal(after.get(id)?.column, vertex.column);
  assert.equal(after.get(address(9))?.column, 2);
});

test("a tall column becomes several, and still nothing overlaps", () => {
  const out = Array.from({ length: 200 }, (_, index) => edge(1, 100 + index));
  const into = Array.from({ length: 100 }, (_, index) => edge(1_000 + index, 1));
  const far = [edge(100, 5_000), edge(101, 5_001)];
  const { vertices } = draw(...drawn([1], [[neighbors(1, "out"), part([...out, ...into, ...far])]]));
  const all = [...vertices.values()];
  const heights = all.map(({ y }) => y);
  assert.ok(Math.max(...heights) - Math.min(...heights) < 40 * 66);
  for (const a of all)
    for (const b of all) assert.ok(a === b || Math.abs(a.x - b.x) > 60 || Math.abs(a.y - b.y) > 60, `${a.id} ${b.id}`);
  // Each hop lies beyond the whole column before it.
  const x = (column: number): number[] => all.filter((vertex) => vertex.column === column).map((vertex) => vertex.x);
  assert.ok(Math.max(...x(1)) < Math.min(...x(2)) && Math.max(...x(-1)) < 0 && Math.min(...x(1)) > 0);
});

test("a chain with leaves is straight", () => {
  const steps = Array.from({ length: 6 }, (_, hop): [ReturnType<typeof neighbors>, ReturnType<typeof part>] => [
    neighbors(hop + 1, "out"),
    part([edge(hop + 1, 100 + hop), edge(hop + 1, hop + 2)]),
  ]);
  const { vertices } = draw(...drawn([1], steps));
  const rows = [1, 2, 3, 4, 5, 6].map((number) => vertices.get(address(number))?.y ?? 99);
  assert.ok(Math.max(...rows) - Math.min(...rows) < 20, String(rows));
});

test("kinds, hidden addresses and self-transfers are left out", () => {
  const edges = [edge(1, 2), edge(1, 3, { kind: "native", token: "native" }), edge(1, 1), edge(1, 4)];
  const [recipe, parts] = drawn([1], [[neighbors(1, "out"), part(edges)]], { hidden: [address(4)] });
  assert.equal(draw(recipe, parts).edges.size, 2);
  const native = { ...recipe, filters: { ...recipe.filters, kind: "native" } };
  assert.deepEqual(
    [...draw(native, parts).edges.values()].map(({ to }) => to),
    [address(3)],
  );
  assert.deepEqual(draw(recipe, parts).incomplete, ["1 transfer of an address to itself is not drawn"]);
});

test("transfers of an address to itself are counted once, and only those of the kind", () => {
  const own = [edge(1, 1, { count: 3 }), edge(1, 1, { count: 2, kind: "erc721" }), edge(2, 2, { count: 9 })];
  const steps: [ReturnType<typeof neighbors>, ReturnType<typeof part>][] = [
    [neighbors(1, "in"), part([...own, edge(2, 1)])],
    [neighbors(1, "out"), part(own)],
  ];
  const [recipe, parts] = drawn([1], steps, { hidden: [address(2)] });
  assert.deepEqual(draw(recipe, parts).incomplete, ["5 transfers of addresses to themselves are not drawn"]);
});

test("arrows of two kinds of one token do not become one, also in groups", () => {
  const both = (to: number): Edge[] => [edge(1, to, { amount: "5" }), edge(1, to, { kind: "erc721", count: 2 })];
  const [recipe, parts] = drawn([1], [[neighbors(1, "out"), part(both(2))]]);
  const { edges } = draw(recipe, parts);
  assert.deepEqual(
    [...edges.values()].map(({ kind, count, parallel }) => [kind, count, parallel]),
    [
      ["erc20", 1, [0, 2]],
      ["erc721", 2, [1, 2]],
    ],
  );
  const many = Array.from({ length: 50 }, (_, index) => both(100 + index)).flat();
  const grouped = fold(many, new Set([address(1)]), 20).edges.filter(({ inner }) => inner.length > 1);
  assert.deepEqual(grouped.map(({ kind, inner }) => [kind, inner.length]).sort(), [
    ["erc20", 45],
    ["erc721", 45],
  ]);
});

test("a filter by kind says that it had only the arrows of the answers", () => {
  const answers: [ReturnType<typeof neighbors>, ReturnType<typeof part>][] = [
    [neighbors(1, "out"), part([edge(1, 2)], { more: 7 })],
  ];
  const filters = { ...EMPTY.filters, kind: "erc20" };
  const text = "only the arrows shown were filtered by kind (erc20); more exist";
  assert.deepEqual(draw(...drawn([1], answers, { filters })).incomplete, [text]);
  assert.deepEqual(draw(...drawn([1], answers)).incomplete, []);
});

test("a filter by label keeps the arrows that have one of its kind", () => {
  const [cex, mixer] = [
    { name: "a", category: "cex", kind: "exchange" },
    { name: "b", category: "mixer" },
  ];
  const edges = [edge(1, 2, { to_label: cex }), edge(1, 3, { to_label: mixer }), edge(2, 4), edge(1, 5)];
  const drawnWith = (category: string): string[] => {
    const filters = { ...EMPTY.filters, category };
    const drawing = draw(...drawn([1], [[neighbors(1, "out"), part(edges)]], { filters }));
    return [...drawing.edges.values()].map(({ to }) => to);
  };
  assert.deepEqual(drawnWith("exchange"), [address(2), address(4)]);
  assert.deepEqual(drawnWith("mixer"), [address(3)]);
  assert.deepEqual(drawnWith("any"), [address(2), address(3), address(4)]);
  assert.deepEqual(drawnWith("scam"), []);
  assert.equal(kindOf({ name: "c", category: "unheard" }), KINDS.other);
  assert.equal(kindOf(cex), KINDS.exchange);
});

test("an arrow knows the block of its answer", () => {
  const [recipe, parts] = drawn(
    [1],
    [
      [neighbors(1, "out"), part([edge(1, 2)], { as_of: 40 })],
      [neighbors(1, "in"), part([edge(3, 1)])],
    ],
  );
  assert.deepEqual(
    [...draw(recipe, parts).edges.values()].map((found) => found.as_of),
    [40, null],
  );
});

test("of edges in several answers, the one with more transfers is drawn", () => {
  const few = part([edge(1, 2, { count: 1, amount: "5" })]);
  const all = part([edge(1, 2, { count: 9, amount: "50" })]);
  for (const steps of [
    [few, all],
    [all, few],
  ]) {
    const [recipe, parts] = drawn(
      [1],
      steps.map((answer, index) => [neighbors(1, index === 0 ? "in" : "out"), answer]),
    );
    assert.equal([...draw(recipe, parts).edges.values()][0]?.count, 9);
  }
});

test("folding keeps totals and what matters, and bounds the edges", () => {
  const edges: Edge[] = [];
  for (let hub = 1; hub <= 5; hub += 1) {
    for (let leaf = 0; leaf < 700; leaf += 1)
      edges.push(edge(hub, hub * 10_000 + leaf, { amount: String(leaf), count: 1 + (leaf % 3) }));
    edges.push(edge(hub, hub + 1));
  }
  const kept = new Set([address(1), address(10_699)]);
  const { edges: drawn, groups, count, notes } = fold(edges, kept, 2_000);
  assert.ok(drawn.length <= 2_000 && drawn.length < 50, String(drawn.length));
  const sum = (all: Edge[]): bigint => all.reduce((total, { amount }) => total + BigInt(amount), 0n);
  assert.equal(sum(drawn), sum(edges));
  assert.ok(
    drawn.some(({ to }) => to === address(10_699)),
    "a kept leaf is drawn",
  );
  assert.equal(groups.size, 5);
  assert.equal(
    [...groups.values()].reduce((total, { members }) => total + members, 0),
    count,
  );
  assert.equal(notes.length, 1);
  // Few edges are drawn as they are.
  assert.equal(fold(edges.slice(0, 100), kept, 2_000).groups.size, 0);
  // A dense graph has no leaves: the weaker edges are left out, and that is said.
  const dense = Array.from({ length: 60 }, (_, a) => Array.from({ length: 60 }, (_, b) => edge(a + 1, b + 1))).flat();
  const bounded = fold(dense, new Set(), 500);
  assert.equal(bounded.edges.length, 500);
  assert.match(bounded.notes[0] ?? "", /3,100 weaker arrows/);
});

test("transfers become edges", () => {
  const transfer = (
    block: number,
    amount: string,
    more: Partial<Parameters<typeof merge>[0][number]> = {},
  ): Parameters<typeof merge>[0][number] => ({
    block,
    time: block,
    transaction: "0x",
    index: 0,
    log_index: null,
    kind: "transfer",
    standard: "erc20",
    from: address(1),
    to: address(2),
    token: TOKEN,
    amount,
    id: null,
    ...more,
  });
  const [found, ...others] = merge([transfer(5, "1"), transfer(3, "2"), transfer(9, "4")]);
  assert.equal(others.length, 0);
  assert.deepEqual([found?.amount, found?.count, found?.first.block, found?.last.block], ["7", 3, 3, 9]);
  assert.equal(merge([transfer(5, "1"), transfer(5, "1", { standard: "erc721" })]).length, 2);
});

test("recipes: expand, more, collapse, undo, redo", () => {
  const history = new History();
  history.reset(around(address(1)));
  history.push(expanded(history.present, address(2), "out"));
  assert.equal(history.present.steps.length, 3);
  const more = expanded(history.present, address(2), "out").steps[2];
  assert.ok(more?.kind === "neighbors" && more.limit > 12);
  assert.equal(collapsed(history.present, address(2)).steps.length, 2);
  history.undo();
  assert.equal(history.present.steps.length, 2);
  assert.ok(!history.canUndo && history.canRedo);
  history.redo();
  assert.equal(history.present.steps.length, 3);
  history.undo();
  history.push(EMPTY);
  assert.ok(!history.canRedo);
  const noted = withNote(EMPTY, address(1), "x");
  assert.deepEqual(noted.notes, { [address(1)]: "x" });
  assert.deepEqual(withNote(noted, address(1), "").notes, {});
});

test("arrows between two addresses do not lie on each other", () => {
  const edges = [edge(1, 2), edge(1, 2, { token: "native" }), edge(2, 1)];
  const { edges: found } = draw(...drawn([1], [[neighbors(1, "out"), part(edges)]]));
  // Seen from the same side, all bends differ.
  const bends = [...found.values()].map((one) => (one.from < one.to ? bend(one) : -bend(one)));
  assert.equal(new Set(bends.map((value) => value.toFixed(3))).size, 3);
});

test("colors are mixed by channel", () => {
  assert.equal(mixed("#000000", "#ffffff", 0.5), "#808080");
  assert.equal(mixed("#4477aa", "#fbfcfd", 0), "#4477aa");
});

test("shapes and colors are those of the pictures", () => {
  // The tests run in crates/serve/page.
  const category = readFileSync("../../labels/src/category.rs", "utf8");
  const shapes: Record<string, string> = { ellipse: "circle", doubleoctagon: "octagon" };
  for (const [name, kind] of Object.entries(KINDS)) {
    const arm = `Self::${name[0]?.toUpperCase()}${name.slice(1)} => "`;
    const values = category
      .split(arm)
      .slice(1)
      .map((rest) => rest.split('"')[0] ?? "");
    assert.ok(values.includes(kind.color), `${name}: ${values}`);
    assert.ok(values.includes(kind.icon), `${name}: ${values}`);
    assert.ok(
      values.some((shape) => (shapes[shape] ?? shape) === kind.shape),
      `${name}: ${values}`,
    );
  }
  const edges = readFileSync("../../export/src/drawn_edges.rs", "utf8");
  const [recipe, parts] = drawn([1], [[neighbors(1, "out"), part([edge(1, 2), edge(1, 2, { token: "native" })])]]);
  const drawing = draw(recipe, parts);
  for (const color of tokenColors(drawing, "#333333").values()) assert.ok(edges.includes(color), color);
  const root = drawing.vertices.get(address(1));
  assert.ok(
    root && look(root).border === "double" && look({ ...root, isRoot: false, isContract: true }).shape === "hexagon",
  );
});
