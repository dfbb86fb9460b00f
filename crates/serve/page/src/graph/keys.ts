// Keys while the drawing has the focus.

import type { GraphView } from "./view.ts";
import type { Workspace } from "./workspace.ts";

const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Does what a key stands for. Returns whether it stands for something. */
export function drawingKey(
  { key, ctrlKey, metaKey, altKey }: KeyboardEvent,
  space: Workspace,
  view: GraphView | null,
  showDetails: () => void,
): boolean {
  if (ctrlKey || metaKey || altKey) return false;
  const selected = space.selection?.kind === "vertex" ? space.drawing.vertices.get(space.selection.id) : undefined;
  const address = selected?.kind === "address" ? selected : undefined;
  const arrow = ARROWS[key];
  if (arrow !== undefined) {
    const first = space.recipe.roots[0] ?? [...space.drawing.vertices.keys()][0];
    const next = selected === undefined ? first : view?.next(selected.id, ...arrow);
    if (next) space.select({ kind: "vertex", id: next });
    return true;
  }
  switch (key) {
    case "Enter":
      if (address !== undefined) showDetails();
      else if (selected !== undefined) space.openVertex(selected.id);
      return selected !== undefined;
    case "i":
    case "o":
      if (address !== undefined) void space.expand(address.id, key === "i" ? "in" : "out");
      return true;
    case "h":
      if (address !== undefined && !address.isRoot) void space.hide(address.id);
      return true;
    case "p":
      if (address === undefined) return true;
      if (space.pathFrom === null) space.startPath(address.id);
      else void space.path(address.id);
      return true;
    case "+":
    case "-":
      view?.zoom(key === "+" ? 1.4 : 1 / 1.4);
      return true;
    case "0":
      view?.fit();
      return true;
    default:
      return false;
  }
}
