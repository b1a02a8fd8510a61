// What time it is, as the deployment has it: times that it tells are compared with its own clock.

import { signal } from '@preact/signals';

/** Milliseconds by which the deployment's clock is ahead of the browser's. */
let ahead = 0;

/** The time, in milliseconds, as exact as the ages that are shown. */
export const now = signal(Date.now());

setInterval(() => {
  if (!document.hidden) tick();
}, 10_000);

/** Looks at the clock. */
export function tick() {
  now.value = Date.now() + ahead;
}

/** Goes by the deployment's clock from now on, which shows `time`. */
export function setClock(time: string) {
  const millis = Date.parse(time);
  if (Number.isNaN(millis)) return;
  ahead = millis - Date.now();
  tick();
}
