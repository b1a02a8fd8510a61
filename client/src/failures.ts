// The errors of the client itself.

import { errorOf, type SnapshotterError } from './errors.ts';

/** Returns the error of a call whose signal fired. `message` says what fired it, if that is not the caller's signal. */
export function aborted(signal: AbortSignal, message = "The caller's AbortSignal fired."): SnapshotterError {
  return errorOf({
    code: 'ABORTED',
    kind: 'transient',
    message,
    remediation:
      'Repeat the call if you still need it. The snapshotter rolls back the operation where possible and ends a command, whose changes stay, if the signal reaches it: over RPC that needs the compatibility flag enable_abortsignal_rpc, and `wrangler dev` passes on no signals.',
    retryable: true,
    cause: signal.reason,
  });
}

/** Returns the error of an argument that is missing or invalid. Nothing was sent. */
export function invalidArgument(message: string, remediation: string, cause?: unknown): SnapshotterError {
  return errorOf({
    code: 'INVALID_ARGUMENT',
    kind: 'permanent',
    message,
    remediation,
    retryable: false,
    cause,
  });
}

/** Returns the error of arguments that cannot be serialized. */
export function unsendable(cause: unknown): SnapshotterError {
  const message = `The arguments can't be sent: ${textOf(cause)}.`;
  return invalidArgument(message, 'Pass plain data that JSON can represent.', cause);
}

/** Returns the error of a call that did not reach the snapshotter. */
export function unreachable(where: string, cause?: unknown): SnapshotterError {
  return errorOf({
    code: 'SERVICE_UNREACHABLE',
    kind: 'transient',
    message: `The snapshotter could not be reached at ${where}${cause === undefined ? '' : `: ${textOf(cause)}`}.`,
    remediation:
      'Nothing was done. Try again. If the error persists, check that the snapshotter is deployed there.',
    retryable: true,
    cause,
  });
}

/** Returns the error of a call without an answer. A second call has no further effect if the call is `repeatable`. */
export function answerLost(cause: unknown, repeatable: boolean): SnapshotterError {
  return errorOf({
    code: 'ANSWER_LOST',
    kind: 'transient',
    message: `The call was sent, but no answer arrived: ${textOf(cause)}.`,
    remediation: repeatable
      ? 'Try again, with the same idempotency key if the call has one.'
      : 'The call may have taken effect. Check the current state before you repeat it.',
    retryable: repeatable,
    cause,
  });
}

/** Returns the error of a call whose last attempt had no effect, after one with an uncertain outcome. */
export function afterUncertain(uncertain: SnapshotterError, last: SnapshotterError): SnapshotterError {
  return errorOf({ ...uncertain.toJSON(), message: `${uncertain.detail} ${last.detail}` });
}

/** Returns the error of an answer that is not from the snapshotter. */
export function foreignAnswer(where: string, what: string): SnapshotterError {
  return errorOf({
    code: 'FOREIGN_ANSWER',
    kind: 'permanent',
    message: `The answer from ${where} is not from the snapshotter: ${what}.`,
    remediation: 'Check the URL, and any proxy or login page in front of the snapshotter.',
    retryable: false,
  });
}

/** Returns the error of a binding without the RPC method. */
export function rpcUnsupported(operation: string, cause?: unknown): SnapshotterError {
  return errorOf({
    code: 'RPC_UNSUPPORTED',
    kind: 'unsupported',
    message: `The binding does not implement ${JSON.stringify(operation)} over RPC. Nothing was done.`,
    remediation:
      'Bind the Worker of a snapshotter version that has the operation. The compatibility date of this Worker must be ' +
      '2024-04-03 or later. Or pass `token` to use the HTTP API.',
    retryable: false,
    cause,
  });
}

/** Returns the message of a thrown value, without its final period. */
function textOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? ` (${thrown.cause.message})` : '';
  return message.replace(/\.$/, '') + cause;
}
