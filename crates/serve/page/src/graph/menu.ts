// The menu of files that a drawing can be saved as.

import { h, iconButton, ICONS } from "../base/dom.ts";
import { type FileKind, FILES } from "./save.ts";

export class SaveMenu {
  readonly element: HTMLElement;
  private readonly list = h("div", { class: "menu", role: "menu", "aria-label": "Save as", hidden: true });
  private readonly button = iconButton(ICONS.share, "Save as…", () => this.toggle(), {
    "aria-haspopup": "menu",
    "aria-expanded": "false",
  });

  constructor(save: (kind: FileKind) => void) {
    const entries = FILES.map(([kind, name]) =>
      h("button", { type: "button", role: "menuitem", onclick: () => save(kind) }, name),
    );
    this.list.append(...entries);
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.element = h("span", { class: "holder" }, this.button, this.list);
    this.element.addEventListener("focusout", ({ relatedTarget }) => {
      if (!this.element.contains(relatedTarget as Node | null)) this.show(false);
    });
  }

  /** Opens or closes it; the focus goes with it. */
  toggle(isOn = this.list.hidden): void {
    if (isOn === !this.list.hidden) return;
    this.show(isOn);
    if (isOn) (this.list.firstElementChild as HTMLElement | null)?.focus();
    else this.button.focus();
  }

  private show(isOn: boolean): void {
    this.list.hidden = !isOn;
    this.button.setAttribute("aria-expanded", String(isOn));
  }

  private key(event: KeyboardEvent): void {
    const items = [...this.list.children] as HTMLElement[];
    const at = items.indexOf(document.activeElement as HTMLElement);
    if (event.key === "Escape") this.toggle(false);
    else if (event.key === "ArrowDown") items[(at + 1) % items.length]?.focus();
    else if (event.key === "ArrowUp") items[(at - 1 + items.length) % items.length]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
