// The session of the user who is signed in, and the client that makes their calls.

import { signal } from '@preact/signals';

import { http, SnapshotterClient, SnapshotterError, type Call, type Health } from '../../client/src/index.ts';
import { setClock } from './clock.ts';
import { tryStorage } from './storage.ts';
import { isUnreachable } from './ui/unreachable.ts';

/** The key under which the tab stores the token, if the user chose to stay signed in. */
const STORAGE_KEY = 'snapshotter-token';

/** The error codes that end the session: no call with this token can succeed. */
const ENDS_SESSION: ReadonlySet<string> = new Set(['UNAUTHORIZED', 'API_TOKEN_MISSING']);

/** The API token; undefined if no user is signed in. */
export const token = signal(storage()?.getItem(STORAGE_KEY) ?? undefined);

/** The error that ended the last session; undefined if the user signed out. */
export const sessionError = signal<SnapshotterError>();

// The browser may keep the page in its back/forward cache. The page keeps the token there only if the tab stores it.
addEventListener('pagehide', () => {
  token.value = storage()?.getItem(STORAGE_KEY) ?? undefined;
});

/** Why the last call got no answer from the Worker; undefined if it got one. */
export const connectionFailure = signal<SnapshotterError>();

/** Makes calls with the token of the session. A refused token ends the session. */
export const client = new SnapshotterClient({
  send: (call) => withToken((used) => sendWith(used, call)),
  open: (call) => withToken((used) => http({ url: location.origin, token: used }).open(call)),
  openExec: (call) => withToken((used) => http({ url: location.origin, token: used }).openExec(call)),
});

async function withToken<T>(send: (used: string) => Promise<T>): Promise<T> {
  const used = token.peek();
  try {
    return await send(used ?? '');
  } catch (thrown) {
    const isRefused = thrown instanceof SnapshotterError && ENDS_SESSION.has(thrown.code);
    if (isRefused && used !== undefined && token.peek() === used) {
      signOut();
      sessionError.value = thrown;
    }
    throw thrown;
  }
}

/**
 * Signs in, if the deployment accepts the token.
 *
 * @param persist Whether the tab stores the token, so that it survives a reload. Otherwise it is only in memory.
 * @throws SnapshotterError if the deployment refuses the token or does not answer.
 */
export async function signIn(candidate: string, persist: boolean) {
  // A header can't contain other characters.
  if (/[^\x20-\xff]/.test(candidate)) throw wrongToken();
  const send = (call: Call) => sendWith(candidate, call);
  try {
    await new SnapshotterClient({ send }, { retry: { attempts: 2 } }).call('health', {});
  } catch (thrown) {
    throw thrown instanceof SnapshotterError && thrown.code === 'UNAUTHORIZED' ? wrongToken(thrown) : thrown;
  }
  if (persist) storage()?.setItem(STORAGE_KEY, candidate);
  sessionError.value = undefined;
  token.value = candidate;
}

/** Returns the failure of a wrong token, for a user who types it in a form. The Worker's own is about headers. */
function wrongToken(failure?: SnapshotterError): SnapshotterError {
  return new SnapshotterError({
    code: 'UNAUTHORIZED',
    kind: 'policy_denied',
    message: 'This is not the token of this deployment.',
    remediation: 'The token is the secret `API_TOKEN` of the Worker:',
    retryable: false,
    correlationId: failure?.correlationId,
  });
}

/** Removes the token from the page and from the tab's storage. */
export function signOut() {
  storage()?.removeItem(STORAGE_KEY);
  sessionError.value = undefined;
  token.value = undefined;
}

async function sendWith(bearer: string, call: Call): Promise<unknown> {
  const answer = await http({ url: location.origin, token: bearer })
    .send(call)
    .catch((thrown: unknown) => {
      // A call that the console itself ended says nothing about the connection.
      if (!call.signal?.aborted) connectionFailure.value = isUnreachable(thrown) ? thrown : undefined;
      throw thrown;
    });
  connectionFailure.value = undefined;
  if (call.operation === 'health') setClock((answer as Health).time);
  return answer;
}

/** The tab's storage; undefined if the browser forbids it. */
function storage(): Storage | undefined {
  return tryStorage(() => sessionStorage);
}
