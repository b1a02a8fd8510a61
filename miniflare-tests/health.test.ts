// Whether a deployment is fit for work: what it tells of itself.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Answer } from '../client/src/index.ts';
import { World, type WorldOptions } from './world.ts';

type Health = Answer<'health'>;
type Env = NonNullable<NonNullable<WorldOptions['snapshotter']>['bindings']>[string];

/** What `/healthz` answers to somebody without a token. */
async function healthz(snapshotter: WorldOptions['snapshotter'], init: RequestInit = {}) {
  await using world = await World.start({ snapshotter: { port: 0, ...snapshotter } });
  const response = await fetch(await world.url('/healthz'), init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

/** The parts that are wrong, with their codes. */
function wrong({ checks }: Health) {
  return checks.filter(({ ok }) => ok === false).map(({ name, code }) => [name, code]);
}

describe('/healthz', () => {
  it('tells that a deployment is fit for work', async () => {
    const { status, headers, text } = await healthz({});
    const health: Health = JSON.parse(text);
    assert.deepEqual([status, health.ok, wrong(health)], [200, true, []]);
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
      fault: 'a var has no use',
      snapshotter: { vars: { DEFAULT_DIR: 'my-secret-place' } },
      expected: [['config', 'CONFIG_INVALID']],
    },
    {
      fault: 'a var that names a binding is not text',
      snapshotter: { vars: { SANDBOX_BINDING: ['my-secret'] } },
      expected: [['config', 'CONFIG_INVALID']],
    },
    {
      fault: 'a var names what are no sandboxes',
      snapshotter: { vars: { SANDBOX_BINDING: 'Workspace' } },
      expected: [['config', 'CONFIG_INVALID']],
    },
    {
      fault: 'an origin is none',
      snapshotter: { vars: { ALLOWED_ORIGINS: 'https://my-secret.example.com/page' } },
      expected: [['config', 'CONFIG_INVALID']],
    },
    {
      fault: 'the token is not text',
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
    it(`tells that ${fault}, and no value`, async () => {
      const { status, text } = await healthz(snapshotter as WorldOptions['snapshotter']);
      assert.deepEqual([status, wrong(JSON.parse(text))], [503, expected]);
      assert.ok(!text.includes('my-secret'), text);
    });
  }

  it('is open without a token, and tells that the rest is closed', async () => {
    const { status, text } = await healthz({ vars: { API_TOKEN: '' } });
    const token = (JSON.parse(text) as Health).checks.find(({ name }) => name === 'apiToken');
    assert.deepEqual([status, token?.ok, token?.code], [200, undefined, 'API_TOKEN_MISSING']);
  });

  it('answers HEAD without a body, and nothing that would change something', async () => {
    const head = await healthz({}, { method: 'HEAD' });
    assert.deepEqual([head.status, head.text], [200, '']);
    await using world = await World.start({ snapshotter: { port: 0 } });
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'QUERY', 'PROPFIND', 'REPORT']) {
      const response = await fetch(await world.url('/healthz'), { method });
      assert.deepEqual([method, response.status, response.headers.get('allow')], [method, 405, 'GET, HEAD']);
      const { code, message } = (await response.json()) as { code: string; message: string };
      assert.deepEqual([code, message], ['METHOD_NOT_ALLOWED', `/healthz does not take ${method}.`]);
    }
  });

  it('judges nothing that hangs on what it can’t read', async () => {
    const vars = { BACKUP_R2_BINDING: ['BACKUP_BUCKET'] } as unknown as Record<string, string>;
    const { checks }: Health = JSON.parse((await healthz({ vars })).text);
    const open = checks.filter(({ detail }) => detail.startsWith("It can't be judged"));
    assert.deepEqual(
      open.map(({ name, ok, code }) => [name, ok, code]),
      ['bucket', 'sandboxes', 'workspaces', 'directory'].map((name) => [name, undefined, undefined]),
    );
  });
});

describe('health', () => {
  it('asks the bucket and the Directory, over RPC and HTTP alike', async () => {
    await using world = await World.start();
    const [rpc, http]: Health[] = [await world.rpc('health', {}), await world.http('health', {})];
    assert.deepEqual([rpc?.ok, http?.checks], [true, rpc?.checks]);
  });

  it('tells what is missing where no operation could be carried out', async () => {
    await using world = await World.start({ snapshotter: { without: ['BACKUP_BUCKET', 'Sandbox'] } });
    assert.deepEqual(wrong(await world.rpc('health', {})), [
      ['bucket', 'R2_BINDING_MISSING'],
      ['sandboxes', 'SANDBOX_BINDING_MISSING'],
    ]);
  });

  it('is answered over RPC alone where the token is not text', async () => {
    const vars = { API_TOKEN: ['a token'] } as unknown as Record<string, string>;
    await using world = await World.start({ snapshotter: { vars } });
    assert.equal((await world.rpc('health', {})).ok, false);
    const calls = [() => world.http('health', {}), () => world.rpc('list', { sandboxId: 'agent' })];
    for (const call of calls) assert.equal((await world.failure(call())).code, 'CONFIG_INVALID');
  });

  it('takes no options', async () => {
    await using world = await World.start();
    const { name, message } = await world.failure(world.rpc('health', { deep: true }));
    assert.match(`${name} ${message}`, /INVALID_ARGUMENT/);
  });
});

describe('the code of a fault', () => {
  /** The code that a call fails with. */
  async function code(vars: Record<string, string>, call: (world: World) => Promise<unknown>) {
    await using world = await World.start({ snapshotter: { vars } });
    return (await world.failure(call(world))).code;
  }

  it('is that of operations where the sandboxes are none', async () => {
    const list = (world: World) => world.list('agent');
    assert.equal(await code({ SANDBOX_BINDING: 'NamedWorkspace' }, list), 'CONFIG_INVALID');
  });

  it('is that of the tools where an origin is none', async () => {
    await using world = await World.start({ snapshotter: { vars: { ALLOWED_ORIGINS: '*' } } });
    const { status, body } = await world.fetch('/mcp', { body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
    assert.deepEqual([status, body.error.data.code], [500, 'CONFIG_INVALID']);
  });

  it('is that of snapshots where the endpoint of the backups is wrong', async () => {
    const endpoint = { BACKUP_BUCKET_ENDPOINT: 'http://localhost:9000' };
    assert.equal(await code(endpoint, (world) => world.snapshot('agent')), 'BACKUP_CONFIG_INVALID');
  });
});

describe('the metrics', () => {
  const CASES: Record<string, [Env, boolean | undefined, RegExp]> = {
    'a dataset': [{ type: 'analytics-engine-dataset', name: 'snapshotter' }, true, /is bound/],
    'a bucket': [{ type: 'r2', name: 'metrics' }, undefined, /no Analytics Engine dataset/],
    'a service, which has a method for every name': [
      { type: 'worker', worker: 'caller' },
      undefined,
      /no Analytics Engine dataset/,
    ],
    'a text': [{ type: 'text', value: 'metrics' }, undefined, /no Analytics Engine dataset/],
  };
  for (const [what, [binding, ok, detail]] of Object.entries(CASES)) {
    it(`are judged by what is bound: ${what}`, async () => {
      const { status, text } = await healthz({ bindings: { METRICS: binding } });
      const check = (JSON.parse(text) as Health).checks.find(({ name }) => name === 'metrics');
      assert.deepEqual([status, check?.ok, check?.code], [200, ok, undefined]);
      assert.match(check?.detail ?? '', detail);
    });
  }
});
