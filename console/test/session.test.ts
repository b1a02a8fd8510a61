// Who is signed in.

import assert from 'node:assert/strict';
import { afterEach, describe, mock, test } from 'node:test';

import { storage, win } from './page.ts';

const { client, expelled, signIn, signOut, token } = await import('../src/session.ts');
const { now } = await import('../src/clock.ts');

const KEPT = 'snapshotter-token';

/** A deployment that takes one token; its clock shows `time`. */
function deployment(right: string, time = '2026-11-20T12:00:00Z') {
  mock.method(globalThis, 'fetch', async (_: unknown, init: RequestInit) => {
    const isRight = new Headers(init.headers).get('authorization') === `Bearer ${right}`;
    return isRight ? Response.json({ ok: true, version: '1', time, checks: [] }) : refusal('UNAUTHORIZED');
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

describe('who signs in', () => {
  test('is kept by the tab where that was asked for alone', async () => {
    deployment('right');
    await signIn('right', false);
    assert.deepEqual([token.value, storage.getItem(KEPT)], ['right', null]);
    await signIn('right', true);
    assert.equal(storage.getItem(KEPT), 'right');
  });

  test('with another token is not signed in, nor kept', async () => {
    deployment('right');
    await assert.rejects(signIn('wrong', true), { code: 'UNAUTHORIZED' });
    assert.deepEqual([token.value, storage.getItem(KEPT)], [undefined, null]);
  });

  test('goes by the clock of the deployment', async () => {
    deployment('right', '2026-11-20T13:30:00Z');
    await signIn('right', false);
    assert.equal(new Date(now.value).toISOString(), '2026-11-20T13:30:00.000Z');
  });
});

describe('a session', () => {
  test('that ends is forgotten by the tab too', async () => {
    deployment('right');
    await signIn('right', true);
    signOut();
    assert.deepEqual([token.value, storage.getItem(KEPT)], [undefined, null]);
  });

  test('whose token is refused ends, and says why', async () => {
    deployment('right');
    await signIn('right', true);
    deployment('another');
    await assert.rejects(client.health(), { code: 'UNAUTHORIZED' });
    assert.deepEqual([token.value, storage.getItem(KEPT)], [undefined, null]);
    assert.equal(expelled.value?.code, 'UNAUTHORIZED');
    deployment('right');
    await signIn('right', false);
    assert.equal(expelled.value, undefined);
  });

  test('does not end by the refusal of a token that was changed meanwhile', async () => {
    deployment('early');
    await signIn('early', false);
    const { promise, resolve } = Promise.withResolvers<Response>();
    mock.method(globalThis, 'fetch', () => promise);
    const asked = client.health();
    deployment('late');
    await signIn('late', false);
    resolve(refusal('UNAUTHORIZED'));
    await assert.rejects(asked, { code: 'UNAUTHORIZED' });
    assert.deepEqual([token.value, expelled.value], ['late', undefined]);
  });

  test('is over when the page is left, also for who comes back to it by the browser’s button', async () => {
    deployment('right');
    await signIn('right', false);
    win.dispatchEvent(new Event('pagehide'));
    assert.equal(token.value, undefined);
  });

  test('goes on when the page is left, where the tab keeps it', async () => {
    deployment('right');
    await signIn('right', true);
    win.dispatchEvent(new Event('pagehide'));
    assert.equal(token.value, 'right');
  });
});
