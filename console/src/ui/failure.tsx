// What failed, and what to do about it.

import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';

import { SnapshotterError } from '../../../client/src/index.ts';
import { Copy } from './copy.tsx';
import { Icon } from './icons.tsx';
import { Words } from './words.tsx';

interface FailureProps {
  of: unknown;
  /** What it was that failed, where that is not to be seen. */
  title?: ComponentChildren;
  children?: ComponentChildren;
}

/**
 * Tells of a failure: its code, what happened, the remedy, and by what it is found in the log. One that comes again and again
 * is told once, until it is another one.
 */
export function Failure({ of, title, children }: FailureProps) {
  const told = useRef<unknown>(undefined);
  if (codeOf(of) !== codeOf(told.current)) told.current = of;
  const failure = told.current;
  if (failure === undefined) return null;
  const known = failure instanceof SnapshotterError ? failure : undefined;
  return (
    <div class="failure" role="alert">
      {title && <p>{title}</p>}
      <p class="failure-head">
        <Icon name="warning" />
        <strong>{codeOf(failure)}</strong>
        {known?.retryable && <span class="hint">may pass by itself</span>}
      </p>
      <p>
        <Words of={known?.detail ?? String(failure)} />
      </p>
      <p>
        <Words of={known?.remediation ?? 'Reload the page. If it happens again, report it.'} />
      </p>
      <Cause of={known?.cause} />
      {children}
      {known?.correlationId && (
        <p class="hint">
          In the log as <code>{known.correlationId}</code>
          <Copy text={known.correlationId} what="correlation id" />
        </p>
      )}
    </div>
  );
}

function codeOf(failure: unknown): string | undefined {
  if (failure === undefined) return undefined;
  return failure instanceof SnapshotterError ? failure.code : 'CONSOLE_FAILED';
}

/** What the platform or the SDK said. */
function Cause({ of }: { of: unknown }) {
  const { name, message } = Object(of) as { name?: unknown; message?: unknown };
  if (typeof message !== 'string') return null;
  return (
    <p class="hint">
      {typeof name === 'string' ? name : 'Error'}: {message}
    </p>
  );
}
