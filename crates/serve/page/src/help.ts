// The list of keys.

import { h, iconButton, ICONS } from "./base/dom.ts";

const KEYS: [string, [string, string][]][] = [
  [
    "Everywhere",
    [
      ["/", "search"],
      ["g", "back to the drawing"],
      ["?", "this list"],
      ["Esc", "close"],
    ],
  ],
  [
    "Drawing",
    [
      ["Ctrl+Z", "undo"],
      ["Ctrl+Shift+Z", "redo"],
      ["Ctrl+S", "save the case"],
      ["Ctrl+O", "open a case"],
      ["f", "filters"],
      ["t", "table"],
      ["0", "fit everything"],
      ["+ −", "zoom"],
    ],
  ],
  [
    "Chosen address",
    [
      ["← ↑ → ↓", "choose the next one"],
      ["i", "expand in"],
      ["o", "expand out"],
      ["h", "hide"],
      ["p", "path: at its start, then at its end"],
      ["Enter", "details"],
    ],
  ],
];

export function help(): HTMLDialogElement {
  const dialog = h("dialog", { class: "help", "aria-label": "Keys" });
  const groups = KEYS.map(([name, keys]) =>
    h(
      "section",
      {},
      h("h3", {}, name),
      h(
        "dl",
        {},
        ...keys.map(([key, text]) =>
          h(
            "div",
            {},
            h(
              "dt",
              {},
              ...key
                .split("+")
                .flatMap((part, index) => [
                  index > 0 && part !== "" ? " " : null,
                  h("kbd", {}, part === "" ? "+" : part),
                ]),
            ),
            h("dd", {}, text),
          ),
        ),
      ),
    ),
  );
  dialog.append(
    h(
      "header",
      {},
      h("h2", {}, "Keys"),
      iconButton(ICONS.close, "Close", () => dialog.close()),
    ),
    h("div", { class: "keys" }, ...groups),
    h(
      "p",
      { class: "muted" },
      "With the mouse: click for details, double click to expand, drag to move, wheel to zoom.",
    ),
  );
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  return dialog;
}
