// Who may use /mcp: with which token, and from which web pages.

import assert from 'node:assert/strict';
import { after, before as beforeAll, describe, test } from 'node:test';

import { TOKEN, World } from '../world.ts';
import { before, now, Peer, send, type Sent } from './peer.ts';

const APP = 'https://app.example.com';

let world: World;
let url: URL;
beforeAll(async () => {
  const vars = { ALLOWED_ORIGINS: `${APP}, http://localhost:3000` };
  world = await World.start({ snapshotter: { port: 0, vars } });
  url = await world.url('/mcp?sandbox=agent');
});
after(() => world[Symbol.asyncDispose]());

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Tools for one sandbox, granted to somebody. */
async function granted(options: object = {}): Promise<string> {
  const workspaces = [{ name: 'work', snapshot: true, sandboxId: 'agent' }];
  return (await world.rpc('tools/grant', { workspaces, ...options })).token;
}

describe('the API token', () => {
  const CASES: Record<string, string | undefined> = {
    'no token': undefined,
    'a wrong token': 'Bearer wrong',
    'another scheme': `Basic ${TOKEN}`,
    'a token that looks like a granted one': 'Bearer snapshotter-tools.e30.1.AAAA',
  };
  for (const [what, authorization] of Object.entries(CASES)) {
    test(`${what} is refused, whatever is asked for`, async () => {
      for (const sent of [before('ping'), now('tools/list'), { body: 'no message' }]) {
        const { status, headers, body } = await send(url, {
          ...sent,
          headers: { ...sent.headers, authorization },
        });
        assert.deepEqual([status, body.error.data.code], [401, 'UNAUTHORIZED']);
        assert.match(headers.get('www-authenticate') ?? '', /^Bearer/);
        assert.equal(headers.get('x-correlation-id'), body.error.data.correlationId);
      }
    });
  }

  test('where none is configured, nobody gets in, and the server says so', async () => {
    await using closed = await World.start({ snapshotter: { port: 0, without: ['API_TOKEN'] } });
    const there = await closed.url('/mcp?sandbox=agent');
    for (const token of [TOKEN, await granted()]) {
      const { status, body } = await send(there, { ...before('ping'), headers: bearer(token) });
      assert.deepEqual([status, body.error.data.code], [503, 'API_TOKEN_MISSING']);
      assert.match(body.error.message, /wrangler secret put API_TOKEN/);
    }
    const workspaces = [{ name: 'work', snapshot: true, sandboxId: 'agent' }];
    const error = await closed.failure(closed.rpc('tools/grant', { workspaces }));
    assert.equal(error.code, 'API_TOKEN_MISSING');
  });
});

describe('a granted token', () => {
  test('gives its tools, and no others', async () => {
    await world.exec('agent', 'echo x > file');
    await using peer = await Peer.connect(await world.url('/mcp'), 'auto', await granted({ readOnly: true }));
    assert.deepEqual(await peer.names(), [
      'workspace__work__list',
      'workspace__work__snapshot_list',
      'workspace__work__snapshot_diff',
    ]);
    assert.deepEqual((await peer.data('workspace__work__list')).snapshots, []);
    await assert.rejects(peer.call('workspace__work__snapshot'), { code: -32602 });
    await assert.rejects(peer.call('workspace__agent__list'), { code: -32602 });
  });

  test('leaves the URL nothing to say', async () => {
    const headers = bearer(await granted());
    for (const query of ['?sandbox=other', '?readOnly=false', '?style=flat']) {
      const { body } = await send(await world.url(`/mcp${query}`), { ...before('tools/list'), headers });
      assert.equal(body.error.code, -32602, query);
      assert.match(body.error.message, /query/);
    }
  });

  test('does not open the HTTP API', async () => {
    const headers = { ...bearer(await granted()), 'content-type': 'application/json' };
    const { status, body } = await world.fetch('/v1/list', { headers, body: '{"sandboxId":"agent"}' });
    assert.deepEqual([status, body.code], [401, 'UNAUTHORIZED']);
  });

  test('does not reach beyond the lineage of its sandbox', async () => {
    await world.exec('agent', 'echo mine > file');
    await world.exec('elsewhere', 'echo secret > file');
    const ref = await world.snapshot('elsewhere');
    const workspace = await world.restore(ref);
    await using peer = await Peer.connect(await world.url('/mcp'), 'auto', await granted());
    const code = async (op: string, args: object) => {
      const { isError, _meta } = await peer.call(`workspace__work__${op}`, { ...args });
      assert.equal(isError, true, op);
      return (_meta as any)['sandbox-snapshotter/error'].code;
    };
    for (const op of ['restore', 'branch', 'delete']) assert.equal(await code(op, { ref }), 'CROSS_LINEAGE');
    for (const op of ['snapshot', 'list', 'snapshot_list']) {
      assert.equal(await code(op, { workspace }), 'CROSS_LINEAGE', op);
    }
    for (const op of ['snapshot_create', 'snapshot_restore', 'snapshot_diff']) {
      assert.equal(await code(op, { name: 's1', workspace }), 'CROSS_LINEAGE', op);
    }
    assert.equal((await world.list('elsewhere')).snapshots.length, 1);
  });

  test('that was altered is refused', async () => {
    const token = await granted();
    const [prefix, body = '', signature] = token.split(/\.(.*?)\./);
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
    claims.toolset.workspaces[0].sandboxId = 'other';
    const altered = Buffer.from(JSON.stringify(claims)).toString('base64url');
    const headers = bearer(`${prefix}.${altered}.${signature}`);
    const answer = await send(await world.url('/mcp'), { ...before('tools/list'), headers });
    assert.deepEqual([answer.status, answer.body.error.data.code], [401, 'UNAUTHORIZED']);
  });

  test('that has expired is refused', async () => {
    await using timed = await World.start({ clock: true, snapshotter: { port: 0 } });
    const workspaces = [{ name: 'work', snapshot: true, sandboxId: 'agent' }];
    const { token } = await timed.rpc('tools/grant', { workspaces, expirationSeconds: 60 });
    const there = await timed.url('/mcp');
    const list = { ...before('tools/list'), headers: bearer(token) };
    assert.equal((await send(there, list)).status, 200);
    await timed.elapse('agent', 61);
    const { status, body } = await send(there, list);
    assert.equal(status, 401);
    assert.match(body.error.message, /expired.*tools\.grant/);
  });

  test('is of no use to another deployment', async () => {
    const vars = { API_TOKEN: 'another token for tests' };
    await using other = await World.start({ snapshotter: { port: 0, vars } });
    const list = { ...before('tools/list'), headers: bearer(await granted()) };
    assert.equal((await send(await other.url('/mcp'), list)).status, 401);
  });

  test('is in no log line', async () => {
    const token = await granted();
    await send(await world.url('/mcp'), { ...before('tools/list'), headers: bearer(token) });
    await send(await world.url('/mcp'), { ...before('tools/list'), headers: bearer(`${token}x`) });
    assert.ok(!world.log.some((line) => line.includes(token) || line.includes(TOKEN)));
  });
});

describe('a web page', () => {
  const from = (origin: string, sent: Sent = before('tools/list')): Sent => ({
    ...sent,
    headers: { ...sent.headers, origin },
  });

  test('of another origin may not ask, whatever its token', async () => {
    for (const origin of ['https://evil.example.com', `${APP}.evil.org`, 'null', `http://localhost:3001`]) {
      for (const method of ['POST', 'OPTIONS', 'GET']) {
        const { headers, ...sent } = from(origin);
        const request = method === 'POST' ? sent : {};
        const answer = await send(url, { ...request, ...(headers ? { headers } : {}), method });
        assert.deepEqual([answer.status, answer.body.error.code], [403, -32600], `${method} from ${origin}`);
        assert.equal(answer.headers.get('access-control-allow-origin'), null);
      }
    }
  });

  test('of an origin that is listed may ask, and read the answer', async () => {
    for (const origin of [APP, 'http://localhost:3000']) {
      const { status, headers } = await send(url, from(origin));
      assert.deepEqual([status, headers.get('access-control-allow-origin')], [200, origin]);
      assert.equal(headers.get('vary'), 'Origin');
      assert.match(headers.get('access-control-expose-headers') ?? '', /X-Correlation-Id/);
    }
  });

  test('of the server itself may ask', async () => {
    assert.equal((await send(url, from(url.origin))).status, 200);
  });

  test('may read what is wrong with its token', async () => {
    const sent = from(APP);
    const answer = await send(url, { ...sent, headers: { ...sent.headers, authorization: 'Bearer wrong' } });
    assert.deepEqual([answer.status, answer.headers.get('access-control-allow-origin')], [401, APP]);
  });

  test('may ask first what it may send, without a token', async () => {
    const { status, headers } = await send(url, {
      method: 'OPTIONS',
      headers: { origin: APP, authorization: undefined, 'access-control-request-method': 'POST' },
    });
    assert.deepEqual([status, headers.get('access-control-allow-origin')], [204, APP]);
    assert.equal(headers.get('access-control-allow-methods'), 'POST');
    const allowed = (headers.get('access-control-allow-headers') ?? '').toLowerCase().split(', ');
    for (const name of ['authorization', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name']) {
      assert.ok(allowed.includes(name), name);
    }
  });

  test('where no origin is listed, none but its own may ask', async () => {
    await using closed = await World.start({ snapshotter: { port: 0 } });
    const there = await closed.url('/mcp?sandbox=agent');
    assert.equal((await send(there, from(APP))).status, 403);
    assert.equal((await send(there, from(there.origin))).status, 200);
  });
});
