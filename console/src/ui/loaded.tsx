// What was read, what is being read, and what could not be read.

import type { ComponentChildren } from 'preact';

import { SnapshotterError } from '../../../client/src/index.ts';
import type { Live } from '../live.ts';
import { Failure } from './failure.tsx';
import { Time } from './facts.tsx';
import { Icon } from './icons.tsx';

/** What is known of something that is read again and again: what was read last, unless it is gone since. */
export function known<T>({ value, failure }: Live<T>): T | undefined {
  const thrown = failure.value;
  const isGone = thrown instanceof SnapshotterError && thrown.kind === 'not_found';
  return isGone ? undefined : value.value;
}

/** Shows what was read; that it is old, where it can't be read any more; or why there is nothing to show. */
export function Loaded<T>({
  of,
  reading,
  hasUpdated = false,
  children,
}: {
  of: Live<T>;
  /** What is said before anything was read. */
  reading: string;
  /** Whether an `Updated` stands beside it, which says how old it is. */
  hasUpdated?: boolean;
  children: (value: T) => ComponentChildren;
}) {
  const value = known(of);
  const failure = of.failure.value;
  if (value === undefined)
    return failure === undefined ? (
      <p class="empty">{reading}</p>
    ) : (
      <Failure of={failure}>
        <p class="hint">It is read again by itself.</p>
      </Failure>
    );
  return (
    <>
      {failure !== undefined && !hasUpdated && <Stale of={of} />}
      {children(value)}
    </>
  );
}

function Stale({ of: { failure, readAt } }: { of: Live<unknown> }) {
  const thrown = failure.value;
  return (
    <p class="remark" role="status">
      <Icon name="warning" /> Not updated
      {readAt.value !== undefined && (
        <>
          {' '}
          since <Time at={new Date(readAt.value).toISOString()} />
        </>
      )}
      : <code>{thrown instanceof SnapshotterError ? thrown.code : 'failed'}</code>. It is read again by
      itself.
    </p>
  );
}
