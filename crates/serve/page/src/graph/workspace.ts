// The state of the graph page, and what can be done with it. Views listen to changes.

import { ask, once } from "../base/api.ts";
import { announce } from "../base/dom.ts";
import { plural, units } from "../base/format.ts";
import { NATIVE } from "../base/tokens.ts";
import type { Address, AddressAnswer, Info, PathAnswer, TokenId, Tokens, TransfersAnswer } from "../base/types.ts";
import { draw, type Drawing } from "./drawing.ts";
import { caseFile, readCase } from "./files.ts";
import { type FollowForm, NO_FOLLOW } from "./follow.ts";
import { keyOf, loadFlow, Parts } from "./parts.ts";
import { NO_PATH, type PathForm, pathStep } from "./path.ts";
import {
  collapsed,
  EMPTY,
  expanded,
  type Filters,
  History,
  type PathStep,
  type Recipe,
  withNote,
  withStep,
} from "./recipe.ts";
import { isEmpty, keepRecipe, keptRecipe, type Named, remarksOf, startOf, tokenOf } from "./start.ts";
import type { Selection } from "./pointer.ts";
import { describe, titleOf } from "./words.ts";

/** Blocks that are replayed without being asked for. */
const REPLAYED_MAX = 20_000;

export class Workspace {
  readonly history = new History();
  parts = new Parts();
  drawing: Drawing = draw(EMPTY, this.parts);
  selection: Selection = null;
  /** The address that a path begins at, while the other one is chosen. */
  pathFrom: Address | null = null;
  /** What is typed into the form of a path. */
  readonly pathForm: PathForm = { ...NO_PATH };
  readonly followForm: FollowForm = { ...NO_FOLLOW };
  isBusy = false;
  error: unknown = null;
  remarks: string[] = []; // What a URL asked for, and the drawing does not do.
  /** The tokens of all answers of the server so far, also those that a filter left out. */
  private readonly seen: Tokens = {};
  /** Called after every change; `isNew` if the drawing changed. */
  changed: (isNew: boolean) => void = () => {};
  private last: Promise<unknown> = Promise.resolve();
  private readonly profiles = new Map<Address, Promise<AddressAnswer>>();
  private readonly flows = new Map<string, Promise<PathAnswer>>();

  constructor(readonly info: Info) {
    this.seen[NATIVE] = { address: null, name: null, ...info.coin };
  }

  /** Whether coins inside transactions count unless the user decides: where they are found without long replays. */
  get internal(): boolean {
    const { has_internal: can, has_index, tip } = this.info;
    return can && (this.info.index_has_internal || (!has_index && tip.number < REPLAYED_MAX));
  }

  /** The tokens of the drawing, and others that were seen. What the server says about a token counts more. */
  get tokens(): Tokens {
    return { ...this.drawing.tokens, ...this.seen };
  }

  get recipe(): Recipe {
    return this.history.present;
  }

  get title(): string {
    return titleOf(this.recipe, this.drawing);
  }

  /** Asks for what a recipe lacks, then shows it. An error leaves everything as it was. */
  private async take(recipe: Recipe, done: () => void, parts = this.parts): Promise<boolean> {
    this.begin();
    let isDone = false;
    try {
      await parts.complete(recipe);
      const drawing = draw(recipe, parts);
      Object.assign(this.seen, parts.tokens(recipe));
      done();
      this.parts = parts;
      this.drawing = drawing;
      isDone = true;
    } catch (error) {
      this.error = error;
    }
    this.isBusy = false;
    if (isDone) this.settle();
    else this.changed(false);
    return isDone;
  }

  private begin(): void {
    this.isBusy = true;
    this.error = null;
    this.remarks = [];
    this.changed(false);
  }

  /** Does one thing after the other: a change is one of the recipe that the change before it left. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.last.then(work);
    this.last = result.catch(() => {});
    return result;
  }

  private settle(): void {
    const { selection, drawing } = this;
    const all: Map<string, unknown> = selection?.kind === "edge" ? drawing.edges : drawing.vertices;
    if (selection !== null && !all.has(selection.id)) this.selection = null;
    keepRecipe(this.recipe);
    this.changed(true);
    const addresses = [...drawing.vertices.values()].filter(({ kind }) => kind === "address").length;
    announce(`The drawing has ${plural(addresses, "address", "addresses")} and ${plural(drawing.edges.size, "arrow")}`);
  }

  apply(change: (recipe: Recipe) => Recipe): Promise<boolean> {
    return this.inTurn(() => {
      const recipe = change(this.recipe);
      return this.take(recipe, () => this.history.push(recipe));
    });
  }

  /** Begins with what the URL names, or with what it named before the page was loaded again. No file has a part. */
  open(named: Named): Promise<void> {
    return this.inTurn(async () => {
      const kept = this.recipe === EMPTY ? keptRecipe() : null;
      if (kept !== null && (await this.take(kept, () => this.history.reset(kept)))) return;
      if (isEmpty(named)) return;
      this.endPath();
      this.begin();
      try {
        const asked = startOf(named, this.recipe, this.internal);
        const token = await tokenOf(asked.filters.token, { tokens: this.seen });
        const filters: Filters = { ...asked.filters, token };
        if (token !== "" && filters.min !== "") filters.decimals = await this.decimals(token);
        const recipe = { ...asked, filters };
        const done = (): void => (this.recipe === EMPTY ? this.history.reset(recipe) : this.history.push(recipe));
        const isDone = await this.take(recipe, done, this.parts.withoutFile());
        if (!isDone && this.recipe === EMPTY) {
          // The filters can be changed before it is asked for again.
          this.history.reset(recipe);
          this.changed(true);
        }
        this.remarks = remarksOf(named);
        if (this.remarks.length > 0) this.changed(false);
      } catch (error) {
        this.fail(error);
      }
      const [root] = named.roots;
      if (root !== undefined && this.drawing.vertices.has(root)) this.select({ kind: "vertex", id: root });
    });
  }

  /** Shows why something cannot be done. */
  fail(error: unknown): void {
    this.isBusy = false;
    this.error = error;
    this.changed(false);
  }

  select(selection: Selection): void {
    this.selection = selection;
    this.changed(false);
    if (selection !== null) announce(describe(this.drawing, selection.id));
  }

  expand(address: Address, direction: "in" | "out"): Promise<boolean> {
    return this.apply((recipe) => expanded(recipe, address, direction));
  }

  /** What a double click does: expands the side that leads away from the start. */
  openVertex(id: string): void {
    const vertex = this.drawing.vertices.get(id);
    if (vertex === undefined || vertex.kind === "folded") return;
    if (vertex.kind === "more") void this.expand(vertex.owner, vertex.direction);
    else void this.expand(id, vertex.column < 0 ? "in" : "out");
  }

  collapse(address: Address): Promise<boolean> {
    return this.apply((recipe) => collapsed(recipe, address));
  }

  hide(address: Address): Promise<boolean> {
    return this.apply((recipe) => ({ ...recipe, hidden: [...recipe.hidden, address] }));
  }

  note(address: Address, text: string): Promise<boolean> {
    return this.apply((recipe) => withNote(recipe, address, text.trim()));
  }

  pin(id: string, x: number, y: number): void {
    void this.apply((recipe) => ({ ...recipe, pins: { ...recipe.pins, [id]: [Math.round(x), Math.round(y)] } }));
  }

  /** The decimals of a token; of one that was never drawn, as a transfer of it has them. */
  private async decimals(token: TokenId): Promise<number> {
    if (this.seen[token] === undefined) {
      const { tokens } = await ask<TransfersAnswer>("transfers", { token, order: "newest", limit: 1 });
      Object.assign(this.seen, tokens);
    }
    return this.seen[token]?.decimals ?? 0;
  }

  /** Filters. `typed` is the smallest amount in whole units of the token, if it is a new one. */
  filter(filters: Filters, typed = ""): Promise<boolean> {
    return this.inTurn(async () => {
      this.begin();
      try {
        const token = await tokenOf(filters.token, this.drawing, this.tokens);
        const next: Filters = { ...filters, token };
        if (typed.trim() !== "") {
          const decimals = await this.decimals(token);
          Object.assign(next, { decimals, min: units(typed, decimals) });
        }
        const recipe = { ...this.recipe, filters: next };
        return await this.take(recipe, () => this.history.push(recipe));
      } catch (error) {
        this.fail(error);
        return false;
      }
    });
  }

  startPath(from: Address | null): void {
    this.endPath();
    this.pathFrom = from;
    if (from !== null) announce("Choose the address where the path ends");
    this.changed(false);
  }

  /** Draws the path from the address that was chosen to the one that a text names. */
  async path(text: string): Promise<void> {
    const from = this.pathFrom;
    if (from === null) return;
    let step: PathStep;
    try {
      step = pathStep(from, text, this.pathForm);
    } catch (error) {
      return this.fail(error);
    }
    await this.inTurn(() => {
      const recipe = withStep(this.recipe, step);
      // The form stays until a route is found.
      return this.take(recipe, () => {
        this.endPath();
        this.history.push(recipe);
      });
    });
  }

  private endPath(): void {
    this.pathFrom = null;
    Object.assign(this.pathForm, NO_PATH);
  }

  undo(): Promise<boolean> {
    return this.inTurn(() => this.take(this.history.previous, () => this.history.undo()));
  }

  redo(): Promise<boolean> {
    return this.inTurn(() => this.take(this.history.next, () => this.history.redo()));
  }

  save(): string {
    return caseFile(this.info.chain_id, this.recipe, this.parts.of(this.recipe));
  }

  /** Shows a case from a file, with the answers that the file has. */
  async read(text: string): Promise<void> {
    try {
      const { recipe, parts } = readCase(text, this.info.chain_id);
      await this.inTurn(() => this.take(recipe, () => this.history.push(recipe), this.parts.withFile(recipe, parts)));
    } catch (error) {
      this.fail(error);
    }
  }

  /** Draws the same with answers of the server instead of a file. */
  askAgain(): Promise<boolean> {
    return this.inTurn(() => this.take(this.recipe, () => {}, this.parts.withoutFile()));
  }

  /** Facts about an address, asked once. */
  profile(address: Address): Promise<AddressAnswer> {
    // The number of transfers counts what the drawing has.
    const { internal } = this.recipe.filters;
    const key = `${address} ${internal}`;
    return once(this.profiles, key, () => ask<AddressAnswer>("address", { address, internal }));
  }

  /** How much can have gone along all routes of a path, asked once. */
  flow(step: PathStep): Promise<PathAnswer> {
    const { filters } = this.recipe;
    return once(this.flows, keyOf(step, filters), () => loadFlow(step, filters));
  }
}
