// A failure and its remediation.

import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';

import { SnapshotterError } from '../../../client/src/index.ts';
import { Button } from './button.tsx';
import { Copy } from './copy.tsx';
import { Icon } from './icons.tsx';
import { CodeText } from './code-text.tsx';
import { remediationOf } from './remediation.ts';
import { adviceOf, isUnreachable, UNREACHABLE } from './unreachable.ts';

interface FailureProps {
  of: unknown;
  /** What failed, if the surroundings do not show it. */
  title?: ComponentChildren;
  /** The remediation, if that of the Worker does not apply. */
  remediation?: string | undefined;
  /** Repeats what failed. */
  retry?: () => void;
  children?: ComponentChildren;
}

/**
 * Shows a failure: its code, its message, the remediation, the cause and the correlation id. If the Worker can't be reached,
 * says only that, because the other texts are for programs. Screen readers read a repeated failure once: the element changes
 * only when the code does.
 */
export function Failure({ of, title, remediation, retry, children }: FailureProps) {
  const shown = useRef<unknown>(undefined);
  if (codeOf(of) !== codeOf(shown.current)) shown.current = of;
  const failure = shown.current;
  if (failure === undefined) return null;
  const known = failure instanceof SnapshotterError ? failure : undefined;
  const lost = isUnreachable(failure);
  return (
    <div class="failure" role="alert">
      {title && <p>{title}</p>}
      <p class="failure-head">
        <Icon name="warning" />
        {lost ? <b>{UNREACHABLE}.</b> : <strong>{codeOf(failure)}</strong>}
        {!lost && known?.retryable && <span class="hint">a retry may succeed</span>}
      </p>
      {!lost && (
        <p>
          <CodeText of={known?.detail ?? String(failure)} />
        </p>
      )}
      <p>
        <CodeText of={remediation ?? defaultRemediation(failure)} />
      </p>
      {lost ? <Status of={known?.cause} /> : <Cause of={known?.cause} />}
      {children}
      {retry && known?.retryable && (
        <div class="buttons">
          <Button icon="refresh" onClick={retry}>
            Try again
          </Button>
        </div>
      )}
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

function defaultRemediation(failure: unknown): string {
  if (isUnreachable(failure)) return adviceOf(failure);
  if (failure instanceof SnapshotterError) return remediationOf(failure);
  return 'Reload the page. If it happens again, report the error.';
}

/** The status of an answer that is not the Worker's. The browser does not say why a request got no answer. */
function Status({ of }: { of: unknown }) {
  return typeof of === 'string' ? <p class="hint">In detail: {of}.</p> : null;
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
