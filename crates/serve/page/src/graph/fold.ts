// Fewer edges where a drawing would have too many: similar leaves become one vertex.

import { plural } from "../base/format.ts";
import type { Address, Edge } from "../base/types.ts";

/** Leaves of an address and a direction that stay when the others are folded. */
const KEPT = 5;

export interface FoldedEdge extends Edge {
  /** The merged edges that it stands for; empty if it is one itself. */
  inner: Edge[];
}

/** Several leaves of one address. */
export interface Group {
  owner: Address;
  direction: "in" | "out";
  members: number;
}

export interface Folded {
  edges: FoldedEdge[];
  groups: Map<string, Group>;
  /** Addresses that are no longer drawn. */
  count: number;
  notes: string[];
}

export const strongest = (a: Edge, b: Edge): number => b.count - a.count || b.last.block - a.last.block;

/** The counterparties of each address. */
function counterparties(edges: Edge[]): Map<Address, Set<Address>> {
  const found = new Map<Address, Set<Address>>();
  const note = (a: Address, b: Address): void => {
    const known = found.get(a) ?? new Set();
    found.set(a, known.add(b));
  };
  for (const { from, to } of edges) {
    note(from, to);
    note(to, from);
  }
  return found;
}

/** Adds up the edges of the members of a group, by token and kind. */
function joined(id: string, direction: "in" | "out", edges: Edge[]): FoldedEdge[] {
  const found = new Map<string, FoldedEdge>();
  for (const edge of edges) {
    const asset = `${edge.token}>${edge.kind}`;
    const known = found.get(asset);
    if (known === undefined) {
      const ends = direction === "out" ? { to: id, to_label: null } : { from: id, from_label: null };
      found.set(asset, { ...edge, ...ends, swap: undefined, inner: [edge] });
      continue;
    }
    known.inner.push(edge);
    known.count += edge.count;
    known.amount = (BigInt(known.amount) + BigInt(edge.amount)).toString();
    if (edge.first.block < known.first.block) known.first = edge.first;
    if (edge.last.block > known.last.block) known.last = edge.last;
  }
  return [...found.values()];
}

/** Folds leaves, except `kept` addresses, if there are more than `most` edges. */
export function fold(edges: Edge[], kept: Set<Address>, most: number): Folded {
  const single = (edge: Edge): FoldedEdge => ({ ...edge, inner: [] });
  if (edges.length <= most) return { edges: edges.map(single), groups: new Map(), count: 0, notes: [] };

  const near = counterparties(edges);
  const isLeaf = (address: Address): boolean => near.get(address)?.size === 1 && !kept.has(address);
  // By owner and direction, the edges of leaves; a pair of leaves is no star.
  const stars = new Map<string, { group: Group; edges: Edge[] }>();
  const rest: FoldedEdge[] = [];
  for (const edge of edges) {
    const [from, to] = [isLeaf(edge.from), isLeaf(edge.to)];
    if (from === to) {
      rest.push(single(edge));
      continue;
    }
    const direction = to ? "out" : "in";
    const owner = to ? edge.from : edge.to;
    const id = `folded:${direction}:${owner}`;
    const star = stars.get(id) ?? { group: { owner, direction, members: 0 }, edges: [] };
    star.edges.push(edge);
    stars.set(id, star);
  }

  const groups = new Map<string, Group>();
  let count = 0;
  for (const [id, { group, edges }] of stars) {
    const leaf = (edge: Edge): Address => (group.direction === "out" ? edge.to : edge.from);
    const ordered = [...edges].sort(strongest);
    const shown = new Set([...new Set(ordered.map(leaf))].slice(0, KEPT));
    const folded = edges.filter((edge) => !shown.has(leaf(edge)));
    rest.push(...edges.filter((edge) => shown.has(leaf(edge))).map(single));
    const members = new Set(folded.map(leaf)).size;
    if (members === 0) continue;
    groups.set(id, { ...group, members });
    count += members;
    rest.push(...joined(id, group.direction, folded));
  }
  const notes =
    count > 0 ? [`${plural(count, "address", "addresses")} with one counterparty are drawn as groups.`] : [];
  if (rest.length > most) {
    rest.sort(strongest);
    notes.push(`${plural(rest.length - most, "weaker arrow")} of ${rest.length} are not drawn. Filters show fewer.`);
    rest.length = most;
  }
  return { edges: rest, groups, count, notes };
}
