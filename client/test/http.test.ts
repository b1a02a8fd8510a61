// The HTTP API, and what may stand in its place.

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';

import { http, SnapshotterClient } from '../src/index.ts';
import { clientOver, failure, inTurn, never, problem } from './fakes.ts';

const URL = 'https://snapshotter.example/base/';

interface Sent {
  url: string;
  init: RequestInit;
}

/** A client over a `fetch` that answers as it is told. */
function over(...outcomes: unknown[]) {
  const sent: Sent[] = [];
  const next = inTurn<Sent>(outcomes);
  const fetch = async (url: string, init: RequestInit) => {
    sent.push({ url, init });
    return (await next({ url, init })) as Response;
  };
  return { sent, ...clientOver(http({ url: URL, token: 'secret', fetch }), { retry: false }) };
}

const answer =
  (body: unknown, init: ResponseInit = {}) =>
  () =>
    Response.json(body, init);
const page = (status: number) => () =>
  new Response('<h1>A page</h1>', { status, headers: { 'content-type': 'text/html' } });

test('an operation is a POST of its options, with the token', async () => {
  const { client, sent } = over(answer({ snapshots: [] }));
  assert.deepEqual(await client.list({ sandboxId: 'agent-42' }), { snapshots: [] });
  const [{ url, init } = {} as Sent] = sent;
  assert.equal(url, 'https://snapshotter.example/base/v1/list');
  assert.equal(init.method, 'POST');
  assert.equal(init.body, '{"sandboxId":"agent-42"}');
  const headers = new Headers(init.headers);
  assert.equal(headers.get('authorization'), 'Bearer secret');
  assert.equal(headers.get('content-type'), 'application/json');
});

test('an operation of a group has it in the path', async () => {
  const { client, sent } = over(answer({}));
  await client.workspaces.getByName({ name: 'notebook' });
  assert.equal(sent[0]?.url, 'https://snapshotter.example/base/v1/workspaces/getByName');
});

test('neither the signal nor what is meant for the client is sent as an option', async () => {
  const { client, sent } = over(answer({}));
  const { signal } = new AbortController();
  await client.get({ sandboxId: 'agent-42', label: 'x', signal, retry: false });
  assert.equal(sent[0]?.init.body, '{"sandboxId":"agent-42","label":"x"}');
  assert.equal(sent[0]?.init.signal, signal);
});

test('a problem is the error that it describes', async () => {
  const headers = { 'content-type': 'application/problem+json' };
  const { client } = over(answer(problem('CROSS_LINEAGE', 'policy_denied'), { status: 403, headers }));
  const { code, kind, detail } = await failure(client.list({ sandboxId: 'x' }));
  assert.deepEqual([code, kind, detail], ['CROSS_LINEAGE', 'policy_denied', 'It went wrong.']);
});

describe('what is not an answer of the snapshotter', () => {
  const CASES: Record<string, [unknown, string]> = {
    'a page of a proxy that lost the Worker': [page(502), 'ANSWER_LOST'],
    'a page that says that the time is over': [page(504), 'ANSWER_LOST'],
    'a page that says that there were too many': [page(429), 'SERVICE_UNREACHABLE'],
    'a page that is not found': [page(404), 'FOREIGN_ANSWER'],
    'a page that is fine': [page(200), 'FOREIGN_ANSWER'],
    'a redirection to a login': [
      () => new Response(null, { status: 302, headers: { location: '/login' } }),
      'FOREIGN_ANSWER',
    ],
    'JSON of somebody else': [answer({ success: false }, { status: 400 }), 'FOREIGN_ANSWER'],
    'half an answer': [
      () => new Response('{"snapshots":[', { headers: { 'content-type': 'application/json' } }),
      'ANSWER_LOST',
    ],
    'a connection that was cut': [new TypeError('fetch failed'), 'ANSWER_LOST'],
    'a connection that was refused': [
      new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }) }),
      'SERVICE_UNREACHABLE',
    ],
  };
  for (const [what, [outcome, code]] of Object.entries(CASES)) {
    test(`${what} is ${code}`, async () => {
      const { client } = over(outcome);
      const error = await failure(client.list({ sandboxId: 'x' }));
      assert.equal(error.code, code, error.message);
      assert.ok(!error.message.includes('secret'));
    });
  }

  test('is not read', async () => {
    const left = Promise.withResolvers<void>();
    const body = new ReadableStream({ cancel: () => left.resolve() });
    await failure(over(() => new Response(body, { status: 404 })).client.list({ sandboxId: 'x' }));
    await left.promise;
  });

  test('can be retried where making the call twice is as good as once, and else not', async () => {
    const { client } = over(page(502));
    assert.equal((await failure(client.list({ sandboxId: 'x' }))).retryable, true);
    const lost = await failure(client.rotateKey({ sandboxId: 'x' }));
    assert.equal(lost.retryable, false);
    assert.match(lost.remediation, /may have been carried out/);
  });
});

test('options that have no form in JSON are refused, and not sent', async () => {
  const { client, sent } = over(answer({}));
  const sandboxId = 1n as unknown as string;
  assert.equal((await failure(client.list({ sandboxId }))).code, 'INVALID_ARGUMENT');
  assert.deepEqual(sent, []);
});

test('a URL or a token that can’t be used is refused when the transport is made', () => {
  assert.throws(() => http({ url: 'snapshotter', token: 'x' }), TypeError);
  const missing = undefined as unknown as string;
  for (const token of ['a\nb', '', ' \n', missing]) assert.throws(() => http({ url: URL, token }), TypeError);
});

describe('over the platform’s own fetch', () => {
  async function served(listener: RequestListener, use: (client: SnapshotterClient) => Promise<void>) {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      await use(
        new SnapshotterClient(http({ url: `http://127.0.0.1:${port}`, token: 'x' }), { retry: false }),
      );
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  test('a signal hangs up', async () => {
    const controller = new AbortController();
    const hungUp = Promise.withResolvers<void>();
    const listener: RequestListener = (request) => {
      request.socket.on('close', () => hungUp.resolve());
      controller.abort();
    };
    await served(listener, async (client) => {
      const { code } = await failure(client.list({ sandboxId: 'x', signal: controller.signal }));
      assert.equal(code, 'ABORTED');
      await hungUp.promise;
    });
  });

  test('a redirection is not followed', async () => {
    const asked: (string | undefined)[] = [];
    const listener: RequestListener = (request, response) => {
      asked.push(request.url);
      response.writeHead(303, { location: '/elsewhere' }).end();
    };
    await served(listener, async (client) => {
      assert.equal((await failure(client.list({ sandboxId: 'x' }))).code, 'FOREIGN_ANSWER');
    });
    assert.deepEqual(asked, ['/v1/list']);
  });

  test('a connection that is cut is an answer that is lost', async () => {
    await served(
      (request) => request.socket.destroy(),
      async (client) => {
        assert.equal((await failure(client.list({ sandboxId: 'x' }))).code, 'ANSWER_LOST');
      },
    );
  });

  test('a port where nobody listens is a service that is not reached', async () => {
    let gone: SnapshotterClient | undefined;
    await served(never, async (client) => {
      gone = client;
    });
    assert.equal((await failure(gone!.rotateKey({ sandboxId: 'x' }))).code, 'SERVICE_UNREACHABLE');
  });
});
