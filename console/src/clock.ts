// The deployment's clock. The console compares the deployment's times with it, and not with the browser's clock.

import { signal } from '@preact/signals';

/** Milliseconds by which the deployment's clock is ahead of the browser's. */
let offset = 0;

/** The deployment's time, in milliseconds. */
export const now = signal(Date.now());

setInterval(() => {
  if (!document.hidden) tick();
}, 10_000);

/** Updates the time. */
export function tick() {
  now.value = Date.now() + offset;
}

/** Sets the clock to the deployment's present time. */
export function setClock(time: string) {
  const millis = Date.parse(time);
  if (Number.isNaN(millis)) return;
  offset = millis - Date.now();
  tick();
}
