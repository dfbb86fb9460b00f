// What the part of the URL after `#` names.

import { addressOf } from "./addresses.ts";

export type Route =
  | { view: "home" }
  | { view: "address"; address: string }
  | { view: "transaction"; hash: string }
  | { view: "block"; block: string }
  | { view: "token"; token: string }
  | { view: "patterns"; blocks: string }
  | { view: "graph"; roots: string[]; transaction: string | null; token: string | null; parameters: URLSearchParams }
  | { view: "unknown"; text: string; why: string | null };

const HASH = /^0x[0-9a-f]{64}$/;

export const isHash = (text: string): boolean => HASH.test(text);

/** What a path without its query names. A wrong checksum is an error. */
function named(path: string, parameters: URLSearchParams): Route | null {
  const [first = "", ...rest] = path.split("/");
  const typed = rest.join("/");
  const [view, value] = [first.toLowerCase(), typed.toLowerCase()];
  switch (view) {
    case "":
      return { view: "home" };
    case "address": {
      const address = addressOf(typed);
      return address === null ? null : { view, address };
    }
    case "tx":
      return isHash(value) ? { view: "transaction", hash: value } : null;
    case "block":
      return /^\d+$/.test(value) || isHash(value) ? { view, block: value } : null;
    case "token": {
      const token = addressOf(typed);
      return token === null ? null : { view, token };
    }
    case "patterns":
      return { view, blocks: parameters.get("blocks") ?? "" };
    case "graph": {
      const [kind, name = ""] = typed.split("/");
      const none = { view, roots: [] as string[], transaction: null, token: null, parameters };
      if (kind === "tx") return isHash(value.slice(3)) ? { ...none, transaction: value.slice(3) } : null;
      if (kind === "token") {
        const token = addressOf(name);
        return token === null ? null : { ...none, token };
      }
      const roots = typed.split(",").filter((root) => root !== "");
      const known = roots.map(addressOf).filter((root) => root !== null);
      return known.length === roots.length ? { ...none, roots: known } : null;
    }
    default:
      return null;
  }
}

export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#?\/?/, "");
  const [path = "", query = ""] = text.split("?", 2);
  try {
    return named(path, new URLSearchParams(query)) ?? { view: "unknown", text, why: null };
  } catch (error) {
    return { view: "unknown", text, why: (error as Error).message };
  }
}

export const addressPath = (address: string): string => `#/address/${address}`;
export const transactionPath = (hash: string): string => `#/tx/${hash}`;
export const blockPath = (block: number | string): string => `#/block/${block}`;
export const tokenPath = (token: string): string => `#/token/${token}`;
export const transactionGraphPath = (hash: string): string => `#/graph/tx/${hash}`;
export const tokenGraphPath = (token: string): string => `#/graph/token/${token}`;
export const graphPath = (...roots: string[]): string => `#/graph/${roots.join(",")}`;

export const patternsPath = (blocks = ""): string =>
  blocks === "" ? "#/patterns" : `#/patterns?blocks=${encodeURIComponent(blocks)}`;

/** The page of something that the search found. */
export function foundPath(kind: string, value: string): string {
  const paths: Record<string, (value: string) => string> = {
    address: addressPath,
    transaction: transactionPath,
    block: blockPath,
    token: tokenPath,
  };
  return paths[kind]?.(value) ?? "#/";
}
