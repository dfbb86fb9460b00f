// The drawing on the screen, by sigma.

import { createEdgeCurveProgram, DEFAULT_EDGE_CURVE_PROGRAM_OPTIONS } from "@sigma/edge-curve";
import { MultiDirectedGraph } from "graphology";
import Sigma from "sigma";
import { createEdgeArrowProgram, NodeCircleProgram } from "sigma/rendering";
import type { NodeDisplayData } from "sigma/types";
import { animateNodes } from "sigma/utils";
import { Camera } from "./camera.ts";
import { type Box, labelAt } from "./curve.ts";
import { degrees, type Drawing, type DrawnEdge } from "./drawing.ts";
import { edgePainter, hoverPainter, nodePainter, theme } from "./paint.ts";
import { type Handlers, listen, type Selection } from "./pointer.ts";
import { amountLine, bend, lines, look, mixed, tokenColors, width } from "./style.ts";
import type { Range } from "./timeline.ts";

/** Discs below the painted shapes, which cover them. They are drawn alone where shapes would be too small. */
class Disc extends NodeCircleProgram {
  override processVisibleItem(index: number, start: number, data: NodeDisplayData): void {
    super.processVisibleItem(index, start, { ...data, size: data.size * 0.72 });
  }
}

/** Nothing: the vertex below the pointer is painted. */
class Unseen extends NodeCircleProgram {
  override processVisibleItem(index: number, start: number, data: NodeDisplayData): void {
    super.processVisibleItem(index, start, { ...data, size: 0 });
  }
}

/** How much of the background the color of a faint arrow has. */
const FAINT = 0.5;

/** Arrows of a drawing whose names stay while it is moved. */
const STILL_LABELS = 400;

export class GraphView {
  private readonly graph = new MultiDirectedGraph();
  private readonly sigma: Sigma;
  private readonly camera: Camera;
  private readonly boxes: Box[] = [];
  private colors = theme();
  private drawing: Drawing | null = null;
  private selection: Selection = null;
  /** The blocks whose arrows stand out while a range is chosen. */
  private range: Range | null = null;
  private stopMoving: (() => void) | null = null;
  private readonly scheme = matchMedia("(prefers-color-scheme: dark)");

  constructor(container: HTMLElement, handlers: Handlers) {
    const colors = (): ReturnType<typeof theme> => this.colors;
    const drawLabel = edgePainter(colors, this.boxes);
    const head = { lengthToThicknessRatio: 3.2, widenessToThicknessRatio: 2.6 };
    const curved = createEdgeCurveProgram({
      ...DEFAULT_EDGE_CURVE_PROGRAM_OPTIONS,
      arrowHead: { ...head, extremity: "target" },
      drawLabel,
    });
    this.sigma = new Sigma(this.graph, container, {
      allowInvalidContainer: true,
      autoRescale: true,
      defaultDrawEdgeLabel: drawLabel,
      defaultDrawNodeHover: hoverPainter(colors),
      defaultDrawNodeLabel: nodePainter(colors, this.boxes),
      doubleClickZoomingRatio: 1,
      edgeProgramClasses: { arrow: createEdgeArrowProgram(head), curved },
      enableCameraRotation: false,
      enableEdgeEvents: true,
      itemSizesReference: "positions",
      // Every vertex that is large enough has its name.
      labelDensity: 100,
      labelGridCellSize: 60,
      labelRenderedSizeThreshold: 6,
      minEdgeThickness: 1.7,
      nodeHoverProgramClasses: { disc: Unseen },
      nodeProgramClasses: { disc: Disc },
      renderEdgeLabels: true,
      stagePadding: 0,
      zIndex: true,
      zoomToSizeRatioFunction: (ratio) => ratio,
    });
    this.camera = new Camera(this.sigma);
    this.sigma.on("beforeRender", () => void (this.boxes.length = 0));
    listen(this.sigma, this.graph, this.boxes, handlers);
    const [mouse, fingers] = [this.sigma.getMouseCaptor(), this.sigma.getTouchCaptor()];
    // Sigma draws nothing again when a mouse that rests is released.
    mouse.on("mouseup", () => setTimeout(() => this.sigma.scheduleRender()));
    fingers.on("touchmove", () => void (fingers.hasMoved && this.showNames(false)));
    fingers.on("touchup", () => this.showNames(true));
    this.scheme.addEventListener("change", this.repaint);
  }

  private readonly repaint = (): void => {
    this.colors = theme();
    this.draw(false);
  };

  /** Shows a drawing. Vertices that were there move to their new places. */
  show(drawing: Drawing, selection: Selection): void {
    this.drawing = drawing;
    this.selection = selection;
    this.draw(true);
  }

  private draw(animated: boolean): void {
    const { graph, drawing } = this;
    if (drawing === null) return;
    this.stopMoving?.();
    const colors = tokenColors(drawing, this.colors.native);
    const targets: Record<string, { x: number; y: number }> = {};
    const degree = degrees(drawing);
    const isStill = !animated || matchMedia("(prefers-reduced-motion: reduce)").matches || drawing.vertices.size > 500;
    graph.forEachNode((id) => void (drawing.vertices.has(id) || graph.dropNode(id)));
    graph.forEachEdge((id) => void (drawing.edges.has(id) || graph.dropEdge(id)));
    // A new vertex comes from one that was there: from the one that it was expanded from.
    const origins = new Map<string, string>();
    for (const { from, to } of isStill ? [] : drawing.edges.values()) {
      if (graph.hasNode(from)) origins.set(to, from);
      if (graph.hasNode(to)) origins.set(from, to);
    }
    for (const vertex of drawing.vertices.values()) {
      const found = look(vertex);
      const [label, small] = lines(vertex);
      const attributes = {
        type: "disc",
        size: found.radius,
        color: found.fill === "#FFFFFF" ? "#AAB2BF" : found.fill,
        label,
        forceLabel: vertex.isRoot || this.isSelected("vertex", vertex.id),
        look: found,
        lines: [label, small],
        isNoted: vertex.note !== "",
        isSelected: this.isSelected("vertex", vertex.id),
      };
      targets[vertex.id] = { x: vertex.x, y: -vertex.y };
      if (graph.hasNode(vertex.id)) {
        graph.mergeNodeAttributes(vertex.id, attributes);
        continue;
      }
      const from = origins.get(vertex.id);
      const { x, y } = from === undefined ? { x: vertex.x, y: -vertex.y } : graph.getNodeAttributes(from);
      graph.addNode(vertex.id, { ...attributes, x, y });
    }
    for (const edge of drawing.edges.values()) {
      const curve = bend(edge);
      const isSelected = this.isSelected("edge", edge.key);
      const isFaint = this.isFaint(edge);
      const color = colors.get(edge.token) ?? "#999999";
      graph.mergeEdgeWithKey(edge.key, edge.from, edge.to, {
        type: curve === 0 ? "arrow" : "curved",
        curvature: curve,
        bend: curve,
        size: width(edge) + (isSelected ? 2 : 0),
        color: isSelected ? this.colors.accent : isFaint ? mixed(color, this.colors.paper, FAINT) : color,
        label: amountLine(drawing.tokens, edge),
        at: labelAt(degree.get(edge.from) ?? 0, degree.get(edge.to) ?? 0),
        zIndex: isSelected ? 1 : 0,
      });
    }
    this.sigma.setSetting("hideLabelsOnMove", drawing.edges.size > STILL_LABELS);
    if (isStill) for (const [id, place] of Object.entries(targets)) graph.mergeNodeAttributes(id, place);
    else this.stopMoving = animateNodes(graph, targets, { duration: 260, easing: "quadraticOut" });
  }

  /** Names take most of the time of a frame. Sigma hides them while a mouse moves a large drawing, but not while
   * fingers do. */
  private showNames(isOn: boolean): void {
    const { sigma } = this;
    if (isOn === sigma.getSetting("renderLabels") || (!isOn && !sigma.getSetting("hideLabelsOnMove"))) return;
    sigma.setSetting("renderLabels", isOn);
    sigma.setSetting("renderEdgeLabels", isOn);
  }

  /** Arrows of other addresses step back behind those of the chosen one, and those outside of a range. */
  private isFaint({ from, to, first, last }: DrawnEdge): boolean {
    const { selection, range } = this;
    if (range !== null) return last.block < range[0] || first.block > range[1];
    return selection?.kind === "vertex" && ![from, to].includes(selection.id);
  }

  /** Shows which arrows a range would leave, until the next drawing. */
  preview(range: Range): void {
    this.range = range;
    this.draw(false);
    this.range = null;
  }

  private isSelected(kind: string, id: string): boolean {
    return this.selection?.kind === kind && this.selection.id === id;
  }

  select(selection: Selection): void {
    this.selection = selection;
    this.draw(false);
  }

  /** The vertex next to another in a direction of the arrow keys. */
  next(id: string, dx: number, dy: number): string | null {
    const from = this.drawing?.vertices.get(id);
    if (from === undefined || this.drawing === null) return null;
    let best: [number, string] | null = null;
    for (const { id: other, x, y } of this.drawing.vertices.values()) {
      const [ahead, aside] =
        dx !== 0 ? [(x - from.x) * dx, Math.abs(y - from.y)] : [(y - from.y) * dy, 3 * Math.abs(x - from.x)];
      if (other === id || ahead <= 0) continue;
      if (best === null || ahead + aside < best[0]) best = [ahead + aside, other];
    }
    return best?.[1] ?? null;
  }

  /** Shows everything; see `Camera.fit`. */
  fit(least = 0, duration = 200): void {
    if (this.drawing !== null) this.camera.fit([...this.drawing.vertices.values()], least, duration);
  }

  /** Shows everything again if some of the vertices that came with a drawing are out of view. */
  reveal(before: Drawing, least: number): void {
    if (this.drawing === null) return;
    const all = [...this.drawing.vertices.values()];
    const added = all.filter(({ id }) => !before.vertices.has(id));
    if (added.every((vertex) => this.camera.isSeen(vertex))) return;
    const { selection } = this;
    const center = selection?.kind === "vertex" ? this.drawing.vertices.get(selection.id) : undefined;
    this.camera.fit(all, least, 260, center);
  }

  focus(id: string): void {
    const vertex = this.drawing?.vertices.get(id);
    if (vertex !== undefined) this.camera.focus(vertex);
  }

  zoom(factor: number): void {
    this.camera.zoom(factor);
  }

  destroy(): void {
    this.stopMoving?.();
    this.scheme.removeEventListener("change", this.repaint);
    this.sigma.kill();
  }
}
