// Retention: snapshots are deleted by their policy, in the ledger and in R2.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { until, World } from './world.ts';
import type { Policy, Retention, SnapshotRef } from '../client/src/index.ts';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 24 * HOUR;

let world: World;
let origins = 0;
let origin: string;

before(async () => {
  world = await World.start({ clock: true });
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  await world.rpc('resetClock');
  origin = `origin-${++origins}`;
  await world.exec(origin, 'echo x > file');
});

const objectsOf = ({ ref }: SnapshotRef) => [
  `backups/${ref.backup.id}/data.sqsh`,
  `backups/${ref.backup.id}/meta.json`,
];

/** Takes snapshots of the origin with these labels, one after the other. */
async function takeSnapshots(labels: string[], options: object = {}): Promise<SnapshotRef[]> {
  const refs = [];
  for (const label of labels) refs.push(await world.snapshot(origin, { label, ...options }));
  return refs;
}

const set = (policy: Policy, options: object = {}): Promise<Retention> =>
  world.rpc('setRetention', { sandboxId: origin, policy, ...options });

/** Asserts that of some snapshots exactly these remain, in the ledger and in R2. */
async function assertRemaining(refs: SnapshotRef[], of: SnapshotRef[]) {
  const keys = new Set(of.flatMap(objectsOf));
  const left = (await world.objects()).filter((key) => keys.has(key));
  assert.deepEqual(left, refs.flatMap(objectsOf).sort());
  const ids = (await world.list(origin)).snapshots.map(({ snapshotId }) => snapshotId);
  assert.deepEqual(ids.sort(), refs.map(({ ref }) => ref.snapshotId).sort());
}

/** Waits until R2 does not have the objects of these snapshots. */
async function awaitDeletion(refs: SnapshotRef[]) {
  const keys = new Set(refs.flatMap(objectsOf));
  await until(async () => !(await world.objects()).some((key) => keys.has(key)));
}

describe('keepLast', () => {
  test('deletes the oldest snapshots in the alarm after later captures', async () => {
    await set({ keepLast: { count: 2 } });
    const refs = await takeSnapshots(['one', 'two', 'three', 'four']);
    await awaitDeletion(refs.slice(0, 2));
    await assertRemaining(refs.slice(2), refs);
    await world.assertRestores(refs[3]!, 'cat file', 'x\n');
  });

  test('applies at once when the policy is set', async () => {
    const refs = await takeSnapshots(['one', 'two', 'three']);
    const { evicted, dryRun, decisions } = await set({ keepLast: { count: 1 } });
    assert.deepEqual([evicted, dryRun], [2, false]);
    assert.deepEqual(
      decisions.map(({ label, keep }) => [label, keep]),
      [
        ['three', true],
        ['two', false],
        ['one', false],
      ],
    );
    await assertRemaining(refs.slice(2), refs);
  });

  test('keeps pinned snapshots until they are unpinned', async () => {
    const refs = await takeSnapshots(['one', 'two', 'three']);
    await world.rpc('pin', { ref: refs[0] });
    await set({ keepLast: { count: 1 } });
    await assertRemaining([refs[0]!, refs[2]!], refs);
    await world.rpc('unpin', { ref: refs[0] });
    await awaitDeletion(refs.slice(0, 1));
    await assertRemaining(refs.slice(2), refs);
  });

  test("keeps the snapshot of a dependent until the dependent's own first snapshot", async () => {
    const refs = await takeSnapshots(['one', 'two']);
    const { sandboxId } = (await world.restore(refs[0]!)).ref;
    const { decisions } = await set({ keepLast: { count: 1 } });
    assert.match(decisions[1]?.reasons.join() ?? '', new RegExp(`needed by "${sandboxId}"`));
    await assertRemaining(refs, refs);
    const own = await world.snapshot(sandboxId);
    await awaitDeletion(refs.slice(0, 1));
    await assertRemaining(refs.slice(1), refs);
    await world.assertRestores(own, 'cat file', 'x\n');
  });

  test('without deleteEvicted keeps evicted snapshots until they expire', async () => {
    const refs = await takeSnapshots(['one', 'two', 'three']);
    const keepLast = { count: 1, deleteEvicted: false, expirationSeconds: 0 };
    const { evicted } = await set({ keepLast, expirationSeconds: HOUR });
    assert.equal(evicted, 0);
    await world.advanceClock(origin, HOUR + MINUTE);
    await assertRemaining(refs.slice(2), refs);
  });

  test('does not count snapshots that cannot be restored', async () => {
    const refs = await takeSnapshots(['one', 'two', 'three']);
    await world.delete(objectsOf(refs[2]!)[0]!);
    await world.list(origin); // This detects the missing object.
    await set({ keepLast: { count: 1 } });
    const labels = await world.labels(origin);
    assert.ok(labels.includes('two') && !labels.includes('one'), labels.join());
    await world.assertRestores(refs[1]!, 'cat file', 'x\n');
  });
});

describe('an expiration', () => {
  test('of a snapshot deletes it in the alarm, within an hour', async () => {
    const refs = await takeSnapshots(['short', 'shorter'], { expirationSeconds: HOUR });
    const lasting = await takeSnapshots(['lasting']);
    await world.advanceClock(origin, HOUR - 10 * MINUTE);
    await assertRemaining([...refs, ...lasting], [...refs, ...lasting]);
    await world.advanceClock(origin, HOUR);
    await assertRemaining(lasting, [...refs, ...lasting]);
    const manifest = await world.rpc('manifest', { ref: refs[0] });
    assert.match(manifest.removal.reason, /3600 seconds have passed since its last use/);
  });

  test('is 30 days by default, and 0 disables it', async () => {
    const month = await takeSnapshots(['month', 'newest']);
    const forever = await takeSnapshots(['forever'], { expirationSeconds: 0 });
    await world.advanceClock(origin, 29 * DAY);
    assert.deepEqual(await world.labels(origin), ['forever', 'newest', 'month']);
    await world.advanceClock(origin, 2 * DAY);
    await assertRemaining(forever, [...month, ...forever]);
    await world.advanceClock(origin, 3650 * DAY);
    await assertRemaining(forever, forever);
    assert.equal((await world.list(origin)).snapshots[0]?.restorable, 'yes', 'the SDK can restore it');
  });

  test('never deletes the newest restorable snapshot', async () => {
    const refs = await takeSnapshots(['one', 'two'], { expirationSeconds: MINUTE });
    await world.advanceClock(origin, HOUR);
    await assertRemaining(refs.slice(1), refs);
    const { decisions } = await world.rpc('retention', { sandboxId: origin });
    assert.match(decisions[0].reasons.join(), /newest snapshot that can be restored/);
    await world.rpc('resetClock');
    const [next] = (await takeSnapshots(['three'])) as [SnapshotRef];
    await world.advanceClock(origin, HOUR);
    await assertRemaining([next], [...refs, next]);
  });

  test('is counted from the last use', async () => {
    const refs = await takeSnapshots(['used', 'unused', 'newest'], { expirationSeconds: HOUR });
    await world.advanceClock(origin, HOUR / 2);
    const { sandboxId } = (await world.restore(refs[0]!)).ref;
    await world.snapshot(sandboxId);
    await until(async () => (await world.get(refs[0]!)).dependents.length === 0);
    await world.advanceClock(origin, HOUR / 2 + MINUTE);
    await assertRemaining([refs[0]!, refs[2]!], refs);
    await world.advanceClock(origin, HOUR / 2);
    await assertRemaining([refs[2]!], refs);
  });

  test('does not delete a snapshot that is pinned or has a dependent', async () => {
    const refs = await takeSnapshots(['pinned', 'needed', 'neither', 'newest'], {
      expirationSeconds: MINUTE,
    });
    await world.rpc('pin', { ref: refs[0] });
    await world.restore(refs[1]!);
    await world.advanceClock(origin, DAY);
    await assertRemaining([refs[0]!, refs[1]!, refs[3]!], refs);
  });

  test('of a later policy applies to existing snapshots', async () => {
    const refs = await takeSnapshots(['one', 'two']);
    await set({ expirationSeconds: 2 * HOUR });
    const [newest] = (await world.list(origin)).snapshots;
    assert.equal(
      newest?.expiresAt,
      new Date(Date.parse(newest?.createdAt ?? '') + 2 * HOUR * 1000).toISOString(),
    );
    await world.advanceClock(origin, 2 * HOUR + MINUTE);
    await assertRemaining(refs.slice(1), refs);
  });
});

test('keepDaily and keepWeekly keep the newest snapshot of each day and week', async () => {
  // Only imports can have creation times in the past.
  const day = (date: string, hour: string) => `${date}T${hour}:00:00.000Z`;
  const times = {
    'Monday, early': day('2026-11-02', '01'),
    'Monday, late': day('2026-11-02', '23'),
    'Sunday after': day('2026-11-08', '12'),
    'Monday after, early': day('2026-11-09', '00'),
    'Monday after, late': day('2026-11-09', '05'),
  };
  for (const [label, createdAt] of Object.entries(times)) {
    const backup = await world.backUp(origin);
    const key = `backups/${backup.id}/meta.json`;
    const metadata = { ...JSON.parse((await world.read(key)) ?? ''), createdAt, ttl: 1e9 };
    await world.write(key, JSON.stringify(metadata));
    await world.rpc('import', { sandboxId: origin, backup, label });
  }
  const keptLabels = async (policy: Policy) =>
    (await set({ ...policy, keepLast: { count: 1 } }, { dryRun: true })).decisions
      .filter(({ keep }) => keep)
      .map(({ label }) => label);
  assert.deepEqual(await keptLabels({ keepDaily: 1 }), ['Monday after, late']);
  assert.deepEqual(await keptLabels({ keepDaily: 3 }), [
    'Monday after, late',
    'Sunday after',
    'Monday, late',
  ]);
  assert.deepEqual(await keptLabels({ keepWeekly: 2 }), ['Monday after, late', 'Sunday after']);
});

describe('a dry run', () => {
  for (const transport of ['rpc', 'http'] as const) {
    test(`returns the decisions and their reasons, and changes nothing, over ${transport}`, async () => {
      const refs = await takeSnapshots(['one', 'two', 'three']);
      await world.rpc('pin', { ref: refs[0] });
      const policy = { keepLast: { count: 1 } };
      const planned: Retention = await world[transport]('setRetention', {
        sandboxId: origin,
        policy,
        dryRun: true,
      });
      assert.deepEqual(
        planned.decisions.map(({ label, keep, reasons }) => [label, keep, reasons]),
        [
          ['three', true, ['the newest snapshot that can be restored']],
          ['two', false, ['not among the newest 1']],
          ['one', true, ['pinned']],
        ],
      );
      assert.deepEqual([planned.evicted, planned.dryRun], [1, true]);
      await assertRemaining(refs, refs);
      const { policy: unchanged } = await world[transport]('retention', { sandboxId: origin });
      assert.deepEqual(unchanged, { expirationSeconds: 30 * DAY, keepDaily: 0, keepWeekly: 0 });
    });
  }

  test('of applyRetention returns the number of evicted snapshots', async () => {
    const refs = await takeSnapshots(['one', 'two']);
    const dry = await world.rpc('applyRetention', { sandboxId: origin, dryRun: true });
    assert.deepEqual([dry.evicted, dry.dryRun], [0, true]);
    await set({ keepLast: { count: 1, deleteEvicted: false } });
    const applied = await world.rpc('applyRetention', { sandboxId: origin });
    assert.deepEqual([applied.evicted, applied.dryRun], [0, false]);
    await assertRemaining(refs, refs);
  });
});

test('evicted snapshots are deleted after a crash', async () => {
  await set({ keepLast: { count: 1 } });
  const refs = await takeSnapshots(['one', 'two']);
  await world.crash();
  await awaitDeletion(refs.slice(0, 1));
  await assertRemaining(refs.slice(1), refs);
});

test('the retention of a sandbox that was never captured is the default', async () => {
  const retention: Retention = await world.rpc('retention', { sandboxId: 'never-seen' });
  assert.deepEqual([retention.decisions, retention.policy.expirationSeconds], [[], 30 * DAY]);
});
