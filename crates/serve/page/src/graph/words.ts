// A drawing and its parts in words, for titles and screen readers.

import { plain, plural, short } from "../base/format.ts";
import { roundedAmount, symbol } from "../base/tokens.ts";
import type { Drawing } from "./drawing.ts";
import type { Recipe } from "./recipe.ts";
import { lines } from "./style.ts";

/** What a drawing is about. */
export function titleOf(recipe: Recipe, drawing: Drawing): string {
  const [first, ...rest] = recipe.roots;
  if (first === undefined) {
    const [step] = recipe.steps;
    if (step?.kind === "transaction") return `Transaction ${short(step.hash)}`;
    return step?.kind === "token" ? `Newest transfers of ${symbol(drawing.tokens, step.token)}` : "Drawing";
  }
  const label = drawing.vertices.get(first)?.label;
  const name = label ? `${plain(label.name)} (${short(first)})` : short(first);
  return `Transfers around ${name}${rest.length > 0 ? ` and ${plural(rest.length, "other")}` : ""}`;
}

/** An address or an arrow. */
export function describe(drawing: Drawing, id: string): string {
  const { vertices, edges, tokens } = drawing;
  const name = (id: string): string => {
    const vertex = vertices.get(id);
    return vertex === undefined ? short(id) : lines(vertex).join(" ").trim();
  };
  const edge = edges.get(id);
  if (edge !== undefined) {
    const amount = roundedAmount(tokens, edge.token, edge.amount, edge.kind, edge.count);
    return `${name(edge.from)} to ${name(edge.to)}, ${amount}, ${plural(edge.count, "transfer")}`;
  }
  const number = (end: "from" | "to"): number => [...edges.values()].filter((edge) => edge[end] === id).length;
  return `${name(id)}, ${plural(number("to"), "arrow")} in, ${plural(number("from"), "arrow")} out`;
}
