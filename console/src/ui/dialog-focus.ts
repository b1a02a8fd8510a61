// The keyboard focus when a dialog opens or closes, and when the focused element is removed.

import { signal } from '@preact/signals';

/** The number of open dialogs. */
export const openDialogs = signal(0);

/** Whether a dialog is open. */
export function isDialogOpen(): boolean {
  return openDialogs.peek() > 0;
}

/** Moves the focus to the details or the page if no element has it, because its element was deleted or a dialog closed. */
export function recoverFocus() {
  // Elements are removed only at the next render.
  setTimeout(() => {
    const { activeElement } = document;
    if (activeElement && activeElement !== document.body) return;
    const targets = document.querySelectorAll<HTMLElement>('#main, #main .details');
    [...targets].findLast((target) => target.checkVisibility())?.focus({ preventScroll: true });
  });
}
