// Idempotency keys of calls whose outcome is unknown.

import { SnapshotterError, type CallOptions, type Operations } from '../../client/src/index.ts';
import { client } from './session.ts';

/** The operations that create something and take an idempotency key. */
type CreatingOperation =
  | 'snapshot'
  | 'restore'
  | 'branch'
  | 'revive'
  | 'workspaces/create'
  | 'workspaces/fork'
  | 'workspaces/promote';

const pendingKeys = new Map<string, string>();

/**
 * Calls an operation that creates something. After a failure, the next call with the same options has the same idempotency
 * key: if the first call was completed after all, the next one gets its answer, and nothing is created twice.
 */
export async function create<O extends CreatingOperation>(
  operation: O,
  options: Operations[O]['options'],
): Promise<Operations[O]['answer']> {
  const attempt = JSON.stringify([operation, options]);
  const idempotencyKey = pendingKeys.get(attempt) ?? crypto.randomUUID();
  pendingKeys.set(attempt, idempotencyKey);
  try {
    const answer = await client.call(operation, { ...options, idempotencyKey } as CallOptions<O>);
    pendingKeys.delete(attempt);
    return answer;
  } catch (thrown) {
    throw thrown instanceof SnapshotterError && thrown.code === 'WORKSPACE_UNAVAILABLE'
      ? withRemediation(thrown)
      : thrown;
  }
}

/** Returns the failure with a remediation for users of the console, who do not choose keys. */
function withRemediation(failure: SnapshotterError): SnapshotterError {
  const remediation = 'The operation may have completed. Try again: nothing is created twice.';
  return new SnapshotterError({ ...failure.toJSON(), remediation });
}
