// What the token of the session permits. The console offers only actions that it permits.

import { effect, signal } from '@preact/signals';

import { PERMISSIONS, type CurrentToken, type OperationName } from '../../client/src/index.ts';
import { DEFAULT_TENANT, go, href, place } from './routes.ts';
import { client, token } from './session.ts';

/** The milliseconds before another read, if the deployment did not answer. */
const AGAIN = 4_000;

/** What the token permits; undefined until the deployment has answered. */
export const access = signal<CurrentToken>();

effect(() => {
  const used = token.value;
  access.value = undefined;
  if (used !== undefined) void read(used);
});

async function read(used: string) {
  try {
    const current = await client.tokens.current();
    if (token.peek() !== used) return;
    access.value = current;
    // The start page is that of the default tenant, which a token of another tenant does not permit.
    const tenant = current.token?.tenant ?? DEFAULT_TENANT;
    const isHome = href(place.peek()) === href({ at: 'workspaces', tenant: DEFAULT_TENANT });
    if (isHome && tenant !== DEFAULT_TENANT) go({ at: 'workspaces', tenant });
  } catch {
    setTimeout(() => {
      if (token.peek() === used) void read(used);
    }, AGAIN);
  }
}

/** Returns whether the token has the permission for an operation. */
export function permits(operation: OperationName): boolean {
  const needed = PERMISSIONS[operation];
  const current = access.value;
  if (needed === 'apiToken') return current !== undefined && current.token === undefined;
  return current?.permissions.includes(needed) ?? false;
}
