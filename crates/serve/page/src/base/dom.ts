// Elements. Text from outside becomes text nodes only, never markup.

type Child = Node | string | number | null | undefined | false;
type Properties = Record<string, unknown>;

function apply(element: Element, properties: Properties): void {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value as EventListener);
    } else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") {
      (element as unknown as Properties)[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

/** An element with attributes, listeners (`onclick`) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  apply(element, properties);
  put(element, ...children);
  return element;
}

/** Appends children. */
export function put(parent: Node, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Replaces all children. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  put(parent, ...children);
}

const SVG = "http://www.w3.org/2000/svg";

/** An icon of lines, 24 units wide, in the color of the text. */
export function icon(path: string): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  apply(svg, { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true", focusable: "false" });
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.appendChild(line);
  return svg;
}

export const ICONS = {
  search: "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14M16.2 16.2 21 21",
  undo: "M8 5 4 9l4 4M4 9h10a6 6 0 0 1 0 12h-3",
  redo: "m16 5 4 4-4 4M20 9H10a6 6 0 0 0 0 12h3",
  open: "M3 7v12h18V8h-9l-2-3H3z",
  save: "M5 3h11l3 3v15H5zM8 3v6h7V3M8 21v-7h8v7",
  share: "M12 15V3M7.5 7.5 12 3l4.5 4.5M5 13v8h14v-8",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  filter: "M3 5h18l-7 8v6l-4 2v-8z",
  table: "M3 5h18v14H3zM3 10h18M3 14.5h18M9 10v9",
  inward: "M20 12H5M11 6l-6 6 6 6M21 5v14",
  outward: "M4 12h15M13 6l6 6-6 6M3 5v14",
  follow: "M3 12h5M8 12l6-6h7M8 12l6 6h7M18 3l3 3-3 3M18 15l3 3-3 3",
  hide: "M3 3l18 18M10 6.3A9 9 0 0 1 21 12a12 12 0 0 1-2.6 3.3M6 8a12 12 0 0 0-3 4c2 4 5.500 6 9 6a9 9 0 0 0 3.500-.7",
  path: "M5 7a2 2 0 1 0 0-.01M19 19a2 2 0 1 0 0-.01M7 7h6a4 4 0 0 1 0 5H9a3.500 3.500 0 0 0 0 7h8",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  close: "M5 5l14 14M19 5 5 19",
  graph: "M5 12a2 2 0 1 0 0-.01M19 6a2 2 0 1 0 0-.01M19 18a2 2 0 1 0 0-.01M7 11l10-4M7 13l10 4",
  warning: "M12 4 2.500 20h19zM12 10v5M12 17.500v.5",
} as const;

/** A button with an icon; its name is read and shown as a tooltip. */
export function iconButton(
  path: string,
  name: string,
  onclick: () => void,
  properties: Properties = {},
): HTMLButtonElement {
  return h(
    "button",
    { type: "button", class: "tool", title: name, "aria-label": name, onclick, ...properties },
    icon(path),
  );
}

const live = (): HTMLElement | null => document.getElementById("live");

/** Says a change to screen readers. */
export function announce(text: string): void {
  const region = live();
  if (region !== null) region.textContent = text;
}

/** A hidden field for a file of a drawing, which a button opens. */
export function caseInput(read: (file: File) => void): HTMLInputElement {
  const input = h("input", {
    type: "file",
    accept: ".json,application/json",
    class: "unseen",
    "aria-label": "Open a case",
    tabindex: "-1",
  });
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    // The same file can be chosen again.
    input.value = "";
    if (file !== undefined) read(file);
  });
  return input;
}

/** Gives a file to the user. */
export function download(name: string, type: string, content: BlobPart): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = h("a", { href: url, download: name });
  document.body.appendChild(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
