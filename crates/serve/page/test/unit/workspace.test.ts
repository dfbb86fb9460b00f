import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { Info } from "../../src/base/types.ts";
import { caseFile } from "../../src/graph/files.ts";
import type { Part } from "../../src/graph/parts.ts";
import { around, type Recipe, type Step } from "../../src/graph/recipe.ts";
import { Workspace } from "../../src/graph/workspace.ts";
import { address, edge, neighbors, part, TOKEN } from "./made.ts";

const INFO = {
  version: "1",
  chain_id: 7,
  chain: null,
  coin: { symbol: "ETH", decimals: 18 },
  tip: { number: 900, hash: "0x", time: null },
} as Info;

const [VICTIM, HONEST, FORGED] = [1, 2, 3];

/** The paths that the server was asked for. */
let asked: string[] = [];

beforeEach(() => {
  asked = [];
  const server = (path: string): Promise<Response> => {
    asked.push(path);
    const { incomplete, ...answer } = part([edge(VICTIM, HONEST)]);
    return Promise.resolve(new Response(JSON.stringify({ ...answer, incomplete, beyond: [] })));
  };
  Object.assign(globalThis, {
    document: { getElementById: () => null },
    fetch: server,
    location: { hash: "#/graph" },
    sessionStorage: { getItem: () => null, setItem: () => {} },
  });
});

const open = (space: Workspace): Promise<void> =>
  space.open({ roots: [address(VICTIM)], transaction: null, token: null, parameters: new URLSearchParams() });

/** The receivers of all arrows. */
const receivers = (space: Workspace): string[] => [...space.drawing.edges.values()].map(({ to }) => to);

/** A case whose answers have a forged arrow, and a token with wrong decimals. */
function forged(recipe: Recipe, steps: Step[]): string {
  const tokens = { [TOKEN]: { address: TOKEN, symbol: "USD", decimals: 0, name: null } };
  const answer: Part = part([edge(VICTIM, FORGED)], { tokens });
  return caseFile(
    INFO.chain_id,
    recipe,
    steps.map((step) => [step, answer]),
  );
}

test("coins inside transactions count unless they take long replays, or none can be done", () => {
  const chosen = (has_internal: boolean, has_index: boolean, index_has_internal: boolean): boolean =>
    new Workspace({ ...INFO, has_internal, has_index, index_has_internal }).internal;
  assert.equal(chosen(true, false, false), true);
  assert.equal(chosen(true, true, true), true);
  assert.equal(chosen(true, true, false), false);
  // Without the rules of the chain, not even an index that has some answers for all blocks.
  assert.equal(chosen(false, true, true), false);
});

test("answers of a file are no answers to steps that its recipe does not have", async () => {
  const space = new Workspace(INFO);
  const other = around(address(9));
  await space.read(forged(other, [...other.steps, ...around(address(VICTIM)).steps]));
  assert.deepEqual([space.error, asked], [null, []]);
  // Also while the case is open.
  await space.expand(address(VICTIM), "out");
  assert.equal(asked.length, 1);
  assert.ok(receivers(space).includes(address(HONEST)));
});

test("answers of a file are shown in its case only", async () => {
  const space = new Workspace(INFO);
  const recipe = around(address(VICTIM));
  await space.read(forged(recipe, recipe.steps));
  assert.deepEqual([receivers(space), asked], [[address(FORGED)], []]);
  assert.ok(space.parts.isFiled(neighbors(VICTIM, "out"), recipe.filters));
  await open(space);
  assert.deepEqual([receivers(space), asked.length], [[address(HONEST)], 2]);
  assert.ok(!space.parts.isFiled(neighbors(VICTIM, "out"), recipe.filters));
  assert.equal(space.tokens[TOKEN]?.decimals, 6);
  // Back to the case, with answers of the server.
  await space.undo();
  assert.deepEqual(receivers(space), [address(HONEST)]);
});

test("the server can be asked again instead of a file", async () => {
  const space = new Workspace(INFO);
  const recipe = around(address(VICTIM));
  await space.read(forged(recipe, recipe.steps));
  assert.equal(space.tokens[TOKEN]?.decimals, 0);
  await space.askAgain();
  assert.deepEqual([receivers(space), asked.length], [[address(HONEST)], 2]);
  assert.equal(space.tokens[TOKEN]?.decimals, 6);
});

test("a case that cannot be shown leaves the drawing as it was", async () => {
  const space = new Workspace(INFO);
  await open(space);
  const { drawing, parts } = space;
  const damaged = JSON.parse(forged(around(address(VICTIM)), [neighbors(VICTIM, "in")]));
  damaged.parts[0][1] = { edges: 7 };
  await space.read(JSON.stringify(damaged));
  assert.ok(space.error !== null);
  assert.deepEqual([space.drawing, space.parts], [drawing, parts]);
});
