// The frame of the page: header, routes, keys.

import { ApiError, ask, hasToken, setToken } from "./base/api.ts";
import { fill, h, iconButton } from "./base/dom.ts";
import { count, short } from "./base/format.ts";
import { blockPath, parseRoute, type Route } from "./base/route.ts";
import { Search } from "./base/search.ts";
import type { Info } from "./base/types.ts";
import { failure, heading } from "./base/widgets.ts";
import { GraphPage } from "./graph/page.ts";
import { isEmpty } from "./graph/start.ts";
import { Workspace } from "./graph/workspace.ts";
import { help } from "./help.ts";
import { addressPage } from "./pages/address.ts";
import { blockPage } from "./pages/block.ts";
import { chainName, home } from "./pages/home.ts";
import { patternsPage } from "./pages/patterns.ts";
import { tokenPage } from "./pages/token.ts";
import { transactionPage } from "./pages/transaction.ts";

const root = document.getElementById("app") as HTMLElement;
const dialog = help();

/** The end of the titles of pages. */
const SUFFIX = " – txgraph";

const go = (path: string): void => void (location.hash = path);

/** Asks for the token of the server. */
function tokenForm(): HTMLElement {
  const input = h("input", { type: "password", id: "token", autocomplete: "off", autofocus: true });
  return h(
    "main",
    { id: "main", class: "home" },
    h("h1", {}, "This server needs its token"),
    hasToken() ? failure(new Error("The server refused the token.")) : null,
    h(
      "form",
      {
        class: "field",
        onsubmit: (event: Event) => {
          event.preventDefault();
          setToken(input.value.trim());
          location.reload();
        },
      },
      h("label", { for: "token" }, "Token"),
      input,
      h("button", { type: "submit", class: "button primary" }, "Continue"),
    ),
  );
}

/** The page instead of one that cannot be shown. */
function failed(name: string, error: unknown, again: () => void): HTMLElement {
  const button = h("button", { type: "button", class: "button", onclick: again }, "Try again");
  return h(
    "main",
    { id: "main", class: "page" },
    heading(name, "This cannot be shown", false),
    failure(error),
    h("div", { class: "actions" }, button),
  );
}

class Application {
  private readonly search = new Search("search", "Search", go);
  private readonly body = h("div", { class: "body" });
  private readonly space: Workspace;
  private graph: GraphPage | null = null;
  private drawn: string | null = null;
  private number = 0;

  constructor(private readonly info: Info) {
    this.space = new Workspace(info);
    const back = h("a", { href: "#/", class: "brand" }, "txgraph");
    const where = h(
      "p",
      { class: "where" },
      h("span", {}, chainName(info)),
      h("a", { href: blockPath(info.tip.number), title: "Newest block" }, count(info.tip.number)),
    );
    fill(
      root,
      h("a", { href: "#main", class: "skip", onclick: (event: Event) => this.skip(event) }, "Skip to the content"),
      h(
        "header",
        { class: "top" },
        back,
        this.search.element,
        where,
        iconButton("M9 9a3 3 0 1 1 4 2.800c-.7.3-1 .9-1 1.700v.5M12 17.500v.5", "Keys (?)", () => dialog.showModal()),
      ),
      this.body,
      dialog,
    );
    addEventListener("hashchange", () => void this.show());
    document.addEventListener("keydown", (event) => this.key(event));
  }

  private skip(event: Event): void {
    event.preventDefault();
    const target = this.body.querySelector<HTMLElement>(".canvas") ?? document.getElementById("main");
    target?.setAttribute("tabindex", target.getAttribute("tabindex") ?? "-1");
    target?.focus();
  }

  private title(route: Route): string {
    switch (route.view) {
      case "home":
        return "txgraph";
      case "address":
        return `${short(route.address)}${SUFFIX}`;
      case "transaction":
        return `Transaction ${short(route.hash)}${SUFFIX}`;
      case "block":
        return `Block ${short(route.block)}${SUFFIX}`;
      case "token":
        return `Token ${short(route.token)}${SUFFIX}`;
      case "patterns":
        return `Patterns${SUFFIX}`;
      case "graph":
        return `${this.space.title}${SUFFIX}`;
      case "unknown":
        return `Not found${SUFFIX}`;
    }
  }

  private async page(route: Route): Promise<HTMLElement> {
    const { info } = this;
    switch (route.view) {
      case "home":
        return home(info, go, (file) => void this.openCase(file));
      case "address":
        return addressPage(route.address, info);
      case "transaction":
        return transactionPage(route.hash, info);
      case "block":
        return blockPage(route.block, info);
      case "token":
        return tokenPage(route.token, info);
      case "patterns":
        return patternsPage(route.blocks, info, go);
      default:
        return h(
          "main",
          { id: "main", class: "page" },
          h("h1", {}, "There is no such page"),
          route.view === "unknown" && route.why !== null ? failure(new Error(route.why)) : null,
          h("p", {}, "Search for an address, a transaction, a block or a token."),
        );
    }
  }

  async show(): Promise<void> {
    const number = (this.number += 1);
    const route = parseRoute(location.hash);
    this.graph?.unmount();
    this.graph = null;
    document.body.classList.toggle("at-home", route.view === "home");
    if (route.view === "graph") {
      await this.showGraph(route);
    } else {
      const loading = setTimeout(() => {
        // The page that the user went to since then stays.
        if (number !== this.number) return;
        fill(this.body, h("main", { id: "main", class: "page" }, h("p", { class: "loading" }, "Loading…")));
      }, 120);
      const page = await this.page(route).catch((error: unknown) =>
        failed(this.title(route).replace(SUFFIX, ""), error, () => void this.show()),
      );
      clearTimeout(loading);
      // The user went elsewhere while the answer was on its way.
      if (number !== this.number) return;
      fill(this.body, page);
      scrollTo(0, 0);
      if (route.view === "home") page.querySelector<HTMLElement>("input")?.focus();
    }
    document.title = this.title(route);
  }

  private async showGraph(route: Route & { view: "graph" }): Promise<void> {
    const { space } = this;
    const graph = new GraphPage(space);
    this.graph = graph;
    fill(this.body, graph.element);
    graph.mount();
    const { view: _, ...named } = route;
    // Without a name, it is the drawing that is there, or that of before the page was loaded again.
    const isNew = location.hash !== this.drawn && (!isEmpty(named) || this.drawn === null);
    if (isNew) this.drawn = location.hash;
    if (isNew) await space.open(named);
    // What failed can be tried again.
    if (isNew && space.error !== null) this.drawn = null;
  }

  /** Shows a case from a file. */
  private async openCase(file: File): Promise<void> {
    const text = await file.text();
    // The drawing is kept for a reload at this URL.
    go("#/graph");
    await this.space.read(text);
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    const isTyping = target.matches("input, textarea, select");
    const graph = this.graph;
    if ((event.ctrlKey || event.metaKey) && graph !== null && !isTyping) {
      const key = event.key.toLowerCase();
      if (key === "z" && event.shiftKey) void this.space.redo();
      else if (key === "z") void this.space.undo();
      else if (key === "y") void this.space.redo();
      else if (key === "s") void graph.save("json");
      else if (key === "o") graph.openFile();
      else return;
      event.preventDefault();
      return;
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (event.key === "/") this.search.input.focus();
    else if (event.key === "?") dialog.showModal();
    else if (event.key === "g" && this.drawn !== null) go(this.drawn);
    else if (event.key === "t" && graph !== null) graph.toggleTable();
    else if (event.key === "f" && graph !== null) {
      graph.toggleFilters(true);
      graph.filters.first.focus();
    } else if (event.key === "Escape" && graph !== null) this.space.select(null);
    else return;
    event.preventDefault();
  }
}

async function start(): Promise<void> {
  try {
    const info = await ask<Info>("info");
    await new Application(info).show();
  } catch (error) {
    const isRefused = error instanceof ApiError && error.status === 401;
    fill(root, isRefused ? tokenForm() : failed("txgraph", error, () => location.reload()));
  }
}

void start();
