// Answers to the steps of a recipe.

import { ask, besidesRows, type Parameters } from "../base/api.ts";
import type {
  Address,
  Edge,
  GraphAnswer,
  GraphVertex,
  Label,
  LabelsAnswer,
  NeighborsAnswer,
  PathAnswer,
  Position,
  Swap,
  Tokens,
  TransactionAnswer,
  Transfer,
  TransfersAnswer,
} from "../base/types.ts";
import type { Filters, PathStep, Recipe, Step } from "./recipe.ts";

/** The answer to a step. */
export interface Part {
  edges: Edge[];
  tokens: Tokens;
  /** Vertices with facts and columns, where the server states them. */
  vertices: GraphVertex[];
  /** Arrows that were cut off: edges, of which several can lead to one address. */
  more: number;
  incomplete: string[];
  command: string | null;
  /** The newest block when the server answered; older cases do not have it. */
  as_of?: number | null;
}

/** The filters that the server applies. Kinds of transfers and of labels are chosen in the page. */
function parameters(filters: Filters): Parameters {
  const { token, blocks, min, internal } = filters;
  return { token, blocks, min, internal };
}

/** The name of the answer to a step. */
export function keyOf(step: Step, filters: Filters): string {
  return JSON.stringify([step, step.kind === "transaction" ? {} : parameters(filters)]);
}

const position = ({ block, time, transaction, index }: Transfer): Position => ({ block, time, transaction, index });

/** One edge for all transfers of a token and a kind from one address to another. */
export function merge(transfers: Transfer[]): Edge[] {
  const edges = new Map<string, Edge>();
  for (const transfer of transfers) {
    const { from, to, token, standard: kind, amount } = transfer;
    const key = edgeKey({ from, to, token, kind });
    const known = edges.get(key);
    const at = position(transfer);
    if (known === undefined) {
      edges.set(key, { from, to, token, kind, count: 1, amount, first: at, last: at });
      continue;
    }
    known.count += 1;
    known.amount = (BigInt(known.amount) + BigInt(amount)).toString();
    if (at.block < known.first.block) known.first = at;
    if (at.block >= known.last.block) known.last = at;
  }
  return [...edges.values()];
}

/** The name of an arrow. A contract can be a token of two kinds. */
export const edgeKey = ({ from, to, token, kind }: Pick<Edge, "from" | "to" | "token" | "kind">): string =>
  `${from}>${to}>${token}>${kind}`;

/** The newest transfers of a token that its drawing begins with. */
const TOKEN_MAX = 100;

/** Edges with the labels of their ends. */
const named = (edges: Edge[], labels: Record<Address, Label>): Edge[] =>
  edges.map((edge) => ({ ...edge, from_label: labels[edge.from] ?? null, to_label: labels[edge.to] ?? null }));

/** The labels of the ends of a route. */
async function labelsOf(transfers: Transfer[], signal?: AbortSignal): Promise<Record<Address, Label>> {
  const address = [...new Set(transfers.flatMap(({ from, to }) => [from, to]))];
  return address.length === 0 ? {} : (await ask<LabelsAnswer>("labels", { address }, signal)).labels;
}

/** Asks for a step. */
export async function load(step: Step, filters: Filters, signal?: AbortSignal): Promise<Part> {
  const shared = parameters(filters);
  switch (step.kind) {
    case "neighbors": {
      const { address, direction, limit } = step;
      const answer = await ask<NeighborsAnswer>("neighbors", { address, direction, limit, ...shared }, signal);
      // The drawing has a vertex for them.
      return { ...answer, incomplete: besidesRows(answer), vertices: [] };
    }
    case "graph": {
      const { roots, hops, direction, swaps } = step;
      const asked = { root: roots, hops, direction, swaps, max_edges: 5_000, ...shared };
      return { ...(await ask<GraphAnswer>("graph", asked, signal)), more: 0 };
    }
    case "path": {
      const { from, to, hops, any_order } = step;
      const answer = await ask<PathAnswer>("path", { from, to, hops, any_order, ...shared }, signal);
      if (!answer.found) {
        const hints = answer.hints.length === 0 ? "" : `: ${answer.hints.join("; ")}`;
        throw new Error(`No route was found${hints}.`);
      }
      // Remarks say how much a route proves.
      const incomplete = [...answer.incomplete, ...answer.hints];
      const labels = await labelsOf(answer.transfers, signal);
      return { ...answer, incomplete, edges: named(merge(answer.transfers), labels), vertices: [], more: 0 };
    }
    case "transaction": {
      const answer = await ask<TransactionAnswer>("transaction", { hash: step.hash }, signal);
      const edges = named(merge(answer.transfers), answer.labels ?? {});
      return { ...answer, edges: edges.map((edge) => exchanged(edge, answer.swaps)), vertices: [], more: 0 };
    }
    case "token": {
      const asked = { ...shared, token: step.token, order: "newest", limit: TOKEN_MAX };
      const answer = await ask<TransfersAnswer>("transfers", asked, signal);
      const rest = answer.more ? [`only the newest ${answer.transfers.length} transfers are drawn`] : [];
      const incomplete = [...besidesRows(answer), ...rest];
      const edges = named(merge(answer.transfers), answer.labels ?? {});
      return { ...answer, incomplete, edges, vertices: [], more: 0 };
    }
  }
}

/** An edge with the swap that it is a side of, if it is one. */
function exchanged(edge: Edge, swaps: Swap[]): Edge {
  const { from, to, token } = edge;
  const swap = swaps.find(
    (it) => (it.address === from && it.given_token === token) || (it.to === to && it.got_token === token),
  );
  return swap === undefined ? edge : { ...edge, swap };
}

/** How much can have gone along all routes of a path. */
export function loadFlow({ from, to, hops, any_order }: PathStep, filters: Filters): Promise<PathAnswer> {
  return ask<PathAnswer>("path", { from, to, hops, any_order, max_flow: true, ...parameters(filters) });
}

/** Answers that are known, by step and filters: of the server, and apart from them of the file that is open. */
export class Parts {
  constructor(
    private readonly served = new Map<string, Part>(),
    private readonly filed: ReadonlyMap<string, Part> = new Map(),
  ) {}

  get(step: Step, filters: Filters): Part | undefined {
    const key = keyOf(step, filters);
    return this.filed.get(key) ?? this.served.get(key);
  }

  /** Keeps an answer of the server. */
  put(step: Step, filters: Filters, part: Part): void {
    this.served.set(keyOf(step, filters), part);
  }

  /** The same answers of the server, behind the answers that a file has to the steps of its recipe. */
  withFile({ steps, filters }: Recipe, parts: [Step, Part][]): Parts {
    const wanted = new Set(steps.map((step) => keyOf(step, filters)));
    const keyed = parts.map(([step, part]): [string, Part] => [keyOf(step, filters), part]);
    return new Parts(this.served, new Map(keyed.filter(([key]) => wanted.has(key))));
  }

  /** The answers of the server only. */
  withoutFile(): Parts {
    return new Parts(this.served);
  }

  /** Whether the answer to a step is from a file. */
  isFiled(step: Step, filters: Filters): boolean {
    return this.filed.has(keyOf(step, filters));
  }

  /** Asks for what a recipe lacks. */
  async complete(recipe: Recipe, signal?: AbortSignal): Promise<void> {
    const missing = recipe.steps.filter((step) => this.get(step, recipe.filters) === undefined);
    // A few at a time: the server works on a bounded number of requests.
    const queue = [...missing];
    const worker = async (): Promise<void> => {
      for (let step = queue.shift(); step !== undefined; step = queue.shift()) {
        this.put(step, recipe.filters, await load(step, recipe.filters, signal));
      }
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
  }

  /** The tokens of the answers of the server to a recipe. */
  tokens(recipe: Recipe): Tokens {
    const served = this.of(recipe).filter(([step]) => !this.isFiled(step, recipe.filters));
    return Object.assign({}, ...served.map(([, { tokens }]) => tokens)) as Tokens;
  }

  /** The answers of a recipe, in the order of its steps. */
  of(recipe: Recipe): [Step, Part][] {
    return recipe.steps.flatMap((step) => {
      const part = this.get(step, recipe.filters);
      return part === undefined ? [] : [[step, part] as [Step, Part]];
    });
  }
}
