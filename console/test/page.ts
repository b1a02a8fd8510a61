// Fakes of the browser APIs that the console's modules use, and a clock that tests advance.

import { mock } from 'node:test';

/** A fake of `document`. */
class FakeDocument extends EventTarget {
  hidden = false;

  /** Changes the visibility of the page. */
  setVisible(isVisible: boolean) {
    this.hidden = !isVisible;
    this.dispatchEvent(new Event('visibilitychange'));
  }
}

/** A fake of `sessionStorage`. */
class FakeStorage {
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

/** The fakes of `document`, `window` and `sessionStorage`, which this module installs. */
export const page = new FakeDocument();
export const win = new EventTarget();
export const storage = new FakeStorage();

Object.assign(globalThis, {
  document: page,
  location: { hash: '', origin: 'https://snapshots.test' },
  addEventListener: win.addEventListener.bind(win),
  removeEventListener: win.removeEventListener.bind(win),
});
Object.defineProperty(globalThis, 'sessionStorage', { value: storage, configurable: true });

mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: Date.parse('2026-11-20T12:00:00Z') });

/** Advances the clock, and completes the work that becomes due. */
export async function advance(millis: number) {
  mock.timers.tick(millis);
  await flush();
}

/** Completes the pending microtasks. */
export function flush(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
