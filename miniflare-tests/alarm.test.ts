// A failed alarm is retried until it succeeds.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { World } from './world.ts';

let persist: string;

before(async () => {
  persist = await mkdtemp(join(tmpdir(), 'alarm-'));
});
after(() => rm(persist, { recursive: true }));

test('an alarm that fails in a misconfigured deployment succeeds after a corrected deployment', async () => {
  const options = { persist, clock: true };
  {
    await using world = await World.start(options);
    await world.workspace('agent').create({ expiry: { idleSeconds: 60 } });
  }
  {
    await using world = await World.start({ ...options, snapshotter: { vars: { LOCAL_BUCKET: 'neither' } } });
    const nextAlarm: number | null = await world.rpc('fireAlarm', { name: 'agent' });
    assert.ok(
      nextAlarm !== null && nextAlarm > Date.now() && nextAlarm <= Date.now() + 60_000,
      `it comes nextAlarm at ${nextAlarm}`,
    );
    const line = JSON.parse(world.log.find((text) => text.includes('"event":"alarm"')) ?? '{}');
    const { outcome, code, tenant, name } = line;
    assert.deepEqual([outcome, code, tenant, name], ['failure', 'CONFIG_INVALID', 'default', 'agent']);
  }
  await using world = await World.start(options);
  const workspace = world.workspace('agent');
  await workspace.advanceClock(120);
  assert.equal((await workspace.describe()).state, 'stopped');
});
