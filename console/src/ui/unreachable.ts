// Failures of calls that did not reach the Worker, or whose answers did not arrive.

import { SnapshotterError } from '../../../client/src/index.ts';

/** The headline of such a failure. */
export const UNREACHABLE = 'The Worker can’t be reached';

const CODES: ReadonlySet<string> = new Set(['SERVICE_UNREACHABLE', 'ANSWER_LOST', 'ABORTED']);

/** Whether the call did not reach the Worker, or its answer did not arrive. */
export function isUnreachable(failure: unknown): failure is SnapshotterError {
  return failure instanceof SnapshotterError && CODES.has(failure.code);
}

/** Returns the code of a failure, or the headline if the Worker can't be reached. */
export function reasonOf(failure: unknown): string {
  if (isUnreachable(failure)) return UNREACHABLE;
  return failure instanceof SnapshotterError ? failure.code : 'CONSOLE_FAILED';
}

/** Returns what the user can do, and whether the call may have had an effect. */
export function adviceOf({ code, retryable }: SnapshotterError): string {
  if (code === 'SERVICE_UNREACHABLE') return 'Nothing was done. Check your connection, then try again.';
  return retryable
    ? 'Check your connection, then try again. The operation may have completed: nothing is created twice.'
    : 'Check your connection. The operation may have completed: check the present state before you repeat it.';
}
