// The drawing as SVG: a file, a picture without WebGL, and the base of PNG.

import { plain, plural, span } from "../base/format.ts";
import { symbol } from "../base/tokens.ts";
import { type Box, control, labelAt, room } from "./curve.ts";
import { bounds, degrees, type Drawing, type DrawnEdge, type Vertex } from "./drawing.ts";
import { OUTLINES } from "./shapes.ts";
import { amountLine, bend, lines, look, tokenColors, width } from "./style.ts";

const INK = "#20242b";
const FONT = "system-ui, 'Segoe UI', Roboto, 'Liberation Sans', Helvetica, Arial, sans-serif";

/** Text inside an element or an attribute. */
export function xml(text: string): string {
  const names: Record<string, string> = { "<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;", "'": "&#39;" };
  // Characters that XML does not allow are dropped.
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
    .replace(/[<>&"']/g, (c) => names[c] ?? "");
}

const fixed = (value: number): string => String(Math.round(value * 10) / 10);

/** Columns of files stand further apart than on the screen, where one can zoom. */
const WIDER = 1.3;

/** About the width of a character of an amount. */
const CHARACTER = 6.6;

/** The height of a line of the texts about a drawing. */
const LINE = 16;

function drawEdge(
  edge: DrawnEdge,
  drawing: Drawing,
  colors: Map<string, string>,
  degree: Map<string, number>,
  boxes: Box[],
): string {
  const [from, to] = [drawing.vertices.get(edge.from), drawing.vertices.get(edge.to)];
  if (from === undefined || to === undefined) return "";
  const color = colors.get(edge.token) ?? "#999999";
  const [curve, size] = [bend(edge), width(edge)];
  const middle = control(from, to, curve);
  // The arrow begins and ends outside of the shapes, and the line ends inside its head.
  const shorten = (end: Vertex, by: number): { x: number; y: number } => {
    const [dx, dy] = [middle.x - end.x, middle.y - end.y];
    const length = Math.hypot(dx, dy) || 1;
    return { x: end.x + (dx / length) * by, y: end.y + (dy / length) * by };
  };
  const head = 6 + 2 * size;
  const [start, tip, base] = [
    shorten(from, look(from).radius),
    shorten(to, look(to).radius + 1),
    shorten(to, look(to).radius + head),
  ];
  const [ux, uy] = [(tip.x - base.x) / head, (tip.y - base.y) / head];
  const half = 2.5 + size;
  const corners = [
    [tip.x, tip.y],
    [base.x - uy * half, base.y + ux * half],
    [base.x + uy * half, base.y - ux * half],
  ];
  const label = amountLine(drawing.tokens, edge);
  const box = room(
    edge.key,
    from,
    to,
    curve,
    labelAt(degree.get(edge.from) ?? 0, degree.get(edge.to) ?? 0),
    CHARACTER * label.length,
    boxes,
  );
  if (box !== null) boxes.push(box);
  // The title of an arrow has its amount in any case.
  const amount =
    box === null
      ? ""
      : `<text class="amount" x="${fixed((box.left + box.right) / 2)}" y="${fixed(box.top + 8)}" dy="4">${xml(label)}</text>`;
  const title = `${lines(from)[0]} → ${lines(to)[0]}: ${label}, ${plural(edge.count, "transfer")}, ${span(edge.first.time, edge.last.time)}`;
  const points = corners.map(([x, y]) => `${fixed(x ?? 0)},${fixed(y ?? 0)}`).join(" ");
  return `<g class="arrow"><title>${xml(title)}</title><path d="M${fixed(start.x)} ${fixed(start.y)}Q${fixed(middle.x)} ${fixed(middle.y)} ${fixed(base.x)} ${fixed(base.y)}" fill="none" stroke="${color}" stroke-width="${fixed(size)}"/><polygon points="${points}" fill="${color}"/>${amount}</g>`;
}

function drawVertex(vertex: Vertex): string {
  const { x, y } = vertex;
  const { shape, fill, icon, radius, border } = look(vertex);
  const dash = border === "dashed" ? ' stroke-dasharray="3 2.5"' : "";
  const outline = (r: number): string =>
    shape === "circle"
      ? `<circle cx="${fixed(x)}" cy="${fixed(y)}" r="${fixed(r)}"/>`
      : `<polygon points="${OUTLINES[shape].map(([dx, dy]) => `${fixed(x + dx * r)},${fixed(y + dy * r)}`).join(" ")}"/>`;
  const [first, second] = lines(vertex);
  const name = second !== "" || !first.startsWith("0x") ? "name" : "address";
  const notes =
    vertex.note === ""
      ? ""
      : `<text class="note" x="${fixed(x)}" y="${fixed(y + radius + (second === "" ? 28 : 41))}">${xml(plain(vertex.note, 60))}</text>`;
  return `<g><title>${xml(vertex.kind === "address" ? vertex.id : first)}</title><g fill="${fill}" stroke="#3b424d" stroke-width="1.3"${dash}>${outline(radius)}${border === "double" ? outline(radius * 0.82) : ""}</g><text class="icon" x="${fixed(x)}" y="${fixed(y)}" dy="5">${xml(icon)}</text><text class="${name}" x="${fixed(x)}" y="${fixed(y + radius + 14)}">${xml(first)}</text><text class="address" x="${fixed(x)}" y="${fixed(y + radius + 28)}">${xml(second)}</text>${notes}</g>`;
}

/** Tokens that the legend names. */
const LEGEND = 12;

/** A text in lines of at most some characters. */
function wrapped(text: string, most: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** The whole drawing with a title, a legend, and texts about it. */
export function svg(drawn: Drawing, title: string, about: string[] = []): string {
  const wider = (vertex: Vertex): Vertex => ({ ...vertex, x: vertex.x * WIDER });
  const drawing = { ...drawn, vertices: new Map([...drawn.vertices].map(([id, vertex]) => [id, wider(vertex)])) };
  const all = [...drawing.vertices.values()];
  const box = bounds(all);
  // Room for names, the title, the texts and the legend.
  const [left, right] = [box.left - 110, Math.max(box.right + 110, box.left + 370)];
  const texts = about.flatMap((text) => wrapped(plain(text, 1_000), Math.floor((right - left - 40) / CHARACTER)));
  const [top, bottom] = [box.top - 90 - LINE * texts.length, box.bottom + 80];
  const colors = tokenColors(drawing, "#333333");
  const degree = degrees(drawing);
  const [width, height] = [right - left, bottom - top];
  let at = left + 20;
  const legend = [...colors].slice(0, LEGEND).map(([token, color]) => {
    const name = symbol(drawing.tokens, token);
    const entry = `<rect x="${fixed(at)}" y="${fixed(bottom - 26)}" width="10" height="10" fill="${color}"/><text class="legend" x="${fixed(at + 15)}" y="${fixed(bottom - 17)}">${xml(name)}</text>`;
    at += 34 + 7 * [...name].length;
    return entry;
  });
  if (colors.size > LEGEND) {
    const rest = `and ${plural(colors.size - LEGEND, "more token")}`;
    legend.push(`<text class="legend" x="${fixed(at)}" y="${fixed(bottom - 17)}">${rest}</text>`);
  }
  const lead = texts.map(
    (text, at) => `<text class="about" x="${fixed(left + 20)}" y="${fixed(top + 52 + LINE * at)}">${xml(text)}</text>`,
  );
  const style = `text{font-family:${FONT};fill:${INK};text-anchor:middle}.title{font-size:16px;font-weight:600;text-anchor:start}.legend,.about{font-size:12px;text-anchor:start}.amount{font-size:11px;font-weight:500}.amount,.name,.address,.note{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}.name{font-size:12.5px;font-weight:600}.address{font-family:ui-monospace,Menlo,'DejaVu Sans Mono',monospace;font-size:11px}.note{font-size:11px;font-style:italic}.icon{font-size:15px}`;
  const boxes = all.map((vertex): Box => {
    const { radius } = look(vertex);
    const half = Math.max(radius, (7.6 * lines(vertex)[0].length) / 2);
    return {
      key: "",
      left: vertex.x - half,
      right: vertex.x + half,
      top: vertex.y - radius,
      bottom: vertex.y + radius + 32,
    };
  });
  const body = [...drawing.edges.values()].map((edge) => drawEdge(edge, drawing, colors, degree, boxes)).join("");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${fixed(left)} ${fixed(top)} ${fixed(width)} ${fixed(height)}" width="${fixed(width)}" height="${fixed(height)}" role="img" aria-label="${xml(title)}"><style>${style}</style><rect x="${fixed(left)}" y="${fixed(top)}" width="100%" height="100%" fill="#fff"/><text class="title" x="${fixed(left + 20)}" y="${fixed(top + 32)}">${xml(title)}</text>${lead.join("")}${body}${all.map(drawVertex).join("")}${legend.join("")}</svg>\n`;
}
