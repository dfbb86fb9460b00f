// Gives files of a drawing to the user.

import { announce, download } from "../base/dom.ts";
import { aboutOf } from "./about.ts";
import { csv, dot, page } from "./files.ts";
import { graphSense } from "./graphsense.ts";
import { svg } from "./svg.ts";
import type { Workspace } from "./workspace.ts";

/** Pixels of a side of a PNG at most. Browsers refuse much larger ones. */
const PIXELS_MAX = 8_000;

/** Turns SVG into PNG. The picture has no parts outside of itself, so the canvas stays readable. */
async function png(text: string): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const scale = Math.min(2, PIXELS_MAX / Math.max(image.width, image.height));
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.ceil(image.width * scale), Math.ceil(image.height * scale)];
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob(
        (blob) => (blob === null ? reject(new Error("The browser cannot write this PNG.")) : resolve(blob)),
        "image/png",
      ),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}

export const FILES = [
  ["html", "Page to share (HTML)"],
  ["svg", "Picture (SVG)"],
  ["png", "Picture (PNG)"],
  ["csv", "Table (CSV)"],
  ["dot", "Graph (DOT)"],
  ["gs", "GraphSense (.gs)"],
] as const;

export type FileKind = (typeof FILES)[number][0] | "json";

export async function save(space: Workspace, kind: FileKind): Promise<void> {
  const { drawing, title, info, recipe } = space;
  const name = `txgraph-${(recipe.roots[0] ?? "drawing").slice(0, 10)}.${kind}`;
  const { lines, missing } = aboutOf(info, recipe, space.parts, drawing, space.tokens);
  const lacks =
    missing.length === 0 ? [] : [`What is missing: ${missing.map((text) => text.replace(/\.$/, "")).join("; ")}.`];
  const all = [...lines, ...lacks];
  switch (kind) {
    case "html":
      download(name, "text/html", page(drawing, title, lines, missing));
      break;
    case "svg":
      download(name, "image/svg+xml", svg(drawing, title, all));
      break;
    case "png":
      download(name, "image/png", await png(svg(drawing, title, all)));
      break;
    case "csv":
      download(name, "text/csv", csv(drawing, all.join(" ")));
      break;
    case "dot":
      download(name, "text/vnd.graphviz", dot(drawing, title, all.join(" ")));
      break;
    case "gs":
      download(name, "application/octet-stream", graphSense(info.chain_id, drawing, title));
      break;
    case "json":
      download(name, "application/json", space.save());
  }
  announce(`${name} is saved`);
}
