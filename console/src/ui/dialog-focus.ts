// Where the focus is while somebody is asked something, and when what had it is gone.

import { signal } from '@preact/signals';

/** How many dialogs are open. */
export const asking = signal(0);

/** Whether a dialog is open. */
export function isAsking(): boolean {
  return asking.peek() > 0;
}

/** Gives the focus to what is shown, where nothing has it any more: after what had it was deleted, or a dialog was closed. */
export function catchFocus() {
  // What is to be gone is gone after the next drawing alone.
  setTimeout(() => {
    const { activeElement } = document;
    if (activeElement && activeElement !== document.body) return;
    const places = document.querySelectorAll<HTMLElement>('#main, #main .details');
    [...places].findLast((place) => place.checkVisibility())?.focus({ preventScroll: true });
  });
}
