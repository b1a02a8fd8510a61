// Recognition of errors of the snapshotter, over HTTP and RPC.

import { isKnown, kindOf } from './codes.ts';
import { errorOf, isSnapshotterError, SEPARATOR, SnapshotterError } from './errors.ts';

/** Matches `SnapshotterError: CODE: message`, from Workers of an older compatibility date, and `CODE: message`. */
const FOLDED = /^(SnapshotterError: )?([A-Z][A-Z0-9_]*): (.*)$/s;

/**
 * Converts a thrown value to an error of the snapshotter; returns `undefined` if it is not one. Over RPC, errors keep their
 * properties only between Workers with a compatibility date of 2026-04-21 or later, and not through the registry of
 * `wrangler dev`. Otherwise the code and the `remediation` are parsed from the message, and the `correlationId` is absent.
 */
export function asSnapshotterError(thrown: unknown): SnapshotterError | undefined {
  if (thrown instanceof SnapshotterError) return thrown;
  if (isSnapshotterError(thrown)) {
    const { code, kind, message, remediation, retryable, correlationId, cause, started } = thrown;
    const detail = detailOf(message, code, remediation);
    return errorOf({ code, kind, message: detail, remediation, retryable, correlationId, cause, started });
  }
  const { name, message } = Object(thrown) as { name?: unknown; message?: unknown };
  const [, folded, code = '', text = ''] = FOLDED.exec(typeof message === 'string' ? message : '') ?? [];
  if (!isKnown(code) && !(code && (folded || name === 'SnapshotterError'))) return undefined;
  const kind = kindOf(code);
  const retryable = kind === 'transient';
  return errorOf({ code, kind, ...partsOf(text), retryable, cause: thrown });
}

/** Splits the text after the code. */
function partsOf(text: string): { message: string; remediation: string } {
  const at = text.lastIndexOf(SEPARATOR);
  if (at === -1) return { message: text, remediation: '' };
  return { message: text.slice(0, at), remediation: text.slice(at + SEPARATOR.length) };
}

/** Returns the message without the code and the remediation, which it contains over RPC but not over HTTP. */
function detailOf(message: string, code: string, remediation: string): string {
  const start = message.startsWith(`${code}: `) ? code.length + 2 : 0;
  const end =
    remediation !== '' && message.endsWith(SEPARATOR + remediation)
      ? -remediation.length - SEPARATOR.length
      : undefined;
  return message.slice(start, end);
}
