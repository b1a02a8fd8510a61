// The snapshotter's errors, in whatever form they arrive.

import { isKnown, kindOf } from './codes.ts';
import { errorOf, isSnapshotterError, SnapshotterError } from './errors.ts';

/** `SnapshotterError: CODE: message` between Workers of an older compatibility date, `CODE: message` where the name survives. */
const FOLDED = /^(SnapshotterError: )?([A-Z][A-Z0-9_]*): (.*)$/s;

/**
 * The error that something thrown stands for, if it comes from the snapshotter. Over RPC errors keep their properties only
 * between Workers of compatibility dates since 2026-04-21; otherwise the code in the message has to do, and the
 * `remediation` is at the end of `detail`.
 */
export function asSnapshotterError(thrown: unknown): SnapshotterError | undefined {
  if (thrown instanceof SnapshotterError) return thrown;
  if (isSnapshotterError(thrown)) {
    const { code, kind, message, remediation, retryable, correlationId, cause } = thrown;
    const detail = bare(message, code, remediation);
    return errorOf({ code, kind, message: detail, remediation, retryable, correlationId, cause });
  }
  const { name, message } = Object(thrown) as { name?: unknown; message?: unknown };
  const [, folded, code = '', detail = ''] = FOLDED.exec(typeof message === 'string' ? message : '') ?? [];
  if (!isKnown(code) && !(code && (folded || name === 'SnapshotterError'))) return undefined;
  const kind = kindOf(code);
  const retryable = kind === 'transient';
  return errorOf({ code, kind, message: detail, remediation: '', retryable, cause: thrown });
}

/** The message without the code and the remediation around it, which are there over RPC and not over HTTP. */
function bare(message: string, code: string, remediation: string): string {
  const start = message.startsWith(`${code}: `) ? code.length + 2 : 0;
  const end = remediation !== '' && message.endsWith(` ${remediation}`) ? -remediation.length - 1 : undefined;
  return message.slice(start, end);
}
