// Whether a deployment is fit for work: what it tells of itself.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Answer } from '../client/src/index.ts';
import { World, type WorldOptions } from './world.ts';

type Health = Answer<'health'>;

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
      expected: ['bucket', 'R2_BINDING_MISSING'],
    },
    {
      fault: 'the sandboxes are missing',
      snapshotter: { without: ['Sandbox'] },
      expected: ['sandboxes', 'SANDBOX_BINDING_MISSING'],
    },
    {
      fault: 'the workspaces are missing',
      snapshotter: { without: ['Workspace'] },
      expected: ['workspaces', 'WORKSPACE_BINDING_MISSING'],
    },
    {
      fault: 'the Directory is missing',
      snapshotter: { without: ['Directory'] },
      expected: ['directory', 'WORKSPACE_BINDING_MISSING'],
    },
    {
      fault: 'a var has no use',
      snapshotter: { vars: { DEFAULT_DIR: 'my-secret-place' } },
      expected: ['config', 'CONFIG_INVALID'],
    },
    {
      fault: 'a secret of the backups is missing',
      snapshotter: { vars: { LOCAL_BUCKET: '', R2_ACCESS_KEY_ID: 'my-secret-key' } },
      expected: ['backupCredentials', 'BACKUP_CONFIG_INVALID'],
    },
  ]) {
    it(`tells that ${fault}, and no value`, async () => {
      const { status, text } = await healthz(snapshotter as WorldOptions['snapshotter']);
      assert.deepEqual([status, wrong(JSON.parse(text))], [503, [expected]]);
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
    const post = await healthz({}, { method: 'POST' });
    assert.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD']);
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

  it('takes no options', async () => {
    await using world = await World.start();
    const { name, message } = await world.failure(world.rpc('health', { deep: true }));
    assert.match(`${name} ${message}`, /INVALID_ARGUMENT/);
  });
});
