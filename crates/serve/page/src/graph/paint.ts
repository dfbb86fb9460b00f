// What is drawn on the layers of text above WebGL: shapes, icons, names and amounts.

import type { EdgeLabelDrawingFunction, NodeHoverDrawingFunction, NodeLabelDrawingFunction } from "sigma/rendering";
import { type Box, room } from "./curve.ts";
import { OUTLINES } from "./shapes.ts";
import type { Look } from "./style.ts";

/** Colors of the page, which follow its light or dark scheme. */
export interface Theme {
  ink: string;
  muted: string;
  paper: string;
  accent: string;
  native: string;
  faint: string;
}

export function theme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string): string => style.getPropertyValue(name).trim();
  return {
    ink: value("--ink"),
    muted: value("--muted"),
    paper: value("--canvas"),
    accent: value("--accent"),
    native: value("--native"),
    faint: value("--faint"),
  };
}

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";
const MONO = "ui-monospace, 'SF Mono', Menlo, 'DejaVu Sans Mono', 'Liberation Mono', monospace";

interface NodeData {
  x: number;
  y: number;
  size: number;
  look: Look;
  lines: [string, string];
  isSelected?: boolean;
  isNoted?: boolean;
}

function outline(context: CanvasRenderingContext2D, look: Look, x: number, y: number, radius: number): void {
  context.beginPath();
  if (look.shape === "circle") {
    context.arc(x, y, radius, 0, 2 * Math.PI);
    return;
  }
  OUTLINES[look.shape].forEach(([dx, dy], index) => {
    const [px, py] = [x + dx * radius, y + dy * radius];
    if (index === 0) context.moveTo(px, py);
    else context.lineTo(px, py);
  });
  context.closePath();
}

function text(
  context: CanvasRenderingContext2D,
  line: string,
  x: number,
  y: number,
  color: string,
  halo: string,
): void {
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = halo;
  context.strokeText(line, x, y);
  context.fillStyle = color;
  context.fillText(line, x, y);
}

/** Draws vertices. */
export function nodePainter(colors: () => Theme, boxes: Box[] = []): NodeLabelDrawingFunction {
  return (context, data) => {
    const { x, y, size, look, lines, isSelected, isNoted } = data as unknown as NodeData;
    const { ink, muted, paper, accent } = colors();
    const scale = Math.min(size / 15, 1.15);
    if (isSelected) {
      context.beginPath();
      context.arc(x, y, size * 1.55, 0, 2 * Math.PI);
      context.fillStyle = accent;
      context.globalAlpha = 0.18;
      context.fill();
      context.globalAlpha = 1;
      context.lineWidth = 2;
      context.strokeStyle = accent;
      context.stroke();
    }
    context.setLineDash(look.border === "dashed" ? [3 * scale, 2.5 * scale] : []);
    outline(context, look, x, y, size);
    context.fillStyle = look.fill;
    context.fill();
    context.lineWidth = (look.border === "thick" ? 2.4 : 1.3) * scale;
    context.strokeStyle = "#3b424d";
    context.stroke();
    context.setLineDash([]);
    if (look.border === "double") {
      outline(context, look, x, y, size * 0.82);
      context.lineWidth = scale;
      context.stroke();
    }
    if (isNoted) {
      context.beginPath();
      context.arc(x + size * 0.85, y - size * 0.85, 4.5 * scale, 0, 2 * Math.PI);
      context.fillStyle = accent;
      context.fill();
    }
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = "#20242b";
    context.font = `${Math.round(15 * scale)}px ${FONT}`;
    if (look.icon !== "") context.fillText(look.icon, x, y + scale);
    const [first, second] = lines;
    // Names stay readable when the drawing is small.
    const words = Math.max(scale, 0.9);
    const height = 13 * words;
    context.textBaseline = "top";
    const isName = second !== "" || !first.startsWith("0x");
    context.font = isName ? `600 ${12.5 * words}px ${FONT}` : `${11.5 * words}px ${MONO}`;
    const half = Math.max(context.measureText(first).width / 2, size);
    const isRoomy = second !== "" && size >= 0.72 * look.radius;
    const rows = isRoomy ? 2 : 1;
    boxes.push({ key: "", left: x - half, right: x + half, top: y - size, bottom: y + size + (rows * 14 + 4) * words });
    text(context, first, x, y + size + 4 * words, ink, paper);
    context.font = `${10.5 * words}px ${MONO}`;
    if (isRoomy) text(context, second, x, y + size + 5 * words + height, muted, paper);
    context.textAlign = "start";
    context.textBaseline = "alphabetic";
  };
}

/** Draws the vertex below the pointer again, with a ring. */
export function hoverPainter(colors: () => Theme): NodeHoverDrawingFunction {
  const paint = nodePainter(colors);
  return (context, data, settings) => {
    context.beginPath();
    context.arc(data.x, data.y, data.size * 1.4, 0, 2 * Math.PI);
    context.lineWidth = 2;
    context.strokeStyle = colors().accent;
    context.stroke();
    paint(context, data, settings);
  };
}

/** Names and amounts of one frame. More would be texture. */
const BOXES_MAX = 600;

interface EdgeData {
  key: string;
  label: string;
  color: string;
  bend: number;
  at: number;
}

/** Draws amounts where there is room. `boxes` are those of this frame, for clicks. */
export function edgePainter(colors: () => Theme, boxes: Box[]): EdgeLabelDrawingFunction {
  return (context, data, source, target) => {
    const { key, label, bend, at } = data as unknown as EdgeData;
    if (!label || Math.min(source.size, target.size) < 7 || boxes.length > BOXES_MAX) return;
    context.font = `500 11px ${FONT}`;
    const half = context.measureText(label).width / 2 + 3;
    const distance = Math.hypot(target.x - source.x, target.y - source.y);
    if (2 * half > distance - source.size - target.size) return;
    const box = room(key, source, target, bend, at, 2 * half, boxes);
    if (box === null) return;
    boxes.push(box);
    context.textAlign = "center";
    context.textBaseline = "middle";
    const { ink, paper } = colors();
    context.globalAlpha = 0.9;
    context.fillStyle = paper;
    context.fillRect(box.left + 1, box.top, 2 * half - 2, 16);
    context.globalAlpha = 1;
    context.fillStyle = ink;
    context.fillText(label, (box.left + box.right) / 2, box.top + 8.5);
    context.textAlign = "start";
    context.textBaseline = "alphabetic";
  };
}
