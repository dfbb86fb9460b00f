// The part of a panel that follows an address over several hops.

import { h, ICONS } from "../base/dom.ts";
import { checkbox, checked, choice } from "../base/forms.ts";
import { action } from "../base/widgets.ts";
import { type Step, withStep } from "./recipe.ts";
import type { Vertex } from "./drawing.ts";
import type { Workspace } from "./workspace.ts";

/** What is typed into the form. It stays while addresses are chosen. */
export interface FollowForm {
  isOpen: boolean;
  direction: "in" | "out";
  hops: number;
  swaps: boolean;
}

export const NO_FOLLOW: FollowForm = { isOpen: false, direction: "out", hops: 3, swaps: false };

/** Hops that the form offers. */
const HOPS = [2, 3, 4, 5, 6].map((number): [string, string] => [String(number), `${number} hops`]);

const SIDES: [string, string][] = [
  ["out", "where it went"],
  ["in", "where it came from"],
];

function fields(space: Workspace, id: string, form: FollowForm): HTMLElement {
  const side = choice("follow-side", SIDES, form.direction);
  const hops = choice("follow-hops", HOPS, String(form.hops));
  const swaps = checkbox("follow-swaps", form.swaps);
  side.addEventListener("change", () => void (form.direction = side.value === "in" ? "in" : "out"));
  hops.addEventListener("change", () => void (form.hops = Number(hops.value)));
  swaps.addEventListener("change", () => void (form.swaps = swaps.checked));
  const onsubmit = (event: Event): void => {
    event.preventDefault();
    const { direction, hops, swaps } = form;
    const step: Step = { kind: "graph", roots: [id], hops, direction, ...(swaps ? { swaps } : {}) };
    void space.apply((recipe) => withStep(recipe, step));
  };
  return h(
    "form",
    { class: "follow", "aria-label": "Follow", onsubmit },
    h("label", { for: side.id, class: "unseen" }, "Direction"),
    side,
    h("label", { for: hops.id, class: "unseen" }, "Hops"),
    hops,
    h("button", { type: "submit", class: "button" }, "Follow"),
    checked(swaps, "through swaps, each token for itself"),
  );
}

export function followForm(space: Workspace, { id }: Vertex): HTMLElement {
  const form = space.followForm;
  const toggle = (): void => {
    form.isOpen = !form.isOpen;
    space.changed(false);
  };
  return h(
    "div",
    { class: "path" },
    action(ICONS.follow, "Follow…", toggle, { "aria-expanded": String(form.isOpen) }),
    form.isOpen ? fields(space, id, form) : null,
  );
}
