// The part of a panel where a path is asked for.

import { h, ICONS } from "../base/dom.ts";
import { checkbox, checked, labeled, textField } from "../base/forms.ts";
import { short } from "../base/format.ts";
import { action } from "../base/widgets.ts";
import type { Vertex } from "./drawing.ts";
import type { Workspace } from "./workspace.ts";

/** The fields of the address where the path ends, and of how it is searched. */
function fields(space: Workspace): HTMLElement {
  const { pathForm: form } = space;
  const to = textField("path-to", "0x… or click an address", { class: "mono", value: form.to });
  const hops = textField("path-hops", "6", { size: 3, inputmode: "numeric", value: form.hops });
  const order = checkbox("path-order", form.any_order);
  to.addEventListener("input", () => void (form.to = to.value));
  hops.addEventListener("input", () => void (form.hops = hops.value));
  order.addEventListener("change", () => void (form.any_order = order.checked));
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
    labeled("Longest route, in transfers", hops),
    checked(order, "transfers in any order"),
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
