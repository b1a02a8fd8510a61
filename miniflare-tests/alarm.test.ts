// An alarm that can't be done comes again, for as long as it takes.

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

test('what a misconfigured deployment could not do by itself is done when that is repaired', async () => {
  const options = { persist, clock: true };
  {
    await using world = await World.start(options);
    await world.workspace('agent').create({ expiry: { idleSeconds: 60 } });
  }
  {
    await using world = await World.start({ ...options, snapshotter: { vars: { LOCAL_BUCKET: 'neither' } } });
    const again: number | null = await world.rpc('goOff', { name: 'agent' });
    assert.ok(
      again !== null && again > Date.now() && again <= Date.now() + 60_000,
      `it comes again at ${again}`,
    );
    const line = JSON.parse(world.log.find((text) => text.includes('"event":"alarm"')) ?? '{}');
    const { outcome, code, tenant, name } = line;
    assert.deepEqual([outcome, code, tenant, name], ['failure', 'CONFIG_INVALID', 'default', 'agent']);
  }
  await using world = await World.start(options);
  const workspace = world.workspace('agent');
  await workspace.elapse(120);
  assert.equal((await workspace.describe()).state, 'stopped');
});
