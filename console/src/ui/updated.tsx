// How old what is shown is.

import { useEffect, useState } from 'preact/hooks';

import { SnapshotterError } from '../../../client/src/index.ts';
import { refresh, type Live } from '../live.ts';
import { duration } from '../texts.ts';
import { Icon } from './icons.tsx';

/** Seconds for which it is not counted how old it is. */
const FRESH = 5;

/** Says when something was last read, or that it can't be read now; a button reads it at once. */
export function Updated({ of }: { of: Live<unknown> }) {
  const [time, setTime] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setTime(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const readAt = of.readAt.value;
  const age = readAt === undefined ? undefined : (time - readAt) / 1000;
  const ago = age === undefined ? undefined : age < FRESH ? 'just now' : `${duration(age)} ago`;
  const failure = of.failure.value;
  return (
    <p class="updated">
      {failure === undefined ? (
        <span>{ago === undefined ? 'Reading…' : `Updated ${ago}`}</span>
      ) : (
        <span class="stale">
          <Icon name="warning" /> Not updated{ago && `, last ${ago}`}:{' '}
          {failure instanceof SnapshotterError ? failure.code : 'failed'}. It is read again by itself.
        </span>
      )}
      <button type="button" class="copy" aria-label="Read again" onClick={() => void refresh()}>
        <Icon name="refresh" />
      </button>
    </p>
  );
}
