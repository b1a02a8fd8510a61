// Data that does not change, and that the console reads once: the files of snapshots.

import { useEffect, useState } from 'preact/hooks';

import type { ReadOptions } from './live.ts';

/** What was read, or why not. */
export interface Once<T> {
  value?: T;
  failure?: unknown;
  retry: () => void;
}

/** Reads a value when the key changes, and again on `retry`. */
export function useOnce<T>(key: string, read: (options: Pick<ReadOptions, 'signal'>) => Promise<T>): Once<T> {
  const [state, setState] = useState<{ key: string; value?: T; failure?: unknown }>({ key });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const set = (result: { value: T } | { failure: unknown }) =>
      abort.signal.aborted || setState({ key, ...result });
    read({ signal: abort.signal }).then(
      (value) => set({ value }),
      (failure: unknown) => set({ failure }),
    );
    return () => abort.abort();
  }, [key, attempt]);
  const retry = () => {
    setState({ key });
    setAttempt(attempt + 1);
  };
  // The state of another key is not that of this one.
  return { ...(state.key === key ? state : {}), retry };
}
