// The idempotency keys of calls of which nobody knows yet what became.

import { SnapshotterError, type CallOptions, type Operations } from '../../client/src/index.ts';
import { client } from './session.ts';

/** Operations that make something, and take a key. */
type Making = 'snapshot' | 'restore' | 'branch' | 'workspaces/create' | 'workspaces/fork';

/** Codes that do not say whether anything was done. */
const UNKNOWN: ReadonlySet<string> = new Set(['ANSWER_LOST', 'WORKSPACE_UNAVAILABLE']);

const kept = new Map<string, string>();

/**
 * Makes something. After a failure the next call for the same has the same key: where the first was carried out after all,
 * it gets the answer of that one, and nothing is made twice.
 */
export async function make<O extends Making>(
  operation: O,
  options: Operations[O]['options'],
): Promise<Operations[O]['answer']> {
  const attempt = JSON.stringify([operation, options]);
  const idempotencyKey = kept.get(attempt) ?? crypto.randomUUID();
  kept.set(attempt, idempotencyKey);
  try {
    const asked = { ...options, idempotencyKey } as CallOptions<O>;
    const answer = await client.call(operation, asked);
    kept.delete(attempt);
    return answer;
  } catch (thrown) {
    throw thrown instanceof SnapshotterError && UNKNOWN.has(thrown.code) ? withRemedy(thrown) : thrown;
  }
}

/** The failure with what is to be done here: who reads the console does not choose keys. */
function withRemedy(failure: SnapshotterError): SnapshotterError {
  const remediation =
    'It may have been done all the same. Do it again: it is asked for under the same key, so that nothing is made twice.';
  return new SnapshotterError({ ...failure.toJSON(), remediation });
}
