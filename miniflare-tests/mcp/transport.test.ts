// The HTTP transport of /mcp: valid and invalid messages, headers and protocol versions.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { until, World } from '../world.ts';
import { CallInterceptor, isArchiving } from '../workspaces/calls.ts';
import { currentRequest, legacyRequest, send, type HttpAnswer, type HttpRequest } from './mcp-client.ts';

const calls = new CallInterceptor();
let world: World;
let url: URL;
before(async () => {
  world = await World.start({ snapshotter: { port: 0 }, onCall: calls.onCall });
  url = await world.url('/mcp?sandbox=agent');
  await world.exec('agent', 'echo x > file');
});
after(() => world[Symbol.asyncDispose]());

/** Returns the status of a response, and the code of its error. */
const outcome = ({ status, body }: HttpAnswer) => [status, body?.error?.code];

/** Returns a request with changed headers. */
const withHeaders = (request: HttpRequest, headers: HttpRequest['headers']): HttpRequest => ({
  ...request,
  headers: { ...request.headers, ...headers },
});

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };

describe('a POST of', () => {
  const CASES: Record<string, [string, number, number]> = {
    'an empty body': ['', 400, -32700],
    'text that is not JSON': ['ping', 400, -32700],
    'truncated JSON': ['{"jsonrpc":"2.0"', 400, -32700],
    'a duplicate key': ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 400, -32700],
    'a batch': [JSON.stringify([PING]), 400, -32600],
    'a request without a version of JSON-RPC': [JSON.stringify({ ...PING, jsonrpc: undefined }), 400, -32600],
    'a request of another version of JSON-RPC': [JSON.stringify({ ...PING, jsonrpc: '1.0' }), 400, -32600],
    'a request with the id null': [JSON.stringify({ ...PING, id: null }), 400, -32600],
    'a request with an object as its id': [JSON.stringify({ ...PING, id: {} }), 400, -32600],
    'a request with parameters in an array': [JSON.stringify({ ...PING, params: [] }), 400, -32600],
    'a request without a method': [JSON.stringify({ ...PING, method: undefined }), 400, -32600],
    'a body that is too large': [JSON.stringify({ ...PING, params: { a: 'x'.repeat(66_000) } }), 413, -32600],
  };
  for (const [what, [body, status, code]] of Object.entries(CASES)) {
    test(`${what} is answered with ${status}`, async () => {
      const answer = await send(url, { body });
      assert.deepEqual(outcome(answer), [status, code]);
      assert.equal(answer.body.id, null);
    });
  }
});

describe('a request', () => {
  test('is answered with JSON that must not be cached', async () => {
    for (const request of [legacyRequest('tools/list'), currentRequest('tools/list')]) {
      const { status, headers, body } = await send(url, request);
      assert.deepEqual([status, body.id, body.result.tools.length], [200, 1, 9]);
      assert.equal(headers.get('content-type'), 'application/json');
      assert.equal(headers.get('cache-control'), 'no-store');
    }
  });

  test('has a correlation id that its log line contains', async () => {
    const { headers } = await send(url, currentRequest('tools/call', { name: 'workspace__agent__list' }));
    const id = headers.get('x-correlation-id') ?? assert.fail('no correlation id');
    const line = JSON.parse(world.log.find((line) => line.includes(id)) ?? '{}');
    assert.partialDeepStrictEqual(line, { event: 'tools/call', tool: 'list', outcome: 'success' });
  });

  test('that is refused has a correlation id that its log line contains', async () => {
    const REFUSALS: [HttpRequest, string][] = [
      [{ body: 'no message' }, 'INVALID_ARGUMENT'],
      [withHeaders(legacyRequest('ping'), { 'content-type': 'text/plain' }), 'UNSUPPORTED_MEDIA_TYPE'],
      [withHeaders(legacyRequest('ping'), { 'mcp-protocol-version': '1999-01-01' }), 'INVALID_ARGUMENT'],
      [withHeaders(legacyRequest('ping'), { origin: 'https://evil.example.com' }), 'UNAUTHORIZED'],
      [legacyRequest('prompts/list'), 'INVALID_ARGUMENT'],
      [currentRequest('prompts/list'), 'INVALID_ARGUMENT'],
      [{ method: 'GET' }, 'METHOD_NOT_ALLOWED'],
    ];
    for (const [request, code] of REFUSALS) {
      const { headers, body } = await send(url, request);
      const id = headers.get('x-correlation-id') ?? assert.fail(`no correlation id: ${code}`);
      if (body) assert.equal(body.error.data.correlationId, id);
      const lines = world.log.filter((line) => line.includes(id)).map((line) => JSON.parse(line));
      assert.equal(lines.length, 1);
      assert.partialDeepStrictEqual(lines[0], { event: 'mcp', outcome: 'failure', code });
    }
  });

  test('needs no session, and creates none', async () => {
    const { status, headers } = await send(
      url,
      withHeaders(legacyRequest('tools/list'), { 'mcp-session-id': 'mine' }),
    );
    assert.equal(status, 200);
    assert.equal(headers.get('mcp-session-id'), null);
  });

  test('must be JSON, and must accept JSON', async () => {
    const ping = legacyRequest('ping');
    const status = async (headers: HttpRequest['headers']) =>
      outcome(await send(url, withHeaders(ping, headers)));
    assert.deepEqual(await status({ 'content-type': 'text/plain' }), [415, -32600]);
    assert.deepEqual(await status({ accept: 'text/event-stream' }), [406, -32600]);
    assert.deepEqual(await status({ accept: '*/*' }), [200, undefined]);
    assert.deepEqual(await status({ accept: 'application/json' }), [200, undefined]);
  });

  test('must be a POST', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const { status, headers } = await send(url, { method });
      assert.deepEqual([status, headers.get('allow')], [405, 'POST'], method);
    }
  });
});

test('a notification or response is answered with 202 and no body', async () => {
  const messages = [
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
    { jsonrpc: '2.0', id: 7, result: {} },
  ];
  for (const message of messages) {
    const { status, body } = await send(url, { body: JSON.stringify(message) });
    assert.deepEqual([status, body], [202, undefined]);
  }
});

describe('up to 2025-11-25,', () => {
  test('a well-formed request has the status 200 even if it fails', async () => {
    assert.deepEqual(outcome(await send(url, legacyRequest('prompts/list'))), [200, -32601]);
    assert.deepEqual(outcome(await send(url, legacyRequest('tools/call', { name: 'other' }))), [200, -32602]);
    assert.deepEqual(outcome(await send(url, legacyRequest('tools/call'))), [200, -32602]);
    const wrong = legacyRequest('tools/call', {
      name: 'workspace__agent__list',
      arguments: { limit: 'all' },
    });
    const { status, body } = await send(url, wrong);
    assert.deepEqual([status, body.result.isError], [200, true]);
  });

  test('the version in the header must be supported', async () => {
    const of = async (version: string) =>
      send(url, withHeaders(legacyRequest('ping'), { 'mcp-protocol-version': version }));
    for (const version of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']) {
      assert.deepEqual(outcome(await of(version)), [200, undefined], version);
    }
    assert.deepEqual(outcome(await of('1999-01-01')), [400, -32022]);
  });

  test('an initialize request negotiates the requested version or the newest', async () => {
    const version = async (protocolVersion: string) =>
      (await send(url, legacyRequest('initialize', { protocolVersion }))).body.result.protocolVersion;
    assert.equal(await version('2025-06-18'), '2025-06-18');
    assert.equal(await version('2030-01-01'), '2025-11-25');
  });
});

describe('in 2026-07-28,', () => {
  const list = currentRequest('tools/list');

  test('a failed request has an error status', async () => {
    assert.deepEqual(outcome(await send(url, currentRequest('prompts/list'))), [404, -32601]);
    assert.deepEqual(outcome(await send(url, currentRequest('initialize'))), [404, -32601]);
    assert.deepEqual(outcome(await send(url, currentRequest('ping'))), [404, -32601]);
    assert.deepEqual(
      outcome(await send(url, currentRequest('tools/call', { name: 'other' }))),
      [400, -32602],
    );
    const wrong = currentRequest('tools/call', {
      name: 'workspace__agent__list',
      arguments: { limit: 'all' },
    });
    const { status, body } = await send(url, wrong);
    assert.deepEqual([status, body.result.isError], [200, true]);
  });

  test('headers must match the body', async () => {
    const call = currentRequest('tools/call', { name: 'workspace__agent__list' });
    const MISMATCHES: [HttpRequest, HttpRequest['headers']][] = [
      [list, { 'mcp-protocol-version': undefined }],
      [list, { 'mcp-protocol-version': '2025-11-25' }],
      [list, { 'mcp-method': undefined }],
      [list, { 'mcp-method': 'tools/call' }],
      [call, { 'mcp-name': undefined }],
      [call, { 'mcp-name': 'workspace__agent__delete' }],
    ];
    for (const [request, headers] of MISMATCHES) {
      const answer = await send(url, withHeaders(request, headers));
      assert.deepEqual([...outcome(answer), answer.body.id], [400, -32020, 1], JSON.stringify(headers));
    }
    const encoded = `=?base64?${btoa('workspace__agent__list')}?=`;
    const { status, body } = await send(url, withHeaders(call, { 'mcp-name': encoded }));
    assert.deepEqual([status, body.result.resultType], [200, 'complete']);
  });

  test('a request must declare its version and capabilities', async () => {
    const version = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
    const incomplete = [
      {},
      { _meta: {} },
      { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
      { _meta: { 'io.modelcontextprotocol/clientCapabilities': {} } },
    ];
    for (const params of incomplete) {
      const answer = await send(url, withHeaders(legacyRequest('tools/list', params), version));
      assert.deepEqual(outcome(answer), [400, -32602], JSON.stringify(params));
    }
  });

  test('an unsupported version is answered with the supported ones', async () => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2030-01-01',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const answer = await send(
      url,
      withHeaders(currentRequest('tools/list', { _meta }), { 'mcp-protocol-version': '2030-01-01' }),
    );
    assert.deepEqual(outcome(answer), [400, -32022]);
    const { correlationId: _, ...data } = answer.body.error.data;
    assert.deepEqual(data, {
      supported: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
      requested: '2030-01-01',
    });
  });

  test("a result has its type, the server's name, and the lifetime of a list", async () => {
    const { result } = (await send(url, list)).body;
    assert.equal(result.resultType, 'complete');
    assert.equal(result._meta['io.modelcontextprotocol/serverInfo'].name, 'sandbox-snapshotter');
    assert.deepEqual([result.ttlMs, result.cacheScope], [3_600_000, 'private']);
  });

  test('server/discover describes the server', async () => {
    const { result } = (await send(url, currentRequest('server/discover'))).body;
    assert.deepEqual(result.capabilities, { tools: {} });
    assert.equal(result.supportedVersions[0], '2026-07-28');
  });
});

test('an aborted request rolls back its operation', async () => {
  const objects = await world.objects();
  const { reached, release } = calls.block(isArchiving);
  const { body = '' } = legacyRequest('tools/call', { name: 'workspace__agent__snapshot' });
  // Over a service binding, where the abort arrives at once.
  const call = world.failure(world.fetch('/mcp?sandbox=agent', { body }, true));
  await reached;
  await world.abort();
  assert.match((await call).message, /abort/i);
  release();
  calls.reset();
  // The next capture begins after the previous one has ended.
  const ref = await world.snapshot('agent', { label: 'next', fresh: true });
  assert.deepEqual(await world.labels('agent'), ['next']);
  const isOfNext = (key: string) => key.includes(ref.ref.backup.id);
  await until(async () => (await world.objects()).every((key) => objects.includes(key) || isOfNext(key)));
});
