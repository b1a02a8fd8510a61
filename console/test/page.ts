// As much of a browser as the console's modules ask for, and a clock that is turned by hand.

import { mock } from 'node:test';

/** What happens to a page: who leaves it, comes back to it, or moves in it. */
class Page extends EventTarget {
  hidden = false;

  /** Somebody looks at the page, or does not any more. */
  show(isShown: boolean) {
    this.hidden = !isShown;
    this.dispatchEvent(new Event('visibilitychange'));
  }
}

/** A storage that a browser keeps for a tab. */
class Kept {
  readonly #items = new Map<string, string>();

  getItem(name: string): string | null {
    return this.#items.get(name) ?? null;
  }

  setItem(name: string, value: string) {
    this.#items.set(name, value);
  }

  removeItem(name: string) {
    this.#items.delete(name);
  }
}

/** What `document`, `window` and `sessionStorage` are from here on. */
export const page = new Page();
export const win = new EventTarget();
export const storage = new Kept();

Object.assign(globalThis, {
  document: page,
  location: { hash: '', origin: 'https://snapshots.test' },
  addEventListener: win.addEventListener.bind(win),
  removeEventListener: win.removeEventListener.bind(win),
});
Object.defineProperty(globalThis, 'sessionStorage', { value: storage, configurable: true });

mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: Date.parse('2026-11-20T12:00:00Z') });

/** Lets time pass, and what waits for it be done. */
export async function pass(millis: number) {
  mock.timers.tick(millis);
  await settled();
}

/** Lets everything be done that waits for nothing but its turn. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
