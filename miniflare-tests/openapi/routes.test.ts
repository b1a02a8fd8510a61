// The routes that are not operations. Their responses must match the API document.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { responseFaults, DOCUMENT, type HttpResponse } from './document.ts';
import { ApiFixture, SANDBOX, type HttpRequest } from './fixture.ts';

let api: ApiFixture;
before(async () => {
  api = await ApiFixture.start();
  await api.prepare();
});
after(() => api[Symbol.asyncDispose]());

/** Sends a request, and asserts that the response matches the document for the method, or for another method of the path. */
async function sendChecked(path: string, request: HttpRequest): Promise<HttpResponse> {
  const answer = await api.send(path, request);
  const routes = DOCUMENT.paths[path.replace(/\?.*/, '')] ?? {};
  const route = routes[(request.method ?? 'POST').toLowerCase()] ?? Object.values(routes)[0];
  const about = `${request.method ?? 'POST'} ${path} ${request.body ?? ''}\n→ ${answer.status} ${answer.text.slice(0, 2_000)}`;
  assert.deepEqual(responseFaults(route?.responses ?? {}, answer), [], about);
  return answer;
}

describe('a page', () => {
  for (const path of ['/', '/docs', '/openapi.json', '/healthz']) {
    for (const method of ['GET', 'HEAD'])
      test(`${method} ${path} needs no token`, async () => {
        assert.equal((await sendChecked(path, { method, headers: {} })).status, 200);
      });
  }

  for (const path of ['/', '/docs', '/openapi.json'])
    test(`${path} has an ETag, and answers 304 to it`, async () => {
      const { headers } = await sendChecked(path, { method: 'GET', headers: {} });
      const again = { method: 'GET', headers: { 'if-none-match': headers.get('etag') ?? '' } };
      assert.equal((await sendChecked(path, again)).status, 304);
    });

  for (const path of ['/', '/docs', '/openapi.json', '/healthz'])
    test(`${path} refuses other methods`, async () => {
      for (const method of ['POST', 'PUT'])
        assert.equal((await sendChecked(path, { method, body: '{}', headers: {} })).status, 405);
    });
});

describe('an unknown path', () => {
  for (const [path, method] of [
    ['/v2/snapshot', 'POST'],
    ['/v1/nothing', 'POST'],
    ['/favicon.ico', 'GET'],
  ] as const)
    test(`${method} ${path} is answered with 404 as the document specifies`, async () => {
      const answer = await api.send(path, { method, headers: api.authorized });
      const response = DOCUMENT.components['responses']?.['RouteNotFound'] ?? {};
      assert.deepEqual([answer.status, responseFaults({ 404: response }, answer)], [404, []]);
    });
});

describe('the route /mcp', () => {
  const PATH = `/mcp?sandbox=${SANDBOX}`;
  const message = (method: string, params?: object) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const withHeader = (name: string, value: string): HttpRequest => ({
    headers: { ...api.authorized, [name]: value },
    body: message('tools/list'),
  });
  const CASES: Record<string, [() => HttpRequest, number]> = {
    'a list of tools': [() => ({ body: message('tools/list') }), 200],
    'a tool call': [() => ({ body: message('tools/call', { name: `workspace__${SANDBOX}__list` }) }), 200],
    'a call of an unknown tool': [() => ({ body: message('tools/call', { name: 'missing' }) }), 200],
    'an unknown method': [() => ({ body: message('resources/list') }), 200],
    'a notification': [() => ({ body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' }), 202],
    'a body that is not JSON': [() => ({ body: 'ping' }), 400],
    'no token': [() => ({ headers: { 'content-type': 'application/json' }, body: message('ping') }), 401],
    'a request from another origin': [() => withHeader('origin', 'https://example.com'), 403],
    'an unsupported protocol version': [() => withHeader('mcp-protocol-version', '1999-01-01'), 400],
    'another HTTP method': [() => ({ method: 'GET' }), 405],
    'another accepted media type': [() => withHeader('accept', 'text/html'), 406],
    'a message that is too large': [() => ({ body: message('ping', { text: 'x'.repeat(70_000) }) }), 413],
    'another media type': [() => withHeader('content-type', 'text/plain'), 415],
  };
  for (const [what, [request, status]] of Object.entries(CASES))
    test(`answers ${what} with ${status}`, async () => {
      assert.equal((await sendChecked(PATH, request())).status, status);
    });
});
