// What the mouse and fingers do in the drawing.

import type { MultiDirectedGraph } from "graphology";
import type Sigma from "sigma";
import type { Box } from "./curve.ts";

export type Selection = { kind: "vertex" | "edge"; id: string } | null;

export interface Handlers {
  select(selection: Selection): void;
  open(id: string): void;
  pin(id: string, x: number, y: number): void;
}

/** Pixels of a movement that is none. */
const STILL = 4;

/** Calls the handlers for clicks and movements. `boxes` are the amounts that are drawn. */
export function listen(sigma: Sigma, graph: MultiDirectedGraph, boxes: Box[], handlers: Handlers): void {
  let dragged: string | null = null;
  let from = { x: 0, y: 0 };
  let hasMoved = false;
  sigma.on("clickNode", ({ node }) => {
    if (!hasMoved) handlers.select({ kind: "vertex", id: node });
  });
  sigma.on("doubleClickNode", ({ node, preventSigmaDefault }) => {
    preventSigmaDefault();
    handlers.open(node);
  });
  sigma.on("clickEdge", ({ edge }) => handlers.select({ kind: "edge", id: edge }));
  sigma.on("clickStage", ({ event: { x, y } }) => {
    const box = boxes.find((box) => box.key !== "" && x > box.left && x < box.right && y > box.top && y < box.bottom);
    handlers.select(box === undefined ? null : { kind: "edge", id: box.key });
  });
  sigma.on("downNode", ({ node, event }) => {
    dragged = node;
    from = { x: event.x, y: event.y };
    hasMoved = false;
  });
  sigma.on("moveBody", ({ event, preventSigmaDefault }) => {
    if (dragged === null) return;
    preventSigmaDefault();
    // A hand that clicks is not quite still.
    hasMoved ||= Math.hypot(event.x - from.x, event.y - from.y) > STILL;
    if (!hasMoved) return;
    graph.mergeNodeAttributes(dragged, sigma.viewportToGraph(event));
  });
  const drop = (): void => {
    if (dragged !== null && hasMoved) {
      const { x, y } = graph.getNodeAttributes(dragged);
      handlers.pin(dragged, x as number, -(y as number));
    }
    dragged = null;
    // The click that ends the movement comes after it.
    setTimeout(() => (hasMoved = false), 50);
  };
  sigma.on("upNode", drop);
  sigma.on("upStage", drop);
  const point = (cursor: string) => () => void (sigma.getContainer().style.cursor = cursor);
  for (const event of ["enterNode", "enterEdge"] as const) sigma.on(event, point("pointer"));
  for (const event of ["leaveNode", "leaveEdge"] as const) sigma.on(event, point("grab"));
}
