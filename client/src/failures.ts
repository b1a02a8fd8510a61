// What this client itself says of a call.

import { errorOf, type SnapshotterError } from './errors.ts';

/** The caller's signal has fired. */
export function aborted(signal: AbortSignal): SnapshotterError {
  return errorOf({
    code: 'ABORTED',
    kind: 'transient',
    message: 'The AbortSignal of the call has fired.',
    remediation: 'What it left is taken back; call again when you want it.',
    retryable: true,
    cause: signal.reason,
  });
}

/** The arguments can't be sent. */
export function unsendable(cause: unknown): SnapshotterError {
  return errorOf({
    code: 'INVALID_ARGUMENT',
    kind: 'permanent',
    message: `The arguments can't be sent: ${textOf(cause)}.`,
    remediation: 'Give plain data that JSON has a form for.',
    retryable: false,
    cause,
  });
}

/** Nobody took the call. */
export function unreachable(where: string, cause?: unknown): SnapshotterError {
  return errorOf({
    code: 'SERVICE_UNREACHABLE',
    kind: 'transient',
    message: `The snapshotter could not be reached at ${where}${cause === undefined ? '' : `: ${textOf(cause)}`}.`,
    remediation: 'Nothing was done. Try again; if it stays, look whether it is deployed there.',
    retryable: true,
    cause,
  });
}

/** The call was sent, and there is no answer. `repeatable` is whether making it again does no more than making it once. */
export function answerLost(cause: unknown, repeatable: boolean): SnapshotterError {
  return errorOf({
    code: 'ANSWER_LOST',
    kind: 'transient',
    message: `The call was sent, and no answer came: ${textOf(cause)}.`,
    remediation: repeatable
      ? 'Try again, with the same idempotency key where there is one.'
      : 'It may have been carried out: look what is there before you call again.',
    retryable: repeatable,
    cause,
  });
}

/** Something else than the snapshotter answered. */
export function foreignAnswer(where: string, what: string): SnapshotterError {
  return errorOf({
    code: 'FOREIGN_ANSWER',
    kind: 'permanent',
    message: `What answered at ${where} is not the snapshotter: ${what}.`,
    remediation: 'Check the URL, and what stands between: a proxy, a login page.',
    retryable: false,
  });
}

/** The binding has no such method. */
export function rpcUnsupported(operation: string, cause?: unknown): SnapshotterError {
  return errorOf({
    code: 'RPC_UNSUPPORTED',
    kind: 'unsupported',
    message: `The binding does not answer ${JSON.stringify(operation)} over RPC. Nothing was done.`,
    remediation:
      'Bind the Worker of the snapshotter, in a version that has the operation; the compatibility date of this Worker must be ' +
      '2024-04-03 or later. Or give `token`, for the HTTP API.',
    retryable: false,
    cause,
  });
}

/** What a thrown value says, without a full stop. */
function textOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? ` (${thrown.cause.message})` : '';
  return message.replace(/\.$/, '') + cause;
}
