// Asks the server.

import type { Answer } from "./types.ts";

/** An error that the server states, or the lack of an answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string | null,
  ) {
    super(message);
  }
}

export type Parameters = Record<string, string | number | boolean | string[] | null | undefined>;

const TOKEN_KEY = "txgraph-token";

/** Keeps the token of the server for this tab. */
export function setToken(token: string): void {
  sessionStorage.setItem(TOKEN_KEY, token);
}

/** Whether this tab has a token. */
export const hasToken = (): boolean => sessionStorage.getItem(TOKEN_KEY) !== null;

export function query(parameters: Parameters): string {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null || value === undefined || value === "" || value === false) continue;
    for (const one of Array.isArray(value) ? value : [value]) found.append(name, String(one));
  }
  return found.toString();
}

async function failure(response: Response): Promise<ApiError> {
  const fallback = `the server answered with status ${response.status}`;
  try {
    const { error } = (await response.json()) as { error?: Record<string, unknown> };
    const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
    return new ApiError(
      response.status,
      text(error?.code) ?? "failed",
      text(error?.message) ?? fallback,
      text(error?.hint),
    );
  } catch {
    return new ApiError(response.status, response.status === 401 ? "token" : "failed", fallback, null);
  }
}

async function get(path: string, parameters: Parameters, signal?: AbortSignal): Promise<Response> {
  const text = query(parameters);
  const token = sessionStorage.getItem(TOKEN_KEY);
  let response: Response;
  try {
    response = await fetch(`/v1/${path}${text === "" ? "" : `?${text}`}`, {
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      signal: signal ?? null,
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "the server does not answer", "Is `txgraph serve` still running?");
  }
  if (!response.ok) throw await failure(response);
  return response;
}

/** The paths that can answer about a part of the blocks. Their answers state which ones are missing. */
const PARTIAL = ["address", "graph", "neighbors", "path", "patterns", "token", "transfers"];

/** The answer of a path, or an `ApiError`. If the node lacks some of the blocks, it is about the others. */
export async function ask<T>(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
  const response = await get(path, parameters, signal).catch((error: unknown) => {
    const isPart = error instanceof ApiError && error.code === "incomplete" && PARTIAL.includes(path);
    if (!isPart) throw error;
    return get(path, { ...parameters, partial: true }, signal);
  });
  const answer = (await response.json()) as Record<string, unknown>;
  // `NUMBER HASH`
  const block = /^\d+/.exec(response.headers.get("x-txgraph-block") ?? "")?.[0];
  answer.as_of = block === undefined ? null : Number(block);
  // Older answers lack parts that pages rely on.
  answer.incomplete ??= [];
  answer.beyond ??= [];
  answer.command ??= null;
  return answer as T;
}

/** What an answer does not contain, besides the rows beyond the ones that were asked for. */
export const besidesRows = ({ incomplete, beyond }: Answer): string[] =>
  incomplete.filter((text) => !beyond.includes(text));

/** The file of a path, or an `ApiError`. */
export async function askFile(path: string, parameters: Parameters): Promise<Blob> {
  return (await get(path, parameters)).blob();
}

/** An answer that is kept, unless it failed. */
export function once<T>(kept: Map<string, Promise<T>>, key: string, ask: () => Promise<T>): Promise<T> {
  const known = kept.get(key) ?? ask();
  kept.set(key, known);
  known.catch(() => kept.delete(key));
  return known;
}
