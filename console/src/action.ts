// What somebody does by a button: once at a time, and never failing silently.

import { useRef, useState } from 'preact/hooks';

import { refresh } from './live.ts';

/** Something that can be done. */
export interface Action<A extends unknown[]> {
  /** Whether it is under way. It is not begun a second time meanwhile. */
  busy: boolean;
  /** Why it failed, until it is tried again. */
  failure: unknown;
  /** Does it. Resolves to whether it succeeded; false where it is under way already. */
  run(...args: A): Promise<boolean>;
  /** Forgets the failure. */
  clear(): void;
}

/** An action that does some work. Afterwards everything that is shown is read again, however it ended. */
export function useAction<A extends unknown[]>(work: (...args: A) => Promise<unknown>): Action<A> {
  const under = useRef(false);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>();

  async function run(...args: A): Promise<boolean> {
    if (under.current) return false;
    under.current = true;
    setBusy(true);
    setFailure(undefined);
    try {
      await work(...args);
      return true;
    } catch (thrown) {
      setFailure(thrown);
      return false;
    } finally {
      under.current = false;
      setBusy(false);
      void refresh();
    }
  }

  return { busy, failure, run, clear: () => setFailure(undefined) };
}
