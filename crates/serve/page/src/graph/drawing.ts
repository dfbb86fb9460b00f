// From a recipe and its answers to what is drawn.

import { distinct, plural } from "../base/format.ts";
import type { Address, Edge, Label, Tokens } from "../base/types.ts";
import { fold, type FoldedEdge } from "./fold.ts";
import { columns, places } from "./layout.ts";
import { edgeKey, type Part, type Parts } from "./parts.ts";
import { chosenHere, type Recipe, type Step } from "./recipe.ts";
import { hasCategory } from "./style.ts";

/** Edges that a drawing shows at most. */
export const EDGES_MAX = 2_000;

export type VertexKind = "address" | "more" | "folded";

export interface Vertex {
  id: string;
  kind: VertexKind;
  /** Of a "more" or "folded" vertex: the address that it belongs to, and the side. */
  owner: Address;
  direction: "in" | "out";
  /** How many addresses it stands for; of a "more" vertex, how many arrows. */
  members: number;
  /** The short address, which no other vertex has. */
  short: string;
  label: Label | null;
  isContract: boolean;
  isRoot: boolean;
  marks: string[];
  note: string;
  column: number;
  x: number;
  y: number;
}

export interface DrawnEdge extends FoldedEdge {
  key: string;
  /** 0 to 1: its share of the largest amount of the token in the drawing. */
  share: number;
  /** Its number among the edges between the same two addresses, and how many those are. */
  parallel: [number, number];
}

export interface Drawing {
  vertices: Map<string, Vertex>;
  edges: Map<string, DrawnEdge>;
  tokens: Tokens;
  incomplete: string[];
  commands: string[];
  /** Addresses that folding took out of the drawing. */
  folded: number;
}

type Facts = Map<Address, { label: Label | null; isContract: boolean; marks: string[] }>;

const unique = (all: string[]): string[] => [...new Set(all)];

/** The edges of all answers; of edges that several answers have, those with more transfers. And what was left out. */
function collect(parts: [Step, Part][], recipe: Recipe, about: Facts): { edges: Edge[]; notes: string[] } {
  const hidden = new Set(recipe.hidden);
  const { kind, category } = recipe.filters;
  const edges = new Map<string, Edge>();
  for (const [, part] of parts) {
    for (const edge of part.edges) {
      if (hidden.has(edge.from) || hidden.has(edge.to)) continue;
      if (kind !== "" && edge.kind !== kind) continue;
      if (category !== "" && ![edge.from, edge.to].some((end) => hasCategory(about.get(end)?.label, category)))
        continue;
      const key = edgeKey(edge);
      const known = edges.get(key);
      if (known === undefined || known.count < edge.count) edges.set(key, { ...edge, as_of: part.as_of ?? null });
    }
  }
  const isOwn = ({ from, to }: Edge): boolean => from === to;
  const all = [...edges.values()];
  const own = all.filter(isOwn).reduce((sum, { count }) => sum + count, 0);
  const notes: string[] = [];
  if (own > 0) {
    const [one, many] = ["transfer of an address to itself is", "transfers of addresses to themselves are"];
    notes.push(`${plural(own, one, many)} not drawn`);
  }
  const here = chosenHere(recipe.filters);
  if (here !== "" && parts.some(([, { more }]) => more > 0)) {
    notes.push(`only the arrows shown were filtered by ${here}; more exist`);
  }
  return { edges: all.filter((edge) => !isOwn(edge)), notes };
}

/** What answers say about addresses. */
function facts(parts: [Step, Part][]): Facts {
  const found: Facts = new Map();
  const note = (address: Address, label?: Label | null, isContract?: boolean | null, marks: string[] = []): void => {
    const known = found.get(address) ?? { label: null, isContract: false, marks: [] };
    const all = unique([...known.marks, ...marks]);
    found.set(address, {
      label: known.label ?? label ?? null,
      isContract: known.isContract || isContract === true,
      marks: all,
    });
  };
  for (const [, part] of parts) {
    for (const { address, label, is_contract, marks } of part.vertices) note(address, label, is_contract, marks);
    for (const edge of part.edges) {
      note(edge.from, edge.from_label, edge.from_contract);
      note(edge.to, edge.to_label, edge.to_contract);
    }
  }
  return found;
}

/** The share of each edge of the largest amount of its token. */
function share(edge: Edge, largest: Map<string, bigint>): number {
  const most = largest.get(edge.token) ?? 0n;
  return most === 0n ? 0 : Number((BigInt(edge.amount) * 10_000n) / most) / 10_000;
}

function drawn(edges: FoldedEdge[]): Map<string, DrawnEdge> {
  const largest = new Map<string, bigint>();
  const pairs = new Map<string, number>();
  const pairOf = (edge: Edge): string => [edge.from, edge.to].sort().join("|");
  for (const edge of edges) {
    const amount = BigInt(edge.amount);
    if (amount > (largest.get(edge.token) ?? 0n)) largest.set(edge.token, amount);
    pairs.set(pairOf(edge), (pairs.get(pairOf(edge)) ?? 0) + 1);
  }
  const seen = new Map<string, number>();
  return new Map(
    edges.map((edge) => {
      const pair = pairOf(edge);
      const number = seen.get(pair) ?? 0;
      seen.set(pair, number + 1);
      const key = edgeKey(edge);
      return [key, { ...edge, key, share: share(edge, largest), parallel: [number, pairs.get(pair) ?? 1] }];
    }),
  );
}

export const moreId = (address: Address, direction: string): string => `more:${direction}:${address}`;

/** Everything that is drawn, with places. */
export function draw(recipe: Recipe, known: Parts, most = EDGES_MAX): Drawing {
  const parts = known.of(recipe);
  const about = facts(parts);
  const kept = new Set([...recipe.roots, ...Object.keys(recipe.notes), ...Object.keys(recipe.pins)]);
  for (const [address, { label }] of about) if (label !== null) kept.add(address);
  for (const step of recipe.steps) if (step.kind === "neighbors") kept.add(step.address);
  const collected = collect(parts, recipe, about);
  const folded = fold(collected.edges, kept, most);

  const vertices = new Map<string, Vertex>();
  const add = (id: string, more: Partial<Vertex> = {}): void => {
    if (vertices.has(id)) return;
    const { label = null, isContract = false, marks = [] } = about.get(id) ?? {};
    const isRoot = recipe.roots.includes(id);
    vertices.set(id, {
      id,
      kind: "address",
      owner: id,
      direction: "out",
      members: 1,
      short: id,
      label,
      isContract,
      isRoot,
      marks,
      note: recipe.notes[id] ?? "",
      column: 0,
      x: 0,
      y: 0,
      ...more,
    });
  };
  recipe.roots.forEach((root) => add(root));
  for (const { from, to } of folded.edges) {
    for (const id of [from, to]) {
      const group = folded.groups.get(id);
      const { owner = id, direction = "out", members = 1 } = group ?? {};
      add(id, group === undefined ? {} : { kind: "folded", owner, direction, members });
    }
  }
  for (const [step, part] of parts) {
    if (step.kind !== "neighbors" || part.more === 0 || !vertices.has(step.address)) continue;
    const { address: owner, direction } = step;
    add(moreId(owner, direction), { kind: "more", owner, direction, members: part.more });
  }

  const names = distinct([...vertices.values()].filter(({ kind }) => kind === "address").map(({ id }) => id));
  const column = columns(recipe, parts, vertices, folded.edges);
  const place = places(vertices, column, folded.edges);
  for (const vertex of vertices.values()) {
    vertex.short = names.get(vertex.id) ?? vertex.id;
    vertex.column = column.get(vertex.id) ?? 0;
    [vertex.x, vertex.y] = recipe.pins[vertex.id] ?? place.get(vertex.id) ?? [0, 0];
  }
  const asked = parts.flatMap(([, part]) => part.incomplete);
  const incomplete = unique([...asked, ...collected.notes, ...folded.notes]);
  const commands = unique(parts.flatMap(([, part]) => (part.command === null ? [] : [part.command])));
  const tokens: Tokens = Object.assign({}, ...parts.map(([, part]) => part.tokens));
  return { vertices, edges: drawn(folded.edges), tokens, incomplete, commands, folded: folded.count };
}

/** The number of arrows of each vertex. */
export function degrees({ edges }: Drawing): Map<string, number> {
  const found = new Map<string, number>();
  for (const { from, to } of edges.values()) for (const id of [from, to]) found.set(id, (found.get(id) ?? 0) + 1);
  return found;
}

/** The box around vertices; empty without any. */
export function bounds(all: Vertex[]): { left: number; right: number; top: number; bottom: number } {
  const range = (values: number[]): [number, number] =>
    values.length === 0 ? [0, 0] : [Math.min(...values), Math.max(...values)];
  const [left, right] = range(all.map(({ x }) => x));
  const [top, bottom] = range(all.map(({ y }) => y));
  return { left, right, top, bottom };
}
