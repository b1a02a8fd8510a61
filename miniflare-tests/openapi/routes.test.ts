// The routes that are no operations: they too answer as the API document says.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { answerFaults, DOCUMENT, type Answered } from './document.ts';
import { Place, SANDBOX, type Sent } from './place.ts';

let place: Place;
before(async () => {
  place = await Place.start();
  await place.prepare();
});
after(() => place[Symbol.asyncDispose]());

/** Sends a request, whose answer must be as the document says of the method, or of another one of the path. */
async function sends(path: string, sent: Sent): Promise<Answered> {
  const answer = await place.send(path, sent);
  const routes = DOCUMENT.paths[path.replace(/\?.*/, '')] ?? {};
  const route = routes[(sent.method ?? 'POST').toLowerCase()] ?? Object.values(routes)[0];
  const about = `${sent.method ?? 'POST'} ${path} ${sent.body ?? ''}\n→ ${answer.status} ${answer.text.slice(0, 2_000)}`;
  assert.deepEqual(answerFaults(route?.responses ?? {}, answer), [], about);
  return answer;
}

describe('a page', () => {
  for (const path of ['/', '/docs', '/openapi.json', '/healthz']) {
    for (const method of ['GET', 'HEAD'])
      test(`${method} ${path} needs no token`, async () => {
        assert.equal((await sends(path, { method, headers: {} })).status, 200);
      });
  }

  for (const path of ['/', '/docs', '/openapi.json'])
    test(`${path} is not sent again to who has it`, async () => {
      const { headers } = await sends(path, { method: 'GET', headers: {} });
      const again = { method: 'GET', headers: { 'if-none-match': headers.get('etag') ?? '' } };
      assert.equal((await sends(path, again)).status, 304);
    });

  for (const path of ['/', '/docs', '/openapi.json', '/healthz'])
    test(`${path} takes no other method`, async () => {
      for (const method of ['POST', 'PUT'])
        assert.equal((await sends(path, { method, body: '{}', headers: {} })).status, 405);
    });
});

describe('another path', () => {
  for (const [path, method] of [
    ['/v2/snapshot', 'POST'],
    ['/v1/nothing', 'POST'],
    ['/favicon.ico', 'GET'],
  ] as const)
    test(`${method} ${path} is answered as the document says of all`, async () => {
      const answer = await place.send(path, { method, headers: place.authorized });
      const response = DOCUMENT.components['responses']?.['RouteNotFound'] ?? {};
      assert.deepEqual([answer.status, answerFaults({ 404: response }, answer)], [404, []]);
    });
});

describe('the route for language models', () => {
  const PATH = `/mcp?sandbox=${SANDBOX}`;
  const asked = (method: string, params?: object) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const withHeader = (name: string, value: string): Sent => ({
    headers: { ...place.authorized, [name]: value },
    body: asked('tools/list'),
  });
  const CASES: Record<string, [() => Sent, number]> = {
    'a list of tools': [() => ({ body: asked('tools/list') }), 200],
    'a tool that is called': [
      () => ({ body: asked('tools/call', { name: `workspace__${SANDBOX}__list` }) }),
      200,
    ],
    'a tool that there is not': [() => ({ body: asked('tools/call', { name: 'undo' }) }), 200],
    'a method that there is not': [() => ({ body: asked('resources/list') }), 200],
    'a notification': [() => ({ body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' }), 202],
    'no JSON': [() => ({ body: 'ping' }), 400],
    'no token': [() => ({ headers: { 'content-type': 'application/json' }, body: asked('ping') }), 401],
    'a page of another origin': [() => withHeader('origin', 'https://example.com'), 403],
    'a version that nobody speaks': [() => withHeader('mcp-protocol-version', '1999-01-01'), 400],
    'another method': [() => ({ method: 'GET' }), 405],
    'an answer in another form': [() => withHeader('accept', 'text/html'), 406],
    'too large a message': [() => ({ body: asked('ping', { text: 'x'.repeat(70_000) }) }), 413],
    'another media type': [() => withHeader('content-type', 'text/plain'), 415],
  };
  for (const [what, [sent, status]] of Object.entries(CASES))
    test(`answers ${what} with ${status}`, async () => {
      assert.equal((await sends(PATH, sent())).status, status);
    });
});
