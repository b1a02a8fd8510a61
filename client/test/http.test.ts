// The transport over the HTTP API.

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';

import { http, SnapshotterClient } from '../src/index.ts';
import { clientOver, failure, inSequence, never, problem } from './fakes.ts';

const URL = 'https://snapshotter.example/base/';

interface Sent {
  url: string;
  init: RequestInit;
}

/** Creates a client with a fake `fetch` that has these outcomes. */
function over(...outcomes: unknown[]) {
  const sent: Sent[] = [];
  const next = inSequence<Sent>(outcomes);
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

test('an operation is a POST request with its options and the token', async () => {
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

test('an error names the pages of the server by their whole address', async () => {
  const body = problem('INVALID_ARGUMENT', 'permanent');
  const remediation = 'Did you mean `label`? /docs/snapshots#v1-snapshot describes the options.';
  const { client } = over(answer({ ...body, remediation }, { status: 400 }));
  const error = await failure(client.list({ sandboxId: 'agent-42' }));
  const page = 'https://snapshotter.example/base/docs/snapshots#v1-snapshot';
  assert.equal(error.remediation, `Did you mean \`label\`? ${page} describes the options.`);
});

test('the path of an operation contains its group', async () => {
  const { client, sent } = over(answer({}));
  await client.workspaces.getByName({ name: 'notebook' });
  assert.equal(sent[0]?.url, 'https://snapshotter.example/base/v1/workspaces/getByName');
});

test('the signal and the options of the client are not sent as options', async () => {
  const { client, sent } = over(answer({}));
  const { signal } = new AbortController();
  await client.get({ sandboxId: 'agent-42', label: 'x', signal, retry: false });
  assert.equal(sent[0]?.init.body, '{"sandboxId":"agent-42","label":"x"}');
  assert.equal(sent[0]?.init.signal, signal);
});

test('a problem response is converted to its error', async () => {
  const headers = { 'content-type': 'application/problem+json' };
  const { client } = over(answer(problem('CROSS_LINEAGE', 'policy_denied'), { status: 403, headers }));
  const { code, kind, detail } = await failure(client.list({ sandboxId: 'x' }));
  assert.deepEqual([code, kind, detail], ['CROSS_LINEAGE', 'policy_denied', 'The call failed.']);
});

describe('a response of another server', () => {
  const CASES: Record<string, [unknown, string]> = {
    'a page with status 502': [page(502), 'ANSWER_LOST'],
    'a page with status 504': [page(504), 'ANSWER_LOST'],
    'a page with status 429': [page(429), 'SERVICE_UNREACHABLE'],
    'a page with status 404': [page(404), 'FOREIGN_ANSWER'],
    'a page with status 200': [page(200), 'FOREIGN_ANSWER'],
    'a redirect to a login': [
      () => new Response(null, { status: 302, headers: { location: '/login' } }),
      'FOREIGN_ANSWER',
    ],
    'foreign JSON': [answer({ success: false }, { status: 400 }), 'FOREIGN_ANSWER'],
    'truncated JSON': [
      () => new Response('{"snapshots":[', { headers: { 'content-type': 'application/json' } }),
      'ANSWER_LOST',
    ],
    'a broken connection': [new TypeError('fetch failed'), 'ANSWER_LOST'],
    'a refused connection': [
      new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }) }),
      'SERVICE_UNREACHABLE',
    ],
  };
  for (const [what, [outcome, code]] of Object.entries(CASES)) {
    test(`is ${code}: ${what}`, async () => {
      const { client } = over(outcome);
      const error = await failure(client.list({ sandboxId: 'x' }));
      assert.equal(error.code, code, error.message);
      assert.ok(!error.message.includes('secret'));
    });
  }

  test('is not read', async () => {
    const cancelled = Promise.withResolvers<void>();
    const body = new ReadableStream({ cancel: () => cancelled.resolve() });
    await failure(over(() => new Response(body, { status: 404 })).client.list({ sandboxId: 'x' }));
    await cancelled.promise;
  });

  test('is retryable only if a second call has no further effect', async () => {
    const { client } = over(page(502));
    assert.equal((await failure(client.list({ sandboxId: 'x' }))).retryable, true);
    const lost = await failure(client.rotateKey({ sandboxId: 'x' }));
    assert.equal(lost.retryable, false);
    assert.match(lost.remediation, /may have taken effect/);
  });
});

test('options that JSON cannot represent are refused locally', async () => {
  const { client, sent } = over(answer({}));
  const sandboxId = 1n as unknown as string;
  assert.equal((await failure(client.list({ sandboxId }))).code, 'INVALID_ARGUMENT');
  assert.deepEqual(sent, []);
});

test('an invalid URL or token is refused when the transport is created', () => {
  for (const url of ['snapshotter', 'localhost:8787', '127.0.0.1:8787', 'https://'])
    assert.throws(() => http({ url, token: 'x' }), /must begin with http/);
  const missing = undefined as unknown as string;
  for (const token of ['a\nb', '', ' \n', missing])
    assert.throws(() => http({ url: URL, token }), { code: 'INVALID_ARGUMENT' });
});

describe('with the fetch of the platform', () => {
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

  test('a signal closes the connection', async () => {
    const controller = new AbortController();
    const closed = Promise.withResolvers<void>();
    const listener: RequestListener = (request) => {
      request.socket.on('close', () => closed.resolve());
      controller.abort();
    };
    await served(listener, async (client) => {
      const { code } = await failure(client.list({ sandboxId: 'x', signal: controller.signal }));
      assert.equal(code, 'ABORTED');
      await closed.promise;
    });
  });

  test('a redirect is not followed', async () => {
    const paths: (string | undefined)[] = [];
    const listener: RequestListener = (request, response) => {
      paths.push(request.url);
      response.writeHead(303, { location: '/elsewhere' }).end();
    };
    await served(listener, async (client) => {
      assert.equal((await failure(client.list({ sandboxId: 'x' }))).code, 'FOREIGN_ANSWER');
    });
    assert.deepEqual(paths, ['/v1/list']);
  });

  test('a broken connection is ANSWER_LOST', async () => {
    await served(
      (request) => request.socket.destroy(),
      async (client) => {
        assert.equal((await failure(client.list({ sandboxId: 'x' }))).code, 'ANSWER_LOST');
      },
    );
  });

  test('a port that fetch refuses is SERVICE_UNREACHABLE', async () => {
    const client = new SnapshotterClient(http({ url: 'http://127.0.0.1:9', token: 'x' }));
    assert.equal((await failure(client.list({ sandboxId: 'x' }))).code, 'SERVICE_UNREACHABLE');
    assert.equal(
      (await failure(client.exec({ sandboxId: 'x', command: 'true' }))).code,
      'SERVICE_UNREACHABLE',
    );
  });

  test('a closed port is SERVICE_UNREACHABLE', async () => {
    let unreachable: SnapshotterClient | undefined;
    await served(never, async (client) => {
      unreachable = client;
    });
    assert.equal((await failure(unreachable!.rotateKey({ sandboxId: 'x' }))).code, 'SERVICE_UNREACHABLE');
  });
});

describe('a download', () => {
  const selection = { sandboxId: 'agent-42', label: 'a b', allowCrossLineage: true };
  const file = (headers: Record<string, string> = {}) =>
    new Response('content', { headers: { 'x-snapshot-id': 'snap-1', etag: '"1"', ...headers } });

  test('is a GET request with its options in the query', async () => {
    const { client, sent } = over(() => file({ 'content-length': '7' }));
    const { body, ...download } = await client.files.download({ ...selection, path: 'src/ü' });
    assert.deepEqual(download, { snapshotId: 'snap-1', etag: '"1"', sizeBytes: 7 });
    assert.equal(await new Response(body).text(), 'content');
    const [{ url, init } = {} as Sent] = sent;
    assert.equal(
      url,
      'https://snapshotter.example/base/v1/files/download?sandboxId=agent-42&label=a+b&allowCrossLineage=true&path=src%2F%C3%BC',
    );
    assert.deepEqual([init.method, init.body], ['GET', undefined]);
    assert.equal(new Headers(init.headers).get('authorization'), 'Bearer secret');
  });

  test('of a directory has no size', async () => {
    const { client, sent } = over(() => file({ 'content-length': '7' }));
    assert.equal((await client.files.export(selection)).sizeBytes, undefined);
    assert.match(sent[0]?.url ?? '', /\/v1\/files\/export\?/);
  });

  test('of a directory has the files that it leaves out', async () => {
    const secrets = { mode: 'exclude', count: 1, paths: ['ü/.env'], excluded: 1 };
    const { client, sent } = over(() =>
      file({ 'x-secrets': JSON.stringify(secrets).replace('ü', '\\u00fc') }),
    );
    const download = await client.files.export({ ...selection, secrets: 'exclude' });
    assert.deepEqual(download.secrets, secrets);
    assert.match(sent[0]?.url ?? '', /secrets=exclude/);
  });

  test('that is refused has the error of the Worker', async () => {
    const { client } = over(answer(problem('FILE_NOT_FOUND', 'not_found'), { status: 404 }));
    assert.equal((await failure(client.files.download({ ...selection, path: 'x' }))).code, 'FILE_NOT_FOUND');
  });

  test('from another server is refused', async () => {
    const { client } = over(page(200));
    assert.equal((await failure(client.files.export(selection))).code, 'FOREIGN_ANSWER');
  });

  test('is repeated after a transient failure', async () => {
    const sent: string[] = [];
    const fetch = async (url: string) => {
      sent.push(url);
      if (sent.length > 1) return file();
      return Response.json(problem('STORAGE_UNAVAILABLE', 'transient', true), { status: 503 });
    };
    const { client } = clientOver(http({ url: URL, token: 'secret', fetch }));
    await client.files.export(selection);
    assert.equal(sent.length, 2);
  });
});
