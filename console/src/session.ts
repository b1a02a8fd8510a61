// Who is signed in, and the client that makes their calls.

import { signal } from '@preact/signals';

import { http, SnapshotterClient, SnapshotterError, type Call, type Health } from '../../client/src/index.ts';
import { setClock } from './clock.ts';

/** The name that a token is kept under for as long as the tab is open, where that was asked for. */
const KEPT = 'snapshotter-token';

/** Codes that say that no call with this token can succeed. */
const SHUT: ReadonlySet<string> = new Set(['UNAUTHORIZED', 'API_TOKEN_MISSING']);

/** The API token; undefined while nobody is signed in. */
export const token = signal(kept()?.getItem(KEPT) ?? undefined);

/** Why nobody is signed in any more, where that was not their own wish. */
export const expelled = signal<SnapshotterError>();

// The browser may keep a page that was left, to go back to: without the token, unless the tab was to keep it.
addEventListener('pagehide', () => {
  token.value = kept()?.getItem(KEPT) ?? undefined;
});

/** Makes the calls of who is signed in. A token that is refused ends the session. */
export const client = new SnapshotterClient({
  async send(call) {
    const used = token.peek();
    try {
      return await sendWith(used ?? '', call);
    } catch (thrown) {
      const isShut = thrown instanceof SnapshotterError && SHUT.has(thrown.code);
      if (isShut && used !== undefined && token.peek() === used) {
        signOut();
        expelled.value = thrown;
      }
      throw thrown;
    }
  },
});

/**
 * Signs in, if the deployment takes the token.
 *
 * @param keep Whether the tab keeps it across reloads. It is in memory alone otherwise.
 * @throws SnapshotterError where it is refused, or nobody answers.
 */
export async function signIn(given: string, keep: boolean) {
  const trying = new SnapshotterClient({ send: (call) => sendWith(given, call) }, { retry: { attempts: 2 } });
  await trying.call('health', {});
  if (keep) kept()?.setItem(KEPT, given);
  expelled.value = undefined;
  token.value = given;
}

/** Forgets the token. */
export function signOut() {
  kept()?.removeItem(KEPT);
  expelled.value = undefined;
  token.value = undefined;
}

async function sendWith(given: string, call: Call): Promise<unknown> {
  const answer = await http({ url: location.origin, token: given }).send(call);
  if (call.operation === 'health') setClock((answer as Health).time);
  return answer;
}

/** The tab's storage; undefined where the browser forbids it. */
function kept(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}
