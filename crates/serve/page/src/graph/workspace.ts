// The state of the graph page, and what can be done with it. Views listen to changes.

import { ask } from "../base/api.ts";
import { announce } from "../base/dom.ts";
import { plain, plural, short } from "../base/format.ts";
import { isAddress } from "../base/route.ts";
import { NATIVE, roundedAmount, symbol } from "../base/tokens.ts";
import type { Address, AddressAnswer, Info, SearchAnswer } from "../base/types.ts";
import { draw, type Drawing } from "./drawing.ts";
import { type Case, caseFile, readCase } from "./files.ts";
import { Parts } from "./parts.ts";
import {
  around, collapsed, EMPTY, expanded, type Filters, History, NO_FILTERS, type Recipe, type Step, withNote, withStep,
} from "./recipe.ts";
import { lines } from "./style.ts";
import type { Selection } from "./view.ts";

const KEPT = "txgraph-drawing";

/** Blocks that are replayed without a question. */
const REPLAYED_MAX = 20_000;

/** Whether this tab has a drawing. */
export const hasDrawing = (): boolean => sessionStorage.getItem(KEPT) !== null;

export class Workspace {
  readonly history = new History();
  readonly parts = new Parts();
  drawing: Drawing = draw(EMPTY, this.parts);
  selection: Selection = null;
  /** The address that a path begins at, while the other one is chosen. */
  pathFrom: Address | null = null;
  isBusy = false;
  error: unknown = null;
  /** Called after every change; `isNew` if the drawing changed. */
  changed: (isNew: boolean) => void = () => {};
  private readonly profiles = new Map<Address, Promise<AddressAnswer>>();

  constructor(readonly info: Info) {}

  /** Whether coins inside transactions count unless the user decides: where they are found without long replays. */
  get internal(): boolean {
    const { has_internal, has_index, tip } = this.info;
    return has_internal && (has_index || tip.number < REPLAYED_MAX);
  }

  get recipe(): Recipe {
    return this.history.present;
  }

  get title(): string {
    const [first, ...rest] = this.recipe.roots;
    if (first === undefined) {
      const step = this.recipe.steps.find(({ kind }) => kind === "transaction");
      return step?.kind === "transaction" ? `Transaction ${short(step.hash)}` : "Drawing";
    }
    const label = this.drawing.vertices.get(first)?.label;
    const name = label ? `${plain(label.name)} (${short(first)})` : short(first);
    return `Transfers around ${name}${rest.length > 0 ? ` and ${plural(rest.length, "other")}` : ""}`;
  }

  /** Asks for what the recipe lacks, then shows it. An error leaves everything as it was. */
  private async take(recipe: Recipe, done: () => void): Promise<boolean> {
    this.isBusy = true;
    this.error = null;
    this.changed(false);
    let isDone = false;
    try {
      await this.parts.complete(recipe);
      const drawing = draw(recipe, this.parts);
      done();
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

  private settle(): void {
    const { selection, drawing } = this;
    const all: Map<string, unknown> = selection?.kind === "edge" ? drawing.edges : drawing.vertices;
    if (selection !== null && !all.has(selection.id)) this.selection = null;
    try {
      sessionStorage.setItem(KEPT, JSON.stringify({ at: location.hash, recipe: this.recipe }));
    } catch {
      // A full storage only means that a reload begins with the address again.
    }
    this.changed(true);
    announce(`The drawing has ${plural(drawing.vertices.size, "address", "addresses")} and ${plural(drawing.edges.size, "arrow")}`);
  }

  apply(recipe: Recipe): Promise<boolean> {
    return this.take(recipe, () => this.history.push(recipe));
  }

  /** Begins with what the URL names. */
  async open(roots: Address[], transaction: string | null, parameters: URLSearchParams): Promise<void> {
    const kept = this.kept();
    if (this.recipe === EMPTY && kept !== null) {
      if (await this.take(kept, () => this.history.reset(kept))) return;
    }
    const filters: Filters = { ...NO_FILTERS, internal: this.internal };
    for (const name of ["token", "kind", "blocks", "min"] as const) filters[name] = parameters.get(name) ?? "";
    if (parameters.has("internal")) filters.internal = parameters.get("internal") === "true";
    const token = await this.tokenOf(filters.token);
    if (token === null) return;
    filters.token = token;
    const recipe = this.start(roots, transaction, parameters, filters);
    const isFirst = this.recipe === EMPTY;
    await this.take(recipe, () => (isFirst ? this.history.reset(recipe) : this.history.push(recipe)));
    this.select(roots[0] === undefined ? null : { kind: "vertex", id: roots[0] });
  }

  private kept(): Recipe | null {
    try {
      const { at, recipe } = JSON.parse(sessionStorage.getItem(KEPT) ?? "null") as { at: string; recipe: Recipe };
      return at === location.hash && Array.isArray(recipe.steps) ? recipe : null;
    } catch {
      return null;
    }
  }

  private start(roots: Address[], transaction: string | null, parameters: URLSearchParams, filters: Filters): Recipe {
    if (transaction !== null) return { ...EMPTY, filters, steps: [{ kind: "transaction", hash: transaction }] };
    const [root = ""] = roots;
    if (parameters.has("add") && this.recipe !== EMPTY) {
      const { steps } = around(root);
      return { ...this.recipe, roots: [...new Set([...this.recipe.roots, root])], steps: [...this.recipe.steps, ...steps] };
    }
    const hops = Number(parameters.get("hops") ?? 1);
    const asked = parameters.get("direction");
    const direction = asked === "in" || asked === "out" ? asked : "both";
    if (roots.length === 1 && hops === 1 && direction === "both") return around(root, filters);
    const step: Step = { kind: "graph", roots, hops: Math.min(Math.max(hops, 1), 10), direction };
    return { ...EMPTY, roots, filters, steps: [step] };
  }

  select(selection: Selection): void {
    this.selection = selection;
    this.changed(false);
    if (selection !== null) announce(this.describe(selection.id));
  }

  /** A selected address or arrow in words. */
  private describe(id: string): string {
    const { vertices, edges, tokens } = this.drawing;
    const name = (id: string): string => lines(vertices.get(id) ?? { kind: "address", label: null, short: id, members: 1 }).join(" ").trim();
    const edge = edges.get(id);
    if (edge !== undefined) {
      return `${name(edge.from)} to ${name(edge.to)}, ${roundedAmount(tokens, edge.token, edge.amount, edge.kind, edge.count)}, ${plural(edge.count, "transfer")}`;
    }
    const [from, to] = (["to", "from"] as const).map((end) => [...edges.values()].filter((edge) => edge[end] === id).length);
    return `${name(id)}, ${plural(from ?? 0, "arrow")} in, ${plural(to ?? 0, "arrow")} out`;
  }

  expand(address: Address, direction: "in" | "out"): Promise<boolean> {
    return this.apply(expanded(this.recipe, address, direction));
  }

  /** What a double click does: expands the side that leads away from the start. */
  openVertex(id: string): void {
    const vertex = this.drawing.vertices.get(id);
    if (vertex === undefined || vertex.kind === "folded") return;
    if (vertex.kind === "more") void this.expand(vertex.owner, vertex.direction);
    else void this.expand(id, vertex.column < 0 ? "in" : "out");
  }

  collapse(address: Address): Promise<boolean> {
    return this.apply(collapsed(this.recipe, address));
  }

  hide(address: Address): Promise<boolean> {
    return this.apply({ ...this.recipe, hidden: [...this.recipe.hidden, address] });
  }

  showHidden(): Promise<boolean> {
    return this.apply({ ...this.recipe, hidden: [] });
  }

  note(address: Address, text: string): Promise<boolean> {
    return this.apply(withNote(this.recipe, address, text.trim()));
  }

  pin(id: string, x: number, y: number): void {
    void this.apply({ ...this.recipe, pins: { ...this.recipe.pins, [id]: [Math.round(x), Math.round(y)] } });
  }

  unpin(): Promise<boolean> {
    return this.apply({ ...this.recipe, pins: {} });
  }

  async filter(filters: Filters): Promise<boolean> {
    const token = await this.tokenOf(filters.token);
    return token !== null && this.apply({ ...this.recipe, filters: { ...filters, token } });
  }

  /** The token that a text names: an address, a symbol of the drawing, or one that the server knows. */
  private async tokenOf(text: string): Promise<string | null> {
    this.isBusy = true;
    this.error = null;
    this.changed(false);
    try {
      return await this.lookUp(text);
    } catch (error) {
      this.error = error;
      return null;
    } finally {
      this.isBusy = false;
      if (this.error !== null) this.changed(false);
    }
  }

  private async lookUp(text: string): Promise<string> {
    const typed = text.trim().toLowerCase();
    const { tokens } = this.drawing;
    if (typed === "" || typed === NATIVE || isAddress(typed)) return typed;
    const known = Object.keys(tokens).filter((id) => symbol(tokens, id).toLowerCase() === typed);
    if (known.length === 1) return known[0] ?? "";
    const { results } = await ask<SearchAnswer>("search", { q: text.trim() });
    const found = results.filter(({ kind }) => kind === "token");
    if (found.length === 1) return found[0]?.value ?? "";
    throw new Error(found.length === 0 ? `No token is known as ${plain(text)}: give its address.`
      : `Several tokens are called ${plain(text)}: ${found.map(({ value }) => value).join(", ")}.`);
  }

  startPath(from: Address | null): void {
    this.pathFrom = from;
    if (from !== null) announce("Choose the address where the path ends");
    this.changed(false);
  }

  async path(to: Address): Promise<void> {
    const from = this.pathFrom;
    if (from === null || !isAddress(to) || from === to) return;
    this.pathFrom = null;
    await this.apply(withStep(this.recipe, { kind: "path", from, to }));
  }

  undo(): void {
    if (!this.history.canUndo) return;
    this.history.undo();
    void this.take(this.recipe, () => {});
  }

  redo(): void {
    if (!this.history.canRedo) return;
    this.history.redo();
    void this.take(this.recipe, () => {});
  }

  save(): string {
    return caseFile(this.info.chain_id, this.recipe, this.parts.of(this.recipe));
  }

  /** Shows a case from a file, with the answers that the file has. */
  async read(text: string): Promise<void> {
    let found: Case;
    try {
      found = readCase(text, this.info.chain_id);
      for (const [step, part] of found.parts) this.parts.put(step, found.recipe.filters, part);
    } catch (error) {
      this.error = error;
      return this.changed(false);
    }
    await this.apply({ ...EMPTY, ...found.recipe });
  }

  /** Facts about an address, asked once. */
  profile(address: Address): Promise<AddressAnswer> {
    const known = this.profiles.get(address) ?? ask<AddressAnswer>("address", { address });
    this.profiles.set(address, known);
    known.catch(() => this.profiles.delete(address));
    return known;
  }
}
