// The health of a deployment: `/healthz` and the operation `health`.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Answer } from '../client/src/index.ts';
import { World, type WorldOptions } from './world.ts';

type Health = Answer<'health'>;
type Env = NonNullable<NonNullable<WorldOptions['snapshotter']>['bindings']>[string];

/** Returns the response of `/healthz` to a request without a token. */
async function healthz(snapshotter: WorldOptions['snapshotter'], init: RequestInit = {}) {
  await using world = await World.start({ snapshotter: { port: 0, ...snapshotter } });
  const response = await fetch(await world.url('/healthz'), init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

/** Returns the failed checks with their codes. */
function failedChecks({ checks }: Health) {
  return checks.filter(({ ok }) => ok === false).map(({ name, code }) => [name, code]);
}

describe('/healthz', () => {
  it('reports that a deployment works', async () => {
    const { status, headers, text } = await healthz({});
    const health: Health = JSON.parse(text);
    assert.deepEqual([status, health.ok, failedChecks(health)], [200, true, []]);
    assert.equal(headers.get('content-type'), 'application/json');
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.ok(Math.abs(Date.parse(health.time) - Date.now()) < 60_000);
  });

  for (const { fault, snapshotter, expected } of [
    {
      fault: 'the bucket is missing',
      snapshotter: { without: ['BACKUP_BUCKET'] },
      expected: [['bucket', 'R2_BINDING_MISSING']],
    },
    {
      fault: 'the sandboxes are missing',
      snapshotter: { without: ['Sandbox'] },
      expected: [['sandboxes', 'SANDBOX_BINDING_MISSING']],
    },
    {
      fault: 'the workspaces are missing',
      snapshotter: { without: ['Workspace'] },
      expected: [['workspaces', 'WORKSPACE_BINDING_MISSING']],
    },
    {
      fault: 'the Directory is missing',
      snapshotter: { without: ['Directory'] },
      expected: [['directory', 'WORKSPACE_BINDING_MISSING']],
    },
    {
      fault: 'a var is invalid',
      snapshotter: { vars: { DEFAULT_DIR: 'my-secret-dir' } },
      expected: [['config', 'CONFIG_INVALID']],
    },
    {
      fault: 'a var that names a binding is not a string',
      snapshotter: { vars: { SANDBOX_BINDING: ['my-secret'] } },
      expected: [['config', 'CONFIG_INVALID']],
    },
    {
      fault: 'a var names a binding that is not of sandboxes',
      snapshotter: { vars: { SANDBOX_BINDING: 'Workspace' } },
      expected: [['config', 'CONFIG_INVALID']],
    },
    {
      fault: 'an origin is invalid',
      snapshotter: { vars: { ALLOWED_ORIGINS: 'https://my-secret.example.com/page' } },
      expected: [['config', 'CONFIG_INVALID']],
    },
    {
      fault: 'the token is not a string',
      snapshotter: { vars: { API_TOKEN: ['my-secret'] } },
      expected: [
        ['config', 'CONFIG_INVALID'],
        ['apiToken', 'CONFIG_INVALID'],
      ],
    },
    {
      fault: 'the endpoint of the backups has a path',
      snapshotter: { vars: { BACKUP_BUCKET_ENDPOINT: 'https://my-secret.example.com/path' } },
      expected: [['backupCredentials', 'BACKUP_CONFIG_INVALID']],
    },
    {
      fault: 'a secret of the backups is missing',
      snapshotter: { vars: { LOCAL_BUCKET: '', R2_ACCESS_KEY_ID: 'my-secret-key' } },
      expected: [['backupCredentials', 'BACKUP_CONFIG_INVALID']],
    },
  ]) {
    it(`reports that ${fault}, without any value`, async () => {
      const { status, text } = await healthz(snapshotter as WorldOptions['snapshotter']);
      assert.deepEqual([status, failedChecks(JSON.parse(text))], [503, expected]);
      assert.ok(!text.includes('my-secret'), text);
    });
  }

  it('requires no token, and reports that the HTTP API has none', async () => {
    const { status, text } = await healthz({ vars: { API_TOKEN: '' } });
    const token = (JSON.parse(text) as Health).checks.find(({ name }) => name === 'apiToken');
    assert.deepEqual([status, token?.ok, token?.code], [200, undefined, 'API_TOKEN_MISSING']);
  });

  it('answers HEAD without a body, and refuses every other method than GET', async () => {
    const head = await healthz({}, { method: 'HEAD' });
    assert.deepEqual([head.status, head.text], [200, '']);
    await using world = await World.start({ snapshotter: { port: 0 } });
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'QUERY', 'PROPFIND', 'REPORT']) {
      const response = await fetch(await world.url('/healthz'), { method });
      assert.deepEqual([method, response.status, response.headers.get('allow')], [method, 405, 'GET, HEAD']);
      const { code, message } = (await response.json()) as { code: string; message: string };
      assert.deepEqual([code, message], ['METHOD_NOT_ALLOWED', `/healthz does not accept ${method}.`]);
    }
  });

  it('does not check parts whose configuration is unreadable', async () => {
    const vars = { BACKUP_R2_BINDING: ['BACKUP_BUCKET'] } as unknown as Record<string, string>;
    const { checks }: Health = JSON.parse((await healthz({ vars })).text);
    const open = checks.filter(({ detail }) => detail.startsWith('Not checked'));
    assert.deepEqual(
      open.map(({ name, ok, code }) => [name, ok, code]),
      ['bucket', 'sandboxes', 'workspaces', 'directory'].map((name) => [name, undefined, undefined]),
    );
  });
});

describe('health', () => {
  it('calls the bucket and the Directory, over RPC and HTTP', async () => {
    await using world = await World.start();
    const [rpc, http]: Health[] = [await world.rpc('health', {}), await world.http('health', {})];
    assert.deepEqual([rpc?.ok, http?.checks], [true, rpc?.checks]);
  });

  it('reports the missing bindings of a deployment where every operation fails', async () => {
    await using world = await World.start({ snapshotter: { without: ['BACKUP_BUCKET', 'Sandbox'] } });
    assert.deepEqual(failedChecks(await world.rpc('health', {})), [
      ['bucket', 'R2_BINDING_MISSING'],
      ['sandboxes', 'SANDBOX_BINDING_MISSING'],
    ]);
  });

  it('works over RPC and fails over HTTP if the token is not a string', async () => {
    const vars = { API_TOKEN: ['a token'] } as unknown as Record<string, string>;
    await using world = await World.start({ snapshotter: { vars } });
    assert.equal((await world.rpc('health', {})).ok, false);
    const calls = [() => world.http('health', {}), () => world.rpc('list', { sandboxId: 'agent' })];
    for (const call of calls) assert.equal((await world.failure(call())).code, 'CONFIG_INVALID');
  });

  it('accepts no options', async () => {
    await using world = await World.start();
    const { name, message } = await world.failure(world.rpc('health', { deep: true }));
    assert.match(`${name} ${message}`, /INVALID_ARGUMENT/);
  });
});

describe('the code of a fault', () => {
  /** Returns the error code of a call. */
  async function code(vars: Record<string, string>, call: (world: World) => Promise<unknown>) {
    await using world = await World.start({ snapshotter: { vars } });
    return (await world.failure(call(world))).code;
  }

  it('equals that of operations if the binding is not of sandboxes', async () => {
    const list = (world: World) => world.list('agent');
    assert.equal(await code({ SANDBOX_BINDING: 'NamedWorkspace' }, list), 'CONFIG_INVALID');
  });

  it('equals that of the tools if an origin is invalid', async () => {
    await using world = await World.start({ snapshotter: { vars: { ALLOWED_ORIGINS: '*' } } });
    const { status, body } = await world.fetch('/mcp', { body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
    assert.deepEqual([status, body.error.data.code], [500, 'CONFIG_INVALID']);
  });

  it('equals that of snapshots if the endpoint of the backups is invalid', async () => {
    const endpoint = { BACKUP_BUCKET_ENDPOINT: 'http://localhost:9000' };
    assert.equal(await code(endpoint, (world) => world.snapshot('agent')), 'BACKUP_CONFIG_INVALID');
  });
});

describe('the check of the metrics', () => {
  const CASES: Record<string, [Env, boolean | undefined, RegExp]> = {
    'a dataset': [{ type: 'analytics-engine-dataset', name: 'snapshotter' }, true, /is bound/],
    'a bucket': [{ type: 'r2', name: 'metrics' }, undefined, /not an Analytics Engine dataset/],
    'a service, whose stub has a method of every name': [
      { type: 'worker', worker: 'caller' },
      undefined,
      /not an Analytics Engine dataset/,
    ],
    'a string': [{ type: 'text', value: 'metrics' }, undefined, /not an Analytics Engine dataset/],
  };
  for (const [what, [binding, ok, detail]] of Object.entries(CASES)) {
    it(`reports the type of the binding: ${what}`, async () => {
      const { status, text } = await healthz({ bindings: { METRICS: binding } });
      const check = (JSON.parse(text) as Health).checks.find(({ name }) => name === 'metrics');
      assert.deepEqual([status, check?.ok, check?.code], [200, ok, undefined]);
      assert.match(check?.detail ?? '', detail);
    });
  }
});
