// The save file of GraphSense's dashboard: addresses, labels, and pairs that are related. It has no amounts: the
// dashboard asks its own server for them. `txgraph graph -o FILE.gs` writes the same format.

import { plain } from "../base/format.ts";
import type { Label } from "../base/types.ts";
import type { Drawing } from "./drawing.ts";
import { kindOf } from "./style.ts";

/** The only chain with addresses of Ethereum that GraphSense has. */
const CHAIN_ID = 1;

type Id = [network: "eth", address: string];

/** Distances in the plane of the dashboard, of a hop and of a row; and those of the drawing. */
const [HOP, ROW] = [8 / 290, 4 / 66];

/** Red, green, blue and opacity, up to 1, of a color of six hexadecimal digits. */
const parts = (color: string): number[] => [
  ...[1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255),
  1,
];

/** Compresses by LZW, with a dictionary that grows and is never cleared. Each number has four bytes, lowest first. */
export function compressed(text: string): Uint8Array<ArrayBuffer> {
  const known = new Map<string, number>();
  const numbers: number[] = [];
  let current = -1;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text.charCodeAt(at);
    const longer = current < 0 ? byte : known.get(`${current} ${byte}`);
    if (longer === undefined) {
      numbers.push(current);
      known.set(`${current} ${byte}`, 256 + known.size);
      current = byte;
    } else current = longer;
  }
  if (current >= 0) numbers.push(current);
  const bytes = new DataView(new ArrayBuffer(4 * numbers.length));
  numbers.forEach((number, at) => bytes.setUint32(4 * at, number, true));
  return new Uint8Array(bytes.buffer);
}

/** The file of a drawing of Ethereum mainnet. Other chains are an error. */
export function graphSense(chain: number, drawing: Drawing, title: string): Uint8Array<ArrayBuffer> {
  if (chain !== CHAIN_ID) {
    throw new Error(`GraphSense has no chain ${chain}: of Ethereum's addresses, it has those of mainnet.`);
  }
  const id = (address: string): Id => ["eth", address];
  const vertices = [...drawing.vertices.values()].filter(({ kind }) => kind === "address");
  const places = vertices.map(({ id: address, x, y, isRoot }) => [id(address), round(x * HOP), round(y * ROW), isRoot]);
  const note = (address: string, label: Label): unknown[] => {
    const name = plain(label.name, 32);
    if (!label.category) return [id(address), name, null];
    const { icon, color } = kindOf(label);
    return [id(address), `${icon} ${name}`, parts(color)];
  };
  const notes = vertices.flatMap(({ id: address, label }) => (label === null ? [] : [note(address, label)]));
  const isDrawn = (address: string): boolean => drawing.vertices.get(address)?.kind === "address";
  // One entry for both directions, with the lower address first.
  const pairs = new Map<string, [Id, Id, Id[]]>();
  for (const { from, to } of drawing.edges.values()) {
    if (!isDrawn(from) || !isDrawn(to)) continue;
    const [low, high] = from < to ? [from, to] : [to, from];
    pairs.set(`${low} ${high}`, [id(low), id(high), []]);
  }
  const content = JSON.stringify(["pathfinder", "1", title, places, [], notes, [...pairs.values()]]);
  const bytes = new TextEncoder().encode(content);
  return compressed(btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")));
}

/** Two digits. More only make the file larger. */
const round = (value: number): number => Math.round(100 * value) / 100;
