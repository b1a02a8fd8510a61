// A value that is read repeatedly: while it loads, when it is loaded, and when it cannot be read.

import type { ComponentChildren } from 'preact';

import { SnapshotterError } from '../../../client/src/index.ts';
import { now } from '../clock.ts';
import { refresh, type Live } from '../live.ts';
import { Failure } from './failure.tsx';
import { Remark } from './remark.tsx';
import { isUnreachable, reasonOf } from './unreachable.ts';
import { lastUpdated } from './updated.tsx';

/** Returns the last value that was read; undefined if the object was not found since. */
export function currentValue<T>({ value, failure }: Live<T>): T | undefined {
  return isMissing(failure.value) ? undefined : value.value;
}

/** Shows the value. If it can no longer be read, adds a remark that it is old; without a value, shows the failure. */
export function Loaded<T>({
  of,
  loading,
  hasUpdated = false,
  onFailure,
  children,
}: {
  of: Live<T>;
  /** Shown until the first read ends. */
  loading: string;
  /** Whether the view has an `Updated`, which shows the age. */
  hasUpdated?: boolean;
  /** Renders what to do if there is no value. */
  onFailure?: (failure: unknown) => ComponentChildren;
  children: (value: T) => ComponentChildren;
}) {
  const value = currentValue(of);
  const failure = of.failure.value;
  if (value === undefined)
    return failure === undefined ? (
      <p class="empty">{loading}</p>
    ) : (
      <Failure of={failure} remediation={whileReading(failure)} retry={() => void refresh()}>
        {isTransient(failure) && <p class="hint">The console retries automatically.</p>}
        {onFailure?.(failure)}
      </Failure>
    );
  return (
    <>
      {failure !== undefined && !hasUpdated && <Stale of={of} />}
      {children(value)}
    </>
  );
}

/** Returns whether a failure says that there is no such object, so that the reader has something else to do than to wait. */
function isMissing(failure: unknown) {
  return failure instanceof SnapshotterError && failure.kind === 'not_found';
}

/** Returns whether a later read may succeed by itself. */
function isTransient(failure: unknown) {
  return !(failure instanceof SnapshotterError) || failure.retryable;
}

/** A read changes nothing, so its failure does not say what may have happened. */
function whileReading(failure: unknown) {
  return isUnreachable(failure) ? 'Check your connection.' : undefined;
}

function Stale({ of: { failure, readAt } }: { of: Live<unknown> }) {
  void now.value; // The age changes with the clock.
  const age = readAt.value === undefined ? undefined : (Date.now() - readAt.value) / 1000;
  return (
    <Remark role="status">
      {lastUpdated(age)}: {reasonOf(failure.value)}. The console retries automatically.
    </Remark>
  );
}
