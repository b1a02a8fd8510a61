// What failed, and what to do about it.

import type { ComponentChildren } from 'preact';

import { SnapshotterError } from '../../../client/src/index.ts';
import { Copy } from './copy.tsx';
import { Icon } from './icons.tsx';
import { Words } from './words.tsx';

/** Tells of a failure: its code, what happened, the remedy, and by what it is found in the log. */
export function Failure({ of, children }: { of: unknown; children?: ComponentChildren }) {
  if (of === undefined) return null;
  const known = of instanceof SnapshotterError ? of : undefined;
  return (
    <div class="failure" role="alert">
      <p class="failure-head">
        <Icon name="warning" />
        <strong>{known?.code ?? 'CONSOLE_FAILED'}</strong>
        {known?.retryable && <span class="hint">may pass by itself</span>}
      </p>
      <p>
        <Words of={known?.detail ?? String(of)} />
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
