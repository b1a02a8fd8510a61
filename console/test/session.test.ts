// Tests of signing in and out.

import assert from 'node:assert/strict';
import { afterEach, describe, mock, test } from 'node:test';

import { storage, win } from './page.ts';

const { client, connectionFailure, sessionError, signIn, signOut, token } = await import('../src/session.ts');
const { now } = await import('../src/clock.ts');

const STORAGE_KEY = 'snapshotter-token';

/** Fakes a deployment that accepts one token; its clock shows `time`. */
function fakeDeployment(accepted: string, time = '2026-11-20T12:00:00Z') {
  mock.method(globalThis, 'fetch', async (_: unknown, init: RequestInit) => {
    const isAccepted = new Headers(init.headers).get('authorization') === `Bearer ${accepted}`;
    return isAccepted ? Response.json({ ok: true, version: '1', time, checks: [] }) : refusal('UNAUTHORIZED');
  });
}

function refusal(code: string): Response {
  const error = { code, kind: 'permanent', message: code, remediation: 'Use the token.', retryable: false };
  return Response.json({ ...error, correlationId: '0'.repeat(16) }, { status: 401 });
}

afterEach(() => {
  signOut();
  mock.restoreAll();
});

describe('signing in', () => {
  test('stores the token in the tab only on request', async () => {
    fakeDeployment('right');
    await signIn('right', false);
    assert.deepEqual([token.value, storage.getItem(STORAGE_KEY)], ['right', null]);
    await signIn('right', true);
    assert.equal(storage.getItem(STORAGE_KEY), 'right');
  });

  test('with a refused token neither starts a session nor stores the token', async () => {
    fakeDeployment('right');
    await assert.rejects(signIn('wrong', true), { code: 'UNAUTHORIZED' });
    assert.deepEqual([token.value, storage.getItem(STORAGE_KEY)], [undefined, null]);
  });

  test('sets the clock to the deployment’s time', async () => {
    fakeDeployment('right', '2026-11-20T13:30:00Z');
    await signIn('right', false);
    assert.equal(new Date(now.value).toISOString(), '2026-11-20T13:30:00.000Z');
  });
});

describe('the session', () => {
  test('knows that the last call got no answer from the Worker', async () => {
    fakeDeployment('right');
    await signIn('right', false);
    mock.method(globalThis, 'fetch', () => Promise.reject(new TypeError('Failed to fetch')));
    await assert.rejects(client.call('health', { retry: false }));
    assert.equal(connectionFailure.value?.code, 'ANSWER_LOST');
    fakeDeployment('right');
    await client.call('health', { retry: false });
    assert.equal(connectionFailure.value, undefined);
  });

  test('removes the token from the tab’s storage when the user signs out', async () => {
    fakeDeployment('right');
    await signIn('right', true);
    signOut();
    assert.deepEqual([token.value, storage.getItem(STORAGE_KEY)], [undefined, null]);
  });

  test('ends with the error when its token is refused', async () => {
    fakeDeployment('right');
    await signIn('right', true);
    fakeDeployment('another');
    await assert.rejects(client.health(), { code: 'UNAUTHORIZED' });
    assert.deepEqual([token.value, storage.getItem(STORAGE_KEY)], [undefined, null]);
    assert.equal(sessionError.value?.code, 'UNAUTHORIZED');
    fakeDeployment('right');
    await signIn('right', false);
    assert.equal(sessionError.value, undefined);
  });

  test('continues after the refusal of an earlier token', async () => {
    fakeDeployment('early');
    await signIn('early', false);
    const { promise, resolve } = Promise.withResolvers<Response>();
    mock.method(globalThis, 'fetch', () => promise);
    const call = client.health();
    fakeDeployment('late');
    await signIn('late', false);
    resolve(refusal('UNAUTHORIZED'));
    await assert.rejects(call, { code: 'UNAUTHORIZED' });
    assert.deepEqual([token.value, sessionError.value], ['late', undefined]);
  });

  test('ends when the user leaves the page, also in the back/forward cache', async () => {
    fakeDeployment('right');
    await signIn('right', false);
    win.dispatchEvent(new Event('pagehide'));
    assert.equal(token.value, undefined);
  });

  test('survives leaving the page if the tab stores the token', async () => {
    fakeDeployment('right');
    await signIn('right', true);
    win.dispatchEvent(new Event('pagehide'));
    assert.equal(token.value, 'right');
  });
});
