// The part of a panel where a path is asked for.

import { h, ICONS } from "../base/dom.ts";
import { short } from "../base/format.ts";
import { action } from "../base/widgets.ts";
import type { Vertex } from "./drawing.ts";
import type { Workspace } from "./workspace.ts";

/** The fields of the address where the path ends, and of how it is searched. */
function fields(space: Workspace): HTMLElement {
  const { pathForm: form } = space;
  const to = h("input", {
    type: "text",
    id: "path-to",
    class: "mono",
    placeholder: "0x… or choose an address in the drawing",
    spellcheck: "false",
    value: form.to,
    oninput: () => void (form.to = to.value),
  });
  const hops = h("input", {
    type: "text",
    id: "path-hops",
    size: 3,
    inputmode: "numeric",
    placeholder: "6",
    value: form.hops,
    oninput: () => void (form.hops = hops.value),
  });
  const order = h("input", {
    type: "checkbox",
    id: "path-order",
    checked: form.any_order,
    onchange: () => void (form.any_order = order.checked),
  });
  return h(
    "form",
    {
      class: "field",
      onsubmit: (event: Event) => {
        event.preventDefault();
        void space.path(to.value);
      },
    },
    h("label", { for: "path-to" }, "Path to"),
    to,
    h("button", { type: "submit", class: "button" }, "Find"),
    h("div", { class: "filter check" }, h("label", { for: "path-hops" }, "Longest route, in transfers"), hops),
    h("div", { class: "filter check" }, order, h("label", { for: "path-order" }, "transfers in any order")),
  );
}

export function pathForm(space: Workspace, vertex: Vertex): HTMLElement {
  const { pathFrom } = space;
  if (pathFrom === null || pathFrom === vertex.id) {
    const isOn = pathFrom === vertex.id;
    return h(
      "div",
      { class: "path" },
      action(ICONS.path, isOn ? "Cancel the path" : "Path from here", () => space.startPath(isOn ? null : vertex.id), {
        "aria-pressed": String(isOn),
      }),
      isOn ? fields(space) : null,
    );
  }
  return h(
    "div",
    { class: "path" },
    action(ICONS.path, `Path from ${short(pathFrom)} to here`, () => void space.path(vertex.id), {
      class: "button primary",
    }),
    action(ICONS.close, "Cancel", () => space.startPath(null)),
  );
}
