// What the part of the URL after `#` names.

export type Route =
  | { view: "home" }
  | { view: "address"; address: string }
  | { view: "transaction"; hash: string }
  | { view: "block"; block: string }
  | { view: "token"; token: string }
  | { view: "patterns"; blocks: string }
  | { view: "graph"; roots: string[]; transaction: string | null; parameters: URLSearchParams }
  | { view: "unknown"; text: string };

const ADDRESS = /^0x[0-9a-f]{40}$/;
const HASH = /^0x[0-9a-f]{64}$/;

export const isAddress = (text: string): boolean => ADDRESS.test(text);
export const isHash = (text: string): boolean => HASH.test(text);

export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#?\/?/, "");
  const [path = "", query = ""] = text.split("?", 2);
  const [view = "", ...rest] = path.toLowerCase().split("/");
  const value = rest.join("/");
  const parameters = new URLSearchParams(query);
  switch (view) {
    case "":
      return { view: "home" };
    case "address":
      if (isAddress(value)) return { view, address: value };
      break;
    case "tx":
      if (isHash(value)) return { view: "transaction", hash: value };
      break;
    case "block":
      if (/^\d+$/.test(value) || isHash(value)) return { view, block: value };
      break;
    case "token":
      if (isAddress(value)) return { view, token: value };
      break;
    case "patterns":
      return { view, blocks: parameters.get("blocks") ?? "" };
    case "graph": {
      if (rest[0] === "tx" && isHash(rest[1] ?? "")) {
        return { view, roots: [], transaction: rest[1] ?? "", parameters };
      }
      const roots = value.split(",").filter((root) => root !== "");
      if (roots.every(isAddress)) return { view, roots, transaction: null, parameters };
    }
  }
  return { view: "unknown", text };
}

export const addressPath = (address: string): string => `#/address/${address}`;
export const transactionPath = (hash: string): string => `#/tx/${hash}`;
export const blockPath = (block: number | string): string => `#/block/${block}`;
export const tokenPath = (token: string): string => `#/token/${token}`;
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
