// Calls that are refused because of the sandbox, the bucket or the deployment.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { World } from './world.ts';

describe('a backup of the application', () => {
  test('cannot be restored by a forged ref', async () => {
    await using world = await World.start();
    await world.exec('own', 'echo x > file');
    const ref = await world.snapshot('own');
    const backup = await world.backUp('own');
    const forged = structuredClone(ref);
    forged.ref.backup = backup;
    assert.equal((await world.failure(world.restore(forged))).code, 'REF_MISMATCH');
  });
});

describe('a call to an invalid deployment', () => {
  test('without an R2 binding fails with an error that shows the binding for wrangler.toml, and starts no sandbox', async () => {
    await using world = await World.start({ snapshotter: { without: ['BACKUP_BUCKET'] } });
    const error = await world.failure(world.snapshot('origin'));
    assert.equal(error.code, 'R2_BINDING_MISSING');
    assert.match(error.message, /^R2_BINDING_MISSING: .*"BACKUP_BUCKET"/);
    assert.match(error.remediation ?? '', /\[\[r2_buckets\]\]\nbinding = "BACKUP_BUCKET"/);
    assert.deepEqual(world.running(), []);
  });

  test('without an R2 binding fails before its arguments are checked', async () => {
    await using world = await World.start({ snapshotter: { without: ['BACKUP_BUCKET', 'Sandbox'] } });
    for (const method of ['snapshot', 'restore', 'branch']) {
      assert.equal((await world.failure(world.rpc(method, 'nonsense'))).code, 'R2_BINDING_MISSING');
    }
  });

  test('with another configured R2 binding fails with an error that names that binding', async () => {
    const vars = { BACKUP_R2_BINDING: 'SNAPSHOTS' };
    await using world = await World.start({ snapshotter: { vars } });
    assert.match((await world.failure(world.snapshot('origin'))).message, /"SNAPSHOTS"/);
  });

  test('without a binding of sandboxes fails with an error that shows the binding for wrangler.toml', async () => {
    await using world = await World.start({ snapshotter: { without: ['Sandbox'] } });
    const error = await world.failure(world.snapshot('origin'));
    assert.equal(error.code, 'SANDBOX_BINDING_MISSING');
    assert.match(error.remediation ?? '', /\[\[durable_objects\.bindings\]\]\nname = "Sandbox"/);
  });

  for (const [name, value] of [
    ['LOCAL_BUCKET', 'yes'],
    ['DEFAULT_DIR', '/etc'],
  ] as const) {
    test(`with an invalid ${name} fails with an error that names the var`, async () => {
      await using world = await World.start({ snapshotter: { vars: { [name]: value } } });
      const error = await world.failure(world.snapshot('origin'));
      assert.equal(error.code, 'CONFIG_INVALID');
      assert.ok(error.message.includes(name));
    });
  }

  test('with a var that is not a string fails with an error that names the var', async () => {
    const vars = { LOCAL_BUCKET: true as unknown as string };
    await using world = await World.start({ snapshotter: { vars } });
    const error = await world.failure(world.snapshot('origin'));
    assert.deepEqual([error.code, error.message.includes('LOCAL_BUCKET')], ['CONFIG_INVALID', true]);
  });

  test('without credentials in production mode fails with an error that names the missing ones', async () => {
    await using world = await World.start({
      mode: 'local',
      snapshotter: { vars: { LOCAL_BUCKET: 'false' } },
    });
    await world.exec('origin', 'echo x > file');
    const error = await world.failure(world.snapshot('origin'));
    assert.equal(error.code, 'BACKUP_CONFIG_INVALID');
    assert.match(error.message, /R2_ACCESS_KEY_ID/);
    assert.deepEqual(await world.objects(), []);
  });
});
