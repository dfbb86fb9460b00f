// Names of tokens, which come from the tokens themselves and prove nothing.

import { exact, plain, rounded, short } from "./format.ts";
import type { Token, TokenId, Tokens } from "./types.ts";

export const NATIVE = "native";

/** Whether two tokens of a list claim the same symbol. */
export function isAmbiguous(tokens: Tokens, id: TokenId): boolean {
  const symbol = tokens[id]?.symbol?.toLowerCase();
  if (symbol === undefined) return false;
  return Object.entries(tokens).some(([other, token]) => other !== id && token.symbol?.toLowerCase() === symbol);
}

/** The symbol; with the short address where several tokens claim it, or where there is none. */
export function symbol(tokens: Tokens, id: TokenId): string {
  const token: Token | undefined = tokens[id];
  if (id === NATIVE) return plain(token?.symbol ?? "ETH", 16);
  if (!token?.symbol) return short(id);
  const name = plain(token.symbol, 16);
  return isAmbiguous(tokens, id) ? `${name} (${short(id)})` : name;
}

const isNumbered = (kind: string): boolean => kind === "erc721";

/** The decimals of a token; `null` if they are not known. */
export const decimalsOf = (tokens: Tokens, id: TokenId): number | null =>
  tokens[id]?.decimals ?? (id === NATIVE ? 18 : null);

/** A rounded amount with its symbol; the number of pieces where they are not alike. */
export function roundedAmount(tokens: Tokens, id: TokenId, amount: string, kind = "", pieces = 1): string {
  if (isNumbered(kind)) return `${pieces} ${symbol(tokens, id)}`;
  const decimals = decimalsOf(tokens, id);
  return `${rounded(amount, decimals)}${decimals === null ? " units of" : ""} ${symbol(tokens, id)}`;
}

export function exactAmount(tokens: Tokens, id: TokenId, amount: string): string {
  const decimals = decimalsOf(tokens, id);
  return `${exact(amount, decimals)}${decimals === null ? " units of" : ""} ${symbol(tokens, id)}`;
}
