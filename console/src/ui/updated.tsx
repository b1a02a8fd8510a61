// The age of a value that is read repeatedly.

import { useEffect, useState } from 'preact/hooks';

import { refresh, type Live } from '../live.ts';
import { duration } from '../format.ts';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';
import { reasonOf } from './unreachable.ts';

/** The age in seconds below which the value counts as just updated. */
const RECENT = 5;

/** Says how old a value is that can no longer be read. `age` is in seconds; undefined if it was never read. */
export function lastUpdated(age: number | undefined): string {
  return age === undefined ? 'Not updated' : `Last updated ${duration(Math.max(1, age))} ago`;
}

/** Shows when the value was last read, or why it cannot be read, and a button that reads the page again. */
export function Updated({ of }: { of: Live<unknown> }) {
  const [time, setTime] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setTime(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const readAt = of.readAt.value;
  const age = readAt === undefined ? undefined : (time - readAt) / 1000;
  const ago = age === undefined ? undefined : age < RECENT ? 'just now' : `${duration(age)} ago`;
  const failure = of.failure.value;
  return (
    <p class="updated">
      {failure === undefined ? (
        <span>{ago === undefined ? 'Loading…' : `Updated ${ago}`}</span>
      ) : (
        <span class="stale">
          {lastUpdated(age)}: {reasonOf(failure)}. The console retries automatically.
        </span>
      )}
      {failure === undefined ? (
        <button type="button" class="copy" aria-label="Refresh" onClick={() => void refresh()}>
          <Icon name="refresh" />
        </button>
      ) : (
        <Button icon="refresh" onClick={() => void refresh()}>
          Try again
        </Button>
      )}
    </p>
  );
}
