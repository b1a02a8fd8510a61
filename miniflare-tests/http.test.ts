// The HTTP API: tokens, problems, headers and logs; and what a service binding exposes.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { TOKEN, until, World } from './world.ts';

let world: World;
before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

const JSON_TYPE = { 'content-type': 'application/json' };
const AUTHORIZED = { ...JSON_TYPE, authorization: `Bearer ${TOKEN}` };

const MCP = { ...AUTHORIZED, accept: 'application/json, text/event-stream' };

/** Returns the log lines of the snapshotter, without those of the SDK. */
const snapshotterLines = ({ log }: World) =>
  log.filter((line) => line.startsWith('{"') && line.includes('correlationId'));

describe('the token', () => {
  for (const [what, headers] of Object.entries({
    'no token': JSON_TYPE,
    'a wrong token': { ...JSON_TYPE, authorization: 'Bearer wrong' },
    'another scheme': { ...JSON_TYPE, authorization: `Basic ${TOKEN}` },
  })) {
    test(`of a request is required: ${what} is refused on every route`, async () => {
      for (const path of ['/v1/snapshot', '/v1/nothing']) {
        const { status, headers: answered, body } = await world.fetch(path, { headers, body: '{}' });
        assert.deepEqual([status, body.code], [401, 'UNAUTHORIZED']);
        assert.equal(answered['www-authenticate'], 'Bearer');
      }
    });
  }

  test('of the deployment is required: the HTTP API refuses every call without it', async () => {
    await using closed = await World.start({ snapshotter: { without: ['API_TOKEN'] } });
    const { status, body } = await closed.fetch('/v1/snapshot', { body: '{}' });
    assert.deepEqual([status, body.code], [503, 'API_TOKEN_MISSING']);
    assert.match(body.remediation, /wrangler secret put API_TOKEN/);
  });

  test('of the deployment is not required for RPC', async () => {
    await using closed = await World.start({ snapshotter: { without: ['API_TOKEN'] } });
    await closed.exec('origin', 'echo x > file');
    assert.equal((await closed.snapshot('origin')).ref.originId, 'origin');
  });
});

test('a workspace goes back to a snapshot by the calls of the documentation', async () => {
  const call = async (operation: string, options: object) => {
    const { status, body } = await world.fetch(`/v1/${operation}`, { body: JSON.stringify(options) });
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };
  const exec = (command: string) => call('exec', { name: 'lab', command });
  const { sandboxId } = await call('workspaces/getOrCreate', { name: 'lab' });
  await exec('echo good >notes.txt');
  await call('snapshot', { sandboxId, label: 'good' });
  await exec('echo worse >notes.txt');
  const good = { name: 'lab', label: 'good' };
  const { changes } = await call('diff', { from: good, to: { name: 'lab' } });
  assert.deepEqual(
    changes.map(({ path }: { path: string }) => path),
    ['notes.txt'],
  );
  const { snapshotId } = await call('get', good);
  const updated = await call('workspaces/update', { name: 'lab', currentSnapshotId: snapshotId });
  assert.deepEqual(updated.formerSandboxIds, [sandboxId]);
  assert.equal((await exec('cat notes.txt')).stdout, 'good\n');
  assert.equal((await call('get', good)).snapshotId, snapshotId);
  assert.equal((await call('get', { name: 'lab', snapshotId })).label, 'good');
});

describe('a failure', () => {
  test('is a problem of RFC 9457 with the members of the product', async () => {
    const { status, headers, body } = await world.fetch('/v1/snapshot', { body: '{"sandboxId":"-"}' });
    assert.equal(headers['content-type'], 'application/problem+json');
    const { message, remediation, correlationId, ...rest } = body;
    assert.deepEqual(rest, {
      type: 'urn:sandbox-snapshotter:error:INVALID_SANDBOX_ID',
      title: 'Invalid sandbox id',
      status,
      detail: message,
      code: 'INVALID_SANDBOX_ID',
      kind: 'permanent',
      retryable: false,
    });
    assert.equal(status, 400);
    assert.ok(message.length > 0 && remediation.length > 0);
    assert.equal(headers['x-correlation-id'], correlationId);
  });

  test('has the correlation id of its log line', async () => {
    const { body } = await world.fetch('/v1/snapshot', { body: '{"sandboxId":"never-ran"}' });
    const line = world.log.find((line) => line.includes(body.correlationId));
    const { event, outcome, code } = JSON.parse(line ?? '{}');
    assert.deepEqual(
      { event, outcome, code },
      { event: 'snapshot', outcome: 'failure', code: 'SANDBOX_NOT_RUNNING' },
    );
  });
});

test('every response has X-Content-Type-Options: nosniff', async () => {
  const requests: [
    path: string,
    init: { method?: string; headers?: Record<string, string>; body?: string },
  ][] = [
    ['/v1/health', { body: '{}' }],
    ['/v1/get', { body: '{}' }],
    ['/v1/get', { body: '{}', headers: {} }],
    ['/v1/get', { method: 'DELETE' }],
    ['/nothing', {}],
    ['/docs', {}],
    ['/healthz', { method: 'GET' }],
    ['/healthz', {}],
    ['/mcp', { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }), headers: MCP }],
    ['/mcp', { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }), headers: JSON_TYPE }],
    ['/mcp', { body: '{' }],
  ];
  for (const [path, init] of requests) {
    const { status, headers } = await world.fetch(path, init);
    assert.deepEqual([path, status, headers['x-content-type-options']], [path, status, 'nosniff']);
  }
  // The same for responses without a body.
  await using open = await World.start({ snapshotter: { port: 0 } });
  for (const [path, method] of [
    ['/healthz', 'HEAD'],
    ['/mcp', 'GET'],
    ['/mcp', 'OPTIONS'],
    ['/docs', 'HEAD'],
  ] as const) {
    const headers = { origin: (await open.url('')).origin };
    const response = await fetch(await open.url(path), { method, headers });
    assert.deepEqual(
      [path, method, response.headers.get('x-content-type-options')],
      [path, method, 'nosniff'],
    );
  }
});

describe('the log', () => {
  test('has a line for a request without a token', async () => {
    const { body } = await world.fetch('/v1/snapshot', { headers: JSON_TYPE, body: '{}' });
    const line = world.log.find((line) => line.includes(body.correlationId));
    assert.equal(JSON.parse(line ?? '{}').code, 'UNAUTHORIZED');
  });

  test('has one line for a call whose sandbox id has control characters', async () => {
    const sandboxId = 'one\u2028two\u2029gpj.\u202eexe\u2066\u200b';
    const error = await world.failure(world.rpc('snapshot', { sandboxId }));
    const line = world.log.find((line) => line.includes(error.correlationId ?? 'none')) ?? '{}';
    assert.doesNotMatch(line, /[\u2028-\u202e\u2066\u200b]/);
    assert.equal(JSON.parse(line).originId, sandboxId);
  });

  test('contains neither labels nor tokens', async () => {
    const label = 'a secret label\u0007';
    await world.failure(world.rpc('snapshot', { sandboxId: 'never-ran', label }));
    await world.failure(world.rpc('snapshot', { sandboxId: 'never-ran', label: label.slice(0, -1) }));
    assert.ok(!world.log.some((line) => line.includes('secret label') || line.includes(TOKEN)));
  });

  test('contains neither labels nor idempotency keys of recorded snapshots', async () => {
    const secret = 'that no log may contain';
    const options = { label: `a label ${secret}`, idempotencyKey: `a key ${secret}` };
    await world.exec('logged', 'echo x > file');
    const ref = await world.snapshot('logged', options);
    const { label } = options;
    const refused = [
      ['snapshot', { sandboxId: 'logged', label }],
      ['snapshot', { ...options, sandboxId: 'logged', fresh: true }],
      ['get', { sandboxId: 'logged', label: `another ${secret}` }],
      ['list', { sandboxId: 'logged', labelPrefix: secret.repeat(9) }],
    ] as const;
    for (const [method, options] of refused) await world.failure(world.rpc(method, options));
    await world.rpc('label', { ref, newLabel: `a new label ${secret}` });
    await world.rpc('retention', { sandboxId: 'logged' });
    await world.rpc('delete', { ref });
    const { body } = await world.fetch('/v1/get', { body: JSON.stringify({ ref }) });
    await until(() => world.log.some((line) => line.includes(body.correlationId ?? '"event":"get"')));
    assert.ok(snapshotterLines(world).length >= 9);
    assert.deepEqual(
      snapshotterLines(world).filter((line) => line.includes('that no log may contain')),
      [],
    );
  });
});

describe('an error of a sandbox', () => {
  const SECRET = 'open sesame';

  test('contains no value of a variable, even if the SDK quotes the command that sets it', async () => {
    const quoting = ({ command = '' }: { command?: string }) => {
      if (command.startsWith('export ')) throw new Error(`Failed to execute command '${command}': it ended`);
    };
    await using broken = await World.start({ onCall: quoting });
    await broken.workspace('vault').create();
    await broken.workspace('vault').exec('true');
    const error = await broken.failure(broken.workspace('vault').update({ env: { KEY: SECRET } }));
    assert.equal(error.code, 'SANDBOX_FAILED');
    assert.match(error.message, /the variables KEY can't be set/);
    assert.doesNotMatch(JSON.stringify(error) + snapshotterLines(broken).join(), new RegExp(SECRET));
  });

  test('contains no output of a command', async () => {
    await using other = await World.start();
    const workspace = other.workspace('unreadable');
    const { sandboxId } = await workspace.create({ dependsOn: { files: ['file'] } });
    await workspace.exec(
      `mkdir bin; printf '#!/bin/sh\\necho ${SECRET}\\n' > bin/sha256sum; chmod +x bin/sha256sum; echo x > file`,
    );
    await other.sandbox(sandboxId, 'setEnvVars', { PATH: '/workspace/bin:/usr/bin:/bin' });
    const error = await other.failure(workspace.stop());
    assert.match(error.message, /the list of hashes can't be read/);
    assert.doesNotMatch(JSON.stringify(error) + snapshotterLines(other).join(), new RegExp(SECRET));
  });
});

describe('a request', () => {
  const CASES: Record<string, [object, number, string]> = {
    'an unknown route': [{ path: '/v1/nothing' }, 404, 'ROUTE_NOT_FOUND'],
    'a path outside of the API': [{ path: '/v2/snapshot' }, 404, 'ROUTE_NOT_FOUND'],
    'POST on a page': [{ path: '/' }, 405, 'METHOD_NOT_ALLOWED'],
    'an unsupported method': [{ method: 'PUT' }, 405, 'METHOD_NOT_ALLOWED'],
    'an unsupported media type': [
      { headers: { ...AUTHORIZED, 'content-type': 'text/plain' } },
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    'a truncated body': [{ body: '{"sandboxId":' }, 400, 'INVALID_ARGUMENT'],
    'no body': [{}, 400, 'INVALID_ARGUMENT'],
    'a duplicate key': [{ body: '{"sandboxId":"one","sandboxId":"another"}' }, 400, 'INVALID_ARGUMENT'],
    'an unpaired surrogate': [{ body: '{"sandboxId":"\\ud83d"}' }, 400, 'INVALID_ARGUMENT'],
    'a body beyond the size limit': [
      { body: JSON.stringify({ sandboxId: 'x'.repeat(70_000) }) },
      413,
      'PAYLOAD_TOO_LARGE',
    ],
  };
  for (const [what, [init, status, code]] of Object.entries(CASES)) {
    test(`with ${what} fails with ${status}`, async () => {
      const { path = '/v1/snapshot', ...rest } = init as { path?: string };
      const answer = await world.fetch(path, rest);
      assert.deepEqual([answer.status, answer.body.code], [status, code]);
    });
  }

  test('with a duplicate key fails with an error that names the key', async () => {
    const { body } = await world.fetch('/v1/snapshot', { body: '{"sandboxId":"one","sandboxId":"another"}' });
    assert.match(body.message, /the key "sandboxId" occurs twice/);
  });

  test('with an unsupported method gets the supported one in Allow', async () => {
    const { headers } = await world.fetch('/v1/snapshot', { method: 'DELETE' });
    assert.equal(headers.allow, 'POST');
  });
});

describe('over the service binding,', () => {
  for (const method of ['ready', 'initSync', '__wbg_reset_state', '__worker_init_state', 'env', 'ctx']) {
    test(`${method} can't be called`, async () => {
      const { message, code } = await world.failure(world.rpc(method, {}));
      assert.equal(code, undefined);
      assert.match(message, /does not implement|can't be called|is not a function/i);
    });
  }

  test('a call without arguments fails with INVALID_ARGUMENT', async () => {
    assert.equal((await world.failure(world.rpc('snapshot', undefined))).code, 'INVALID_ARGUMENT');
  });

  test('arguments beyond the size limit fail with PAYLOAD_TOO_LARGE', async () => {
    const excludes = Array.from({ length: 9000 }, (_, index) => `pattern-${index}`);
    const error = await world.failure(world.rpc('snapshot', { sandboxId: 'never-ran', excludes }));
    assert.equal(error.code, 'PAYLOAD_TOO_LARGE');
  });
});

describe('an error over RPC', () => {
  test('has a name and its own properties between Workers of the present compatibility date', async () => {
    const error = await world.failure(world.snapshot('never-ran'));
    assert.equal(error.name, 'SnapshotterError');
    assert.match(error.message, /^SANDBOX_NOT_RUNNING: /);
    const { kind, retryable } = error;
    assert.deepEqual({ kind, retryable }, { kind: 'conflict', retryable: false });
    assert.match(error.correlationId ?? '', /^[0-9a-f]{16}$/);
  });

  test('has the code and the remediation in its message for a Worker of an older compatibility date', async () => {
    await using old = await World.start({ caller: { compatibilityDate: '2026-01-01' } });
    const error = await old.failure(old.snapshot('never-ran'));
    assert.equal(error.code, undefined);
    assert.match(error.message, /SANDBOX_NOT_RUNNING: .*`wake: true`/);
  });
});
