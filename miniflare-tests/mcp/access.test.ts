// Authorization of /mcp: tokens and web origins.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { TOKEN, World } from '../world.ts';
import { currentRequest, legacyRequest, McpClient, send, type HttpRequest } from './mcp-client.ts';

const APP = 'https://app.example.com';

let world: World;
let url: URL;
before(async () => {
  const vars = { ALLOWED_ORIGINS: `${APP}, http://localhost:3000` };
  world = await World.start({ snapshotter: { port: 0, vars } });
  url = await world.url('/mcp?sandbox=agent');
});
after(() => world[Symbol.asyncDispose]());

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Grants a token for the tools of one sandbox. */
async function grant(options: object = {}): Promise<string> {
  const workspaces = [{ name: 'work', snapshot: true, sandboxId: 'agent' }];
  return (await world.rpc('tools/grant', { workspaces, ...options })).token;
}

describe('a request', () => {
  const CASES: Record<string, string | undefined> = {
    'no token': undefined,
    'a wrong token': 'Bearer wrong',
    'another scheme': `Basic ${TOKEN}`,
    'a forged granted token': 'Bearer snapshotter-tools.e30.1.AAAA',
  };
  for (const [what, authorization] of Object.entries(CASES)) {
    test(`with ${what} is refused`, async () => {
      for (const request of [legacyRequest('ping'), currentRequest('tools/list'), { body: 'no message' }]) {
        const { status, headers, body } = await send(url, {
          ...request,
          headers: { ...request.headers, authorization },
        });
        assert.deepEqual([status, body.error.data.code], [401, 'UNAUTHORIZED']);
        assert.match(headers.get('www-authenticate') ?? '', /^Bearer/);
        assert.equal(headers.get('x-correlation-id'), body.error.data.correlationId);
      }
    });
  }

  test('is refused with API_TOKEN_MISSING if no token is configured', async () => {
    await using closed = await World.start({ snapshotter: { port: 0, without: ['API_TOKEN'] } });
    const mcpUrl = await closed.url('/mcp?sandbox=agent');
    for (const token of [TOKEN, await grant()]) {
      const { status, body } = await send(mcpUrl, { ...legacyRequest('ping'), headers: bearer(token) });
      assert.deepEqual([status, body.error.data.code], [503, 'API_TOKEN_MISSING']);
      assert.match(body.error.message, /wrangler secret put API_TOKEN/);
    }
    const workspaces = [{ name: 'work', snapshot: true, sandboxId: 'agent' }];
    const error = await closed.failure(closed.rpc('tools/grant', { workspaces }));
    assert.equal(error.code, 'API_TOKEN_MISSING');
  });
});

describe('a granted token', () => {
  test('permits its tools only', async () => {
    await world.exec('agent', 'echo x > file');
    await using mcp = await McpClient.connect(
      await world.url('/mcp'),
      'auto',
      await grant({ readOnly: true }),
    );
    assert.deepEqual(await mcp.names(), [
      'workspace__work__list',
      'workspace__work__snapshot_list',
      'workspace__work__snapshot_diff',
    ]);
    assert.deepEqual((await mcp.data('workspace__work__list')).snapshots, []);
    await assert.rejects(mcp.call('workspace__work__snapshot'), { code: -32602 });
    await assert.rejects(mcp.call('workspace__agent__list'), { code: -32602 });
  });

  test('permits no query in the URL', async () => {
    const headers = bearer(await grant());
    for (const query of ['?sandbox=other', '?readOnly=false', '?style=flat']) {
      const { body } = await send(await world.url(`/mcp${query}`), {
        ...legacyRequest('tools/list'),
        headers,
      });
      assert.equal(body.error.code, -32602, query);
      assert.match(body.error.message, /query/);
    }
  });

  test('does not authorize the HTTP API', async () => {
    const headers = { ...bearer(await grant()), 'content-type': 'application/json' };
    const { status, body } = await world.fetch('/v1/list', { headers, body: '{"sandboxId":"agent"}' });
    assert.deepEqual([status, body.code], [401, 'UNAUTHORIZED']);
  });

  test('does not permit other lineages', async () => {
    await world.exec('agent', 'echo mine > file');
    await world.exec('elsewhere', 'echo secret > file');
    const ref = await world.snapshot('elsewhere');
    const workspace = await world.restore(ref);
    await using mcp = await McpClient.connect(await world.url('/mcp'), 'auto', await grant());
    const code = async (op: string, args: object) => {
      const { isError, _meta } = await mcp.call(`workspace__work__${op}`, { ...args });
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
    const token = await grant();
    const [prefix, body = '', signature] = token.split(/\.(.*?)\./);
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
    claims.toolset.workspaces[0].sandboxId = 'other';
    const altered = Buffer.from(JSON.stringify(claims)).toString('base64url');
    const headers = bearer(`${prefix}.${altered}.${signature}`);
    const answer = await send(await world.url('/mcp'), { ...legacyRequest('tools/list'), headers });
    assert.deepEqual([answer.status, answer.body.error.data.code], [401, 'UNAUTHORIZED']);
  });

  test('that has expired is refused', async () => {
    await using timed = await World.start({ clock: true, snapshotter: { port: 0 } });
    const workspaces = [{ name: 'work', snapshot: true, sandboxId: 'agent' }];
    const { token } = await timed.rpc('tools/grant', { workspaces, expirationSeconds: 60 });
    const mcpUrl = await timed.url('/mcp');
    const list = { ...legacyRequest('tools/list'), headers: bearer(token) };
    assert.equal((await send(mcpUrl, list)).status, 200);
    await timed.advanceClock('agent', 61);
    const { status, body } = await send(mcpUrl, list);
    assert.equal(status, 401);
    assert.match(body.error.message, /expired.*`tools\/grant`/);
  });

  test('is refused by another deployment', async () => {
    const vars = { API_TOKEN: 'another token for tests' };
    await using other = await World.start({ snapshotter: { port: 0, vars } });
    const list = { ...legacyRequest('tools/list'), headers: bearer(await grant()) };
    assert.equal((await send(await other.url('/mcp'), list)).status, 401);
  });

  test('does not appear in the log', async () => {
    const token = await grant();
    await send(await world.url('/mcp'), { ...legacyRequest('tools/list'), headers: bearer(token) });
    await send(await world.url('/mcp'), { ...legacyRequest('tools/list'), headers: bearer(`${token}x`) });
    assert.ok(!world.log.some((line) => line.includes(token) || line.includes(TOKEN)));
  });
});

describe('a web page', () => {
  const from = (origin: string, request: HttpRequest = legacyRequest('tools/list')): HttpRequest => ({
    ...request,
    headers: { ...request.headers, origin },
  });

  test('of another origin is refused with every token', async () => {
    for (const origin of ['https://evil.example.com', `${APP}.evil.org`, 'null', `http://localhost:3001`]) {
      for (const method of ['POST', 'OPTIONS', 'GET']) {
        const { headers, ...body } = from(origin);
        const request = method === 'POST' ? body : {};
        const answer = await send(url, { ...request, ...(headers ? { headers } : {}), method });
        assert.deepEqual([answer.status, answer.body.error.code], [403, -32600], `${method} from ${origin}`);
        assert.equal(answer.headers.get('access-control-allow-origin'), null);
      }
    }
  });

  test('of an allowed origin may send requests and read responses', async () => {
    for (const origin of [APP, 'http://localhost:3000']) {
      const { status, headers } = await send(url, from(origin));
      assert.deepEqual([status, headers.get('access-control-allow-origin')], [200, origin]);
      assert.equal(headers.get('vary'), 'Origin');
      assert.match(headers.get('access-control-expose-headers') ?? '', /X-Correlation-Id/);
    }
  });

  test("of the server's own origin may send requests", async () => {
    assert.equal((await send(url, from(url.origin))).status, 200);
  });

  test('may read the error about its token', async () => {
    const request = from(APP);
    const answer = await send(url, {
      ...request,
      headers: { ...request.headers, authorization: 'Bearer wrong' },
    });
    assert.deepEqual([answer.status, answer.headers.get('access-control-allow-origin')], [401, APP]);
  });

  test('may send a preflight request without a token', async () => {
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

  test('of another origin is refused if no origin is allowed', async () => {
    await using closed = await World.start({ snapshotter: { port: 0 } });
    const mcpUrl = await closed.url('/mcp?sandbox=agent');
    assert.equal((await send(mcpUrl, from(APP))).status, 403);
    assert.equal((await send(mcpUrl, from(mcpUrl.origin))).status, 200);
  });
});
