// Messages as they go over HTTP, and all that can be wrong with them.

import assert from 'node:assert/strict';
import { after, before as beforeAll, describe, test } from 'node:test';

import { until, World } from '../world.ts';
import { Calls, isArchiving } from '../workspaces/calls.ts';
import { before, now, send, type HttpAnswer, type Sent } from './peer.ts';

const calls = new Calls();
let world: World;
let url: URL;
beforeAll(async () => {
  world = await World.start({ snapshotter: { port: 0 }, onCall: calls.onCall });
  url = await world.url('/mcp?sandbox=agent');
  await world.exec('agent', 'echo x > file');
});
after(() => world[Symbol.asyncDispose]());

/** The status of an answer, and the code of its error. */
const outcome = ({ status, body }: HttpAnswer) => [status, body?.error?.code];

/** A request with other headers. */
const withHeaders = (sent: Sent, headers: Sent['headers']): Sent => ({
  ...sent,
  headers: { ...sent.headers, ...headers },
});

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };

describe('a body that is no message', () => {
  const CASES: Record<string, [string, number, number]> = {
    'nothing at all': ['', 400, -32700],
    'no JSON': ['ping', 400, -32700],
    'half of one': ['{"jsonrpc":"2.0"', 400, -32700],
    'a key that is given twice': ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 400, -32700],
    'a batch': [JSON.stringify([PING]), 400, -32600],
    'without a version of JSON-RPC': [JSON.stringify({ ...PING, jsonrpc: undefined }), 400, -32600],
    'of another version of JSON-RPC': [JSON.stringify({ ...PING, jsonrpc: '1.0' }), 400, -32600],
    'with an id that is null': [JSON.stringify({ ...PING, id: null }), 400, -32600],
    'with an id that is an object': [JSON.stringify({ ...PING, id: {} }), 400, -32600],
    'with parameters in a list': [JSON.stringify({ ...PING, params: [] }), 400, -32600],
    'without a method': [JSON.stringify({ ...PING, method: undefined }), 400, -32600],
    'too large': [JSON.stringify({ ...PING, params: { a: 'x'.repeat(66_000) } }), 413, -32600],
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
  test('is answered with JSON that nobody keeps', async () => {
    for (const sent of [before('tools/list'), now('tools/list')]) {
      const { status, headers, body } = await send(url, sent);
      assert.deepEqual([status, body.id, body.result.tools.length], [200, 1, 9]);
      assert.equal(headers.get('content-type'), 'application/json');
      assert.equal(headers.get('cache-control'), 'no-store');
    }
  });

  test('has a correlation id that is in the log line too', async () => {
    const { headers } = await send(url, now('tools/call', { name: 'workspace__agent__list' }));
    const id = headers.get('x-correlation-id') ?? assert.fail('no correlation id');
    const line = JSON.parse(world.log.find((line) => line.includes(id)) ?? '{}');
    assert.partialDeepStrictEqual(line, { event: 'tools/call', tool: 'list', outcome: 'success' });
  });

  test('that is refused has one as well', async () => {
    const REFUSALS: [Sent, string][] = [
      [{ body: 'no message' }, 'INVALID_ARGUMENT'],
      [withHeaders(before('ping'), { 'content-type': 'text/plain' }), 'UNSUPPORTED_MEDIA_TYPE'],
      [withHeaders(before('ping'), { 'mcp-protocol-version': '1999-01-01' }), 'INVALID_ARGUMENT'],
      [withHeaders(before('ping'), { origin: 'https://evil.example.com' }), 'UNAUTHORIZED'],
      [before('prompts/list'), 'INVALID_ARGUMENT'],
      [now('prompts/list'), 'INVALID_ARGUMENT'],
      [{ method: 'GET' }, 'METHOD_NOT_ALLOWED'],
    ];
    for (const [sent, code] of REFUSALS) {
      const { headers, body } = await send(url, sent);
      const id = headers.get('x-correlation-id') ?? assert.fail(`no correlation id: ${code}`);
      if (body) assert.equal(body.error.data.correlationId, id);
      const lines = world.log.filter((line) => line.includes(id)).map((line) => JSON.parse(line));
      assert.equal(lines.length, 1);
      assert.partialDeepStrictEqual(lines[0], { event: 'mcp', outcome: 'failure', code });
    }
  });

  test('needs no session, and gets none', async () => {
    const { status, headers } = await send(
      url,
      withHeaders(before('tools/list'), { 'mcp-session-id': 'mine' }),
    );
    assert.equal(status, 200);
    assert.equal(headers.get('mcp-session-id'), null);
  });

  test('says that it is JSON, and takes JSON', async () => {
    const ping = before('ping');
    const status = async (headers: Sent['headers']) => outcome(await send(url, withHeaders(ping, headers)));
    assert.deepEqual(await status({ 'content-type': 'text/plain' }), [415, -32600]);
    assert.deepEqual(await status({ accept: 'text/event-stream' }), [406, -32600]);
    assert.deepEqual(await status({ accept: '*/*' }), [200, undefined]);
    assert.deepEqual(await status({ accept: 'application/json' }), [200, undefined]);
  });

  test('is a POST', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const { status, headers } = await send(url, { method });
      assert.deepEqual([status, headers.get('allow')], [405, 'POST'], method);
    }
  });
});

test('what wants no answer is taken in silence', async () => {
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

describe('up to 2025-11-25', () => {
  test('a request that was understood has the status 200, whatever comes of it', async () => {
    assert.deepEqual(outcome(await send(url, before('prompts/list'))), [200, -32601]);
    assert.deepEqual(outcome(await send(url, before('tools/call', { name: 'other' }))), [200, -32602]);
    assert.deepEqual(outcome(await send(url, before('tools/call'))), [200, -32602]);
    const wrong = before('tools/call', { name: 'workspace__agent__list', arguments: { limit: 'all' } });
    const { status, body } = await send(url, wrong);
    assert.deepEqual([status, body.result.isError], [200, true]);
  });

  test('the version in the header is one that is spoken', async () => {
    const of = async (version: string) =>
      send(url, withHeaders(before('ping'), { 'mcp-protocol-version': version }));
    for (const version of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']) {
      assert.deepEqual(outcome(await of(version)), [200, undefined], version);
    }
    assert.deepEqual(outcome(await of('1999-01-01')), [400, -32022]);
  });

  test('a handshake is of the version that the client asks for, or the newest', async () => {
    const version = async (protocolVersion: string) =>
      (await send(url, before('initialize', { protocolVersion }))).body.result.protocolVersion;
    assert.equal(await version('2025-06-18'), '2025-06-18');
    assert.equal(await version('2030-01-01'), '2025-11-25');
  });
});

describe('in 2026-07-28', () => {
  const list = now('tools/list');

  test('a request that fails has a status that says so', async () => {
    assert.deepEqual(outcome(await send(url, now('prompts/list'))), [404, -32601]);
    assert.deepEqual(outcome(await send(url, now('initialize'))), [404, -32601]);
    assert.deepEqual(outcome(await send(url, now('ping'))), [404, -32601]);
    assert.deepEqual(outcome(await send(url, now('tools/call', { name: 'other' }))), [400, -32602]);
    const wrong = now('tools/call', { name: 'workspace__agent__list', arguments: { limit: 'all' } });
    const { status, body } = await send(url, wrong);
    assert.deepEqual([status, body.result.isError], [200, true]);
  });

  test('headers say what the body does', async () => {
    const call = now('tools/call', { name: 'workspace__agent__list' });
    const MISMATCHES: [Sent, Sent['headers']][] = [
      [list, { 'mcp-protocol-version': undefined }],
      [list, { 'mcp-protocol-version': '2025-11-25' }],
      [list, { 'mcp-method': undefined }],
      [list, { 'mcp-method': 'tools/call' }],
      [call, { 'mcp-name': undefined }],
      [call, { 'mcp-name': 'workspace__agent__delete' }],
    ];
    for (const [sent, headers] of MISMATCHES) {
      const answer = await send(url, withHeaders(sent, headers));
      assert.deepEqual([...outcome(answer), answer.body.id], [400, -32020, 1], JSON.stringify(headers));
    }
    const encoded = `=?base64?${btoa('workspace__agent__list')}?=`;
    const { status, body } = await send(url, withHeaders(call, { 'mcp-name': encoded }));
    assert.deepEqual([status, body.result.resultType], [200, 'complete']);
  });

  test('a request says what it needs', async () => {
    const version = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
    const incomplete = [
      {},
      { _meta: {} },
      { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
      { _meta: { 'io.modelcontextprotocol/clientCapabilities': {} } },
    ];
    for (const params of incomplete) {
      const answer = await send(url, withHeaders(before('tools/list', params), version));
      assert.deepEqual(outcome(answer), [400, -32602], JSON.stringify(params));
    }
  });

  test('a version that is not spoken is answered with those that are', async () => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2030-01-01',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const answer = await send(
      url,
      withHeaders(now('tools/list', { _meta }), { 'mcp-protocol-version': '2030-01-01' }),
    );
    assert.deepEqual(outcome(answer), [400, -32022]);
    const { correlationId: _, ...data } = answer.body.error.data;
    assert.deepEqual(data, {
      supported: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
      requested: '2030-01-01',
    });
  });

  test('a result says that it is whole, whose it is, and how long a list holds', async () => {
    const { result } = (await send(url, list)).body;
    assert.equal(result.resultType, 'complete');
    assert.equal(result._meta['io.modelcontextprotocol/serverInfo'].name, 'sandbox-snapshotter');
    assert.deepEqual([result.ttlMs, result.cacheScope], [3_600_000, 'private']);
  });

  test('the server says what it is', async () => {
    const { result } = (await send(url, now('server/discover'))).body;
    assert.deepEqual(result.capabilities, { tools: {} });
    assert.equal(result.supportedVersions[0], '2026-07-28');
  });
});

test('hanging up takes back what is under way', async () => {
  const objects = await world.objects();
  const { reached, release } = calls.hold(isArchiving);
  const { body = '' } = before('tools/call', { name: 'workspace__agent__snapshot' });
  // Over a service binding, where whoever hangs up is told apart at once.
  const call = world.failure(world.fetch('/mcp?sandbox=agent', { body }, true));
  await reached;
  await world.abort();
  assert.match((await call).message, /abort/i);
  release();
  calls.reset();
  // The next capture begins when the one before has ended.
  const ref = await world.snapshot('agent', { label: 'next', fresh: true });
  assert.deepEqual(await world.labels('agent'), ['next']);
  const isOfNext = (key: string) => key.includes(ref.ref.backup.id);
  await until(async () => (await world.objects()).every((key) => objects.includes(key) || isOfNext(key)));
});
