// Tests of what a token permits.

import assert from 'node:assert/strict';
import { afterEach, mock, test } from 'node:test';

import './page.ts';

const { access, permits } = await import('../src/permissions.ts');
const { token } = await import('../src/session.ts');

/** Signs in with a token that has this access, and waits until the page knows it. */
async function signIn(answer: object) {
  mock.method(globalThis, 'fetch', async () => Response.json(answer));
  await new Promise<void>((resolve) => {
    token.value = 'a token';
    const stop = access.subscribe((current) => {
      if (current === undefined) return;
      resolve();
      queueMicrotask(() => stop());
    });
  });
}

afterEach(() => {
  token.value = undefined;
  mock.restoreAll();
});

test('a token permits the operations of its permissions', async () => {
  await signIn({ permissions: ['read', 'snapshot'], token: { tenant: 'default' } });
  assert.deepEqual(
    [permits('list'), permits('snapshot'), permits('exec'), permits('tokens/create')],
    [true, true, false, false],
  );
});

test('only the API token permits operations on all tenants', async () => {
  const permissions = ['read', 'snapshot', 'work', 'admin'];
  await signIn({ permissions, token: { tenant: 'default' } });
  assert.deepEqual([permits('exec'), permits('sweep')], [true, false]);
  token.value = undefined;
  await signIn({ permissions });
  assert.equal(permits('sweep'), true);
});

test('nothing is permitted before the deployment has answered, and after signing out', async () => {
  assert.equal(permits('list'), false);
  await signIn({ permissions: ['read'], token: { tenant: 'default' } });
  token.value = undefined;
  assert.equal(permits('list'), false);
});
