// How snapshots go by their policy, in the ledger and in R2, without anybody asking for it.

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
  await world.rpc('trueTime');
  origin = `origin-${++origins}`;
  await world.exec(origin, 'echo x > file');
});

const objectsOf = ({ ref }: SnapshotRef) => [
  `backups/${ref.backup.id}/data.sqsh`,
  `backups/${ref.backup.id}/meta.json`,
];

/** Snapshots of the origin with these labels, one after the other. */
async function taken(labels: string[], options: object = {}): Promise<SnapshotRef[]> {
  const refs = [];
  for (const label of labels) refs.push(await world.snapshot(origin, { label, ...options }));
  return refs;
}

const set = (policy: Policy, options: object = {}): Promise<Retention> =>
  world.rpc('setRetention', { sandboxId: origin, policy, ...options });

/** What is in R2 is what the ledger lists: both objects of each of these snapshots of the origin. */
async function remain(refs: SnapshotRef[], of: SnapshotRef[]) {
  const theirs = new Set(of.flatMap(objectsOf));
  const left = (await world.objects()).filter((key) => theirs.has(key));
  assert.deepEqual(left, refs.flatMap(objectsOf).sort());
  const ids = (await world.list(origin)).snapshots.map(({ snapshotId }) => snapshotId);
  assert.deepEqual(ids.sort(), refs.map(({ ref }) => ref.snapshotId).sort());
}

/** Waits until R2 has these snapshots' objects no more. */
async function gone(refs: SnapshotRef[]) {
  const keys = new Set(refs.flatMap(objectsOf));
  await until(async () => !(await world.objects()).some((key) => keys.has(key)));
}

describe('keepLast', () => {
  test('lets the oldest go when there is one more, by the alarm', async () => {
    await set({ keepLast: { count: 2 } });
    const refs = await taken(['one', 'two', 'three', 'four']);
    await gone(refs.slice(0, 2));
    await remain(refs.slice(2), refs);
    await world.restores(refs[3]!, 'cat file', 'x\n');
  });

  test('is applied at once when it is set', async () => {
    const refs = await taken(['one', 'two', 'three']);
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
    await remain(refs.slice(2), refs);
  });

  test('keeps what is pinned beside, until it is unpinned', async () => {
    const refs = await taken(['one', 'two', 'three']);
    await world.rpc('pin', { ref: refs[0] });
    await set({ keepLast: { count: 1 } });
    await remain([refs[0]!, refs[2]!], refs);
    await world.rpc('unpin', { ref: refs[0] });
    await gone(refs.slice(0, 1));
    await remain(refs.slice(2), refs);
  });

  test('keeps what a restored sandbox needs, until that has a snapshot of its own', async () => {
    const refs = await taken(['one', 'two']);
    const { sandboxId } = (await world.restore(refs[0]!)).ref;
    const { decisions } = await set({ keepLast: { count: 1 } });
    assert.match(decisions[1]?.reasons.join() ?? '', new RegExp(`needed by "${sandboxId}"`));
    await remain(refs, refs);
    const own = await world.snapshot(sandboxId);
    await gone(refs.slice(0, 1));
    await remain(refs.slice(1), refs);
    await world.restores(own, 'cat file', 'x\n');
  });

  test('without deleteEvicted keeps the others until they expire', async () => {
    const refs = await taken(['one', 'two', 'three']);
    const keepLast = { count: 1, deleteEvicted: false, expirationSeconds: 0 };
    const { evicted } = await set({ keepLast, expirationSeconds: HOUR });
    assert.equal(evicted, 0);
    await world.elapse(origin, HOUR + MINUTE);
    await remain(refs.slice(2), refs);
  });

  test('does not count what can not be restored any more', async () => {
    const refs = await taken(['one', 'two', 'three']);
    await world.delete(objectsOf(refs[2]!)[0]!);
    await world.list(origin); // which finds it out
    await set({ keepLast: { count: 1 } });
    const labels = await world.labels(origin);
    assert.ok(labels.includes('two') && !labels.includes('one'), labels.join());
    await world.restores(refs[1]!, 'cat file', 'x\n');
  });
});

describe('an expiration', () => {
  test('of its own ends a snapshot by the alarm, within an hour', async () => {
    const refs = await taken(['short', 'shorter'], { expirationSeconds: HOUR });
    const lasting = await taken(['lasting']);
    await world.elapse(origin, HOUR - 10 * MINUTE);
    await remain([...refs, ...lasting], [...refs, ...lasting]);
    await world.elapse(origin, HOUR);
    await remain(lasting, [...refs, ...lasting]);
    const manifest = await world.rpc('manifest', { ref: refs[0] });
    assert.match(manifest.removal.reason, /3600 seconds have passed since its last use/);
  });

  test('of the policy is 30 days, and 0 is never', async () => {
    const month = await taken(['month', 'newest']);
    const forever = await taken(['forever'], { expirationSeconds: 0 });
    await world.elapse(origin, 29 * DAY);
    assert.deepEqual(await world.labels(origin), ['forever', 'newest', 'month']);
    await world.elapse(origin, 2 * DAY);
    await remain(forever, [...month, ...forever]);
    await world.elapse(origin, 3650 * DAY);
    await remain(forever, forever);
    assert.equal((await world.list(origin)).snapshots[0]?.restorable, 'yes', 'the SDK restores it still');
  });

  test('never ends the newest that can be restored, until there is a newer one', async () => {
    const refs = await taken(['one', 'two'], { expirationSeconds: MINUTE });
    await world.elapse(origin, HOUR);
    await remain(refs.slice(1), refs);
    const { decisions } = await world.rpc('retention', { sandboxId: origin });
    assert.match(decisions[0].reasons.join(), /newest snapshot that can be restored/);
    await world.rpc('trueTime');
    const [next] = (await taken(['three'])) as [SnapshotRef];
    await world.elapse(origin, HOUR);
    await remain([next], [...refs, next]);
  });

  test('is counted from the last use', async () => {
    const refs = await taken(['used', 'unused', 'newest'], { expirationSeconds: HOUR });
    await world.elapse(origin, HOUR / 2);
    const { sandboxId } = (await world.restore(refs[0]!)).ref;
    await world.snapshot(sandboxId);
    await until(async () => (await world.get(refs[0]!)).dependents.length === 0);
    await world.elapse(origin, HOUR / 2 + MINUTE);
    await remain([refs[0]!, refs[2]!], refs);
    await world.elapse(origin, HOUR / 2);
    await remain([refs[2]!], refs);
  });

  test('does not end what is pinned or needed', async () => {
    const refs = await taken(['pinned', 'needed', 'neither', 'newest'], { expirationSeconds: MINUTE });
    await world.rpc('pin', { ref: refs[0] });
    await world.restore(refs[1]!);
    await world.elapse(origin, DAY);
    await remain([refs[0]!, refs[1]!, refs[3]!], refs);
  });

  test('of a policy that is set later counts for what is there', async () => {
    const refs = await taken(['one', 'two']);
    await set({ expirationSeconds: 2 * HOUR });
    const [newest] = (await world.list(origin)).snapshots;
    assert.equal(
      newest?.expiresAt,
      new Date(Date.parse(newest?.createdAt ?? '') + 2 * HOUR * 1000).toISOString(),
    );
    await world.elapse(origin, 2 * HOUR + MINUTE);
    await remain(refs.slice(1), refs);
  });
});

test('the newest of each day and week stay', async () => {
  // Times that lie back can only come in from outside.
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
  const kept = async (policy: Policy) =>
    (await set({ ...policy, keepLast: { count: 1 } }, { dryRun: true })).decisions
      .filter(({ keep }) => keep)
      .map(({ label }) => label);
  assert.deepEqual(await kept({ keepDaily: 1 }), ['Monday after, late']);
  assert.deepEqual(await kept({ keepDaily: 3 }), ['Monday after, late', 'Sunday after', 'Monday, late']);
  assert.deepEqual(await kept({ keepWeekly: 2 }), ['Monday after, late', 'Sunday after']);
});

describe('a dry run', () => {
  for (const transport of ['rpc', 'http'] as const) {
    test(`says what would go and why, and changes nothing, over ${transport}`, async () => {
      const refs = await taken(['one', 'two', 'three']);
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
      await remain(refs, refs);
      const { policy: unchanged } = await world[transport]('retention', { sandboxId: origin });
      assert.deepEqual(unchanged, { expirationSeconds: 30 * DAY, keepDaily: 0, keepWeekly: 0 });
    });
  }

  test('of what the policy is says what has to go by now', async () => {
    const refs = await taken(['one', 'two']);
    const dry = await world.rpc('applyRetention', { sandboxId: origin, dryRun: true });
    assert.deepEqual([dry.evicted, dry.dryRun], [0, true]);
    await set({ keepLast: { count: 1, deleteEvicted: false } });
    const applied = await world.rpc('applyRetention', { sandboxId: origin });
    assert.deepEqual([applied.evicted, applied.dryRun], [0, false]);
    await remain(refs, refs);
  });
});

test('what has to go goes by itself after a crash', async () => {
  await set({ keepLast: { count: 1 } });
  const refs = await taken(['one', 'two']);
  await world.crash();
  await gone(refs.slice(0, 1));
  await remain(refs.slice(1), refs);
});

test('retention of a sandbox that was never captured is the default', async () => {
  const retention: Retention = await world.rpc('retention', { sandboxId: 'never-seen' });
  assert.deepEqual([retention.decisions, retention.policy.expirationSeconds], [[], 30 * DAY]);
});
