// Places: a column for each hop, inflow on the left, outflow on the right, rows near their neighbors.

import type { Edge } from "../base/types.ts";
import type { Part } from "./parts.ts";
import type { Recipe, Step } from "./recipe.ts";
import type { Vertex } from "./drawing.ts";

/** Distances of columns and rows, in pixels at full size. */
const COLUMN = 290;
const COLUMN_MAX = 560;
const ROW = 66;

/** A column with more vertices than this is drawn as several beside each other. */
const ROWS_MAX = 30;
const LANES_MAX = 10;
const LANE = 130;

/** How much more than a leaf an inner vertex keeps its row. */
const INNER = 40;

type Ends = Pick<Edge, "from" | "to">;

/** Gives each vertex a column. Earlier steps decide, so an expansion moves nothing to another column. */
export function columns(
  recipe: Recipe,
  parts: [Step, Part][],
  vertices: Map<string, Vertex>,
  edges: Ends[],
): Map<string, number> {
  const found = new Map<string, number>();
  const put = (id: string, column: number): void => {
    if (vertices.has(id) && !found.has(id)) found.set(id, column);
  };
  recipe.roots.forEach((root) => put(root, 0));
  const spread = (all: Ends[]): void => {
    // Breadth first: the hops of one round are those before the round.
    for (let changed = true; changed;) {
      const before = new Map(found);
      for (const { from, to } of all) {
        const [source, target] = [before.get(from), before.get(to)];
        if (source !== undefined && target === undefined) put(to, source + 1);
        if (target !== undefined && source === undefined) put(from, target - 1);
      }
      changed = found.size > before.size;
    }
  };
  for (const [step, part] of parts) {
    if (found.size === 0 && part.edges[0] !== undefined) put(part.edges[0].from, 0);
    if (step.kind === "graph") {
      const base = found.get(step.roots[0] ?? "") ?? 0;
      for (const { address, column } of part.vertices) put(address, base + column);
    }
    spread(part.edges);
  }
  spread(edges);
  for (const vertex of vertices.values()) {
    if (vertex.kind !== "address")
      put(vertex.id, (found.get(vertex.owner) ?? 0) + (vertex.direction === "out" ? 1 : -1));
  }
  for (const id of vertices.keys()) put(id, 0);
  return found;
}

/** Moves rows apart to a distance of 1, with as little movement as possible; heavy rows move least. `wanted` is sorted. */
export function apart(wanted: number[], weights: number[] = []): number[] {
  // Blocks of rows that touch each other: their place without the rows before, and their weight.
  const blocks: { sum: number; weight: number; count: number }[] = [];
  wanted.forEach((row, index) => {
    const weight = weights[index] ?? 1;
    let block = { sum: weight * (row - index), weight, count: 1 };
    for (
      let before = blocks.at(-1);
      before && before.sum / before.weight > block.sum / block.weight;
      before = blocks.at(-1)
    ) {
      block = { sum: before.sum + block.sum, weight: before.weight + block.weight, count: before.count + block.count };
      blocks.pop();
    }
    blocks.push(block);
  });
  const rows: number[] = [];
  for (const { sum, weight, count } of blocks) {
    for (let index = 0; index < count; index += 1) rows.push(sum / weight + rows.length);
  }
  return rows;
}

/** Gives each vertex a place. */
export function places(
  vertices: Map<string, Vertex>,
  column: Map<string, number>,
  edges: Ends[],
): Map<string, [number, number]> {
  const near = new Map<string, string[]>();
  const link = (a: string, b: string): void => {
    const known = near.get(a);
    if (known === undefined) near.set(a, [b]);
    else known.push(b);
  };
  for (const { from, to } of edges) {
    link(from, to);
    link(to, from);
  }
  for (const { id, kind, owner } of vertices.values()) if (kind !== "address") link(id, owner);

  const groups = new Map<number, string[]>();
  for (const id of vertices.keys()) {
    const at = column.get(id) ?? 0;
    groups.set(at, [...(groups.get(at) ?? []), id]);
  }
  const row = new Map<string, number>();
  const lane = new Map<string, number>();
  const lanes = (at: number): number => Math.min(Math.ceil((groups.get(at)?.length ?? 0) / ROWS_MAX) || 1, LANES_MAX);
  const isLast = (id: string): number => (vertices.get(id)?.kind === "address" ? 0 : 1);
  const settle = (at: number, from: (column: number) => boolean): void => {
    const group = groups.get(at) ?? [];
    const wanted = new Map(
      group.map((id) => {
        const known = (near.get(id) ?? []).filter((other) => from(column.get(other) ?? 0) && row.has(other));
        const mean = known.reduce((sum, other) => sum + (row.get(other) ?? 0), 0) / known.length;
        return [id, known.length > 0 ? mean : (row.get(id) ?? 0)];
      }),
    );
    const number = new Map(group.map((id, index) => [id, index]));
    const value = (map: Map<string, number>, id: string): number => map.get(id) ?? 0;
    // Rows that want the same place keep the order of the answer, the strongest first.
    const ordered = [...group].sort(
      (a, b) => value(wanted, a) - value(wanted, b) || isLast(a) - isLast(b) || value(number, a) - value(number, b),
    );
    // A vertex that others hang on stays beside the one that it hangs on, so that chains are straight.
    const weight = (id: string): number => (new Set(near.get(id) ?? []).size > 1 ? INNER : 1);
    const all = lanes(at);
    const rows = apart(
      ordered.map((id) => all * value(wanted, id)),
      ordered.map(weight),
    );
    ordered.forEach((id, index) => {
      row.set(id, (rows[index] ?? 0) / all);
      lane.set(id, index % all);
    });
  };
  const order = [...groups.keys()].sort((a, b) => Math.abs(a) - Math.abs(b) || a - b);
  for (const at of order) settle(at, (other) => (at === 0 ? other === 0 : Math.abs(other) < Math.abs(at)));
  // Tall columns stand further apart, so that arrows between them are not steep.
  const tallest = Math.max(0, ...[...groups].map(([at, { length }]) => length / lanes(at)));
  const distance = Math.min(Math.max(COLUMN, 18 * tallest), COLUMN_MAX);
  const left = new Map([[0, 0]]);
  for (const at of order) {
    // Lanes grow away from the start.
    const before = at > 0 ? at - 1 : at + 1;
    const width = before < 0 || at > 0 ? (lanes(before) - 1) * LANE : 0;
    if (at !== 0) left.set(at, (left.get(before) ?? before * distance) + Math.sign(at) * (distance + width));
  }
  return new Map(
    [...vertices.keys()].map((id) => {
      const at = column.get(id) ?? 0;
      const x = (left.get(at) ?? 0) + (at < 0 ? -1 : 1) * (lane.get(id) ?? 0) * LANE;
      return [id, [x, (row.get(id) ?? 0) * ROW]];
    }),
  );
}
