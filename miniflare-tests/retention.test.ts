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

  test('does not delete a snapshot that is pinned or has a dependent', async () => {
    const refs = await takeSnapshots(['pinned', 'needed', 'neither', 'newest'], {
      expirationSeconds: MINUTE,
    });
    await world.rpc('pin', { ref: refs[0] });
    await world.restore(refs[1]!);
    await world.advanceClock(origin, DAY);
    await assertRemaining([refs[0]!, refs[1]!, refs[3]!], refs);
  });
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
          ['two', false, ['not among the newest 1 of its sandbox']],
          ['one', true, ['pinned']],
        ],
      );
      assert.deepEqual([planned.evicted, planned.dryRun], [1, true]);
      await assertRemaining(refs, refs);
      const { policy: unchanged } = await world[transport]('retention', { sandboxId: origin });
      assert.deepEqual(unchanged, { expirationSeconds: 30 * DAY, keepDaily: 0, keepWeekly: 0 });
    });
  }
});

test('evicted snapshots are deleted after a crash', async () => {
  await set({ keepLast: { count: 1 } });
  const refs = await takeSnapshots(['one', 'two']);
  await world.crash();
  await awaitDeletion(refs.slice(0, 1));
  await assertRemaining(refs.slice(1), refs);
});
