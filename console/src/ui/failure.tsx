// A failure and its remediation.

import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';

import { SnapshotterError } from '../../../client/src/index.ts';
import { Copy } from './copy.tsx';
import { Icon } from './icons.tsx';
import { CodeText } from './code-text.tsx';

interface FailureProps {
  of: unknown;
  /** What failed, if the surroundings do not show it. */
  title?: ComponentChildren;
  children?: ComponentChildren;
}

/**
 * Shows a failure: its code, its message, the remediation, the cause and the correlation id. Screen readers read a repeated
 * failure once: the element changes only when the code does.
 */
export function Failure({ of, title, children }: FailureProps) {
  const shown = useRef<unknown>(undefined);
  if (codeOf(of) !== codeOf(shown.current)) shown.current = of;
  const failure = shown.current;
  if (failure === undefined) return null;
  const known = failure instanceof SnapshotterError ? failure : undefined;
  return (
    <div class="failure" role="alert">
      {title && <p>{title}</p>}
      <p class="failure-head">
        <Icon name="warning" />
        <strong>{codeOf(failure)}</strong>
        {known?.retryable && <span class="hint">a retry may succeed</span>}
      </p>
      <p>
        <CodeText of={known?.detail ?? String(failure)} />
      </p>
      <p>
        <CodeText of={known?.remediation ?? 'Reload the page. If it happens again, report the error.'} />
      </p>
      <Cause of={known?.cause} />
      {children}
      {known?.correlationId && (
        <p class="hint">
          Correlation id <code>{known.correlationId}</code>
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

/** What the platform or the SDK threw. */
function Cause({ of }: { of: unknown }) {
  const { name, message } = Object(of) as { name?: unknown; message?: unknown };
  if (typeof message !== 'string') return null;
  return (
    <p class="hint">
      {typeof name === 'string' ? name : 'Error'}: {message}
    </p>
  );
}
