// What part of the drawing is seen, and how large.

import type Sigma from "sigma";
import { bounds, type Vertex } from "./drawing.ts";

/** The box that is the whole view at zoom 1. It is fixed, so that a larger drawing does not move what is seen. */
const HALF = 1_000;

export class Camera {
  constructor(private readonly sigma: Sigma) {
    sigma.setCustomBBox({ x: [-HALF, HALF], y: [-HALF, HALF] });
  }

  /** The zoom at which a unit of the drawing has a number of pixels. */
  private ratioFor(pixels: number): number {
    const [a, b] = [this.sigma.graphToViewport({ x: 0, y: 0 }), this.sigma.graphToViewport({ x: 100, y: 0 })];
    const now = Math.abs(b.x - a.x) / 100;
    return (this.sigma.getCamera().ratio * now) / pixels;
  }

  private moveTo(x: number, y: number, pixels: number, duration = 200): void {
    const { x: fx, y: fy } = this.sigma.viewportToFramedGraph(this.sigma.graphToViewport({ x, y: -y }));
    const state = { x: fx, y: fy, ratio: this.ratioFor(pixels), angle: 0 };
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches || duration === 0;
    if (isStill) {
      this.sigma.getCamera().setState(state);
      // Places on the screen are known after it is drawn.
      this.sigma.refresh();
    } else {
      void this.sigma.getCamera().animate(state, { duration });
    }
  }

  /** Shows everything; `least` is the smallest zoom, around a vertex, that names stay readable at. */
  fit(all: Vertex[], least: number, duration: number, center?: Vertex): void {
    if (all.length === 0) return;
    this.sigma.resize();
    this.sigma.refresh();
    const { left, right, top, bottom } = bounds(all);
    const { width, height } = this.sigma.getDimensions();
    // Room for names at the edges.
    const [roomX, roomY] = [Math.max(width - 150, 100), Math.max(height - 110, 100)];
    const pixels = Math.min(roomX / Math.max(right - left, 1), roomY / Math.max(bottom - top, 1), 1.1);
    const zoom = Math.max(pixels, least);
    // Where not everything has room, the center or the root is in view, and as much as possible around it.
    const root = center ?? all.find((vertex) => vertex.isRoot);
    const middle = (low: number, high: number, wanted: number, room: number): number => {
      const half = room / zoom / 2;
      return high - low <= 2 * half ? (low + high) / 2 : Math.min(Math.max(wanted, low + half), high - half);
    };
    this.moveTo(
      middle(left, right, root?.x ?? (left + right) / 2, roomX),
      middle(top, bottom, root?.y ?? (top + bottom) / 2, roomY) + 8 / zoom,
      zoom,
      duration,
    );
  }

  /** Whether a vertex is in view. */
  isSeen(vertex: Vertex): boolean {
    const { x, y } = this.sigma.graphToViewport({ x: vertex.x, y: -vertex.y });
    const { width, height } = this.sigma.getDimensions();
    return x > 60 && x < width - 60 && y > 40 && y < height - 50;
  }

  /** Moves a vertex into view. */
  focus(vertex: Vertex): void {
    const { ratio } = this.sigma.getCamera();
    if (!this.isSeen(vertex)) this.moveTo(vertex.x, vertex.y, Math.max(0.55, this.ratioFor(1) / ratio));
  }

  zoom(factor: number): void {
    const camera = this.sigma.getCamera();
    void camera.animate({ ratio: camera.ratio / factor }, { duration: 120 });
  }
}
