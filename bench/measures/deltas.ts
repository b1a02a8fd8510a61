// Incremental snapshots and their restores, compared with full ones of the same files.

import { against, alternate, fill, type Files, type Task } from '../measure.ts';
import { compare, exact, type Outcome, type Row, type Samples } from '../results.ts';
import type { World } from '../world.ts';
import { LISTING } from './tree.ts';

const SIZES: Files[] = [
  { name: '10 000 files, 105 MB', count: 10_000, bytes: 10_500 },
  { name: '40 000 files, 129 MB', count: 40_000, bytes: 3_225 },
];

const QUICK: Files[] = [{ name: '200 files, 6 MB', count: 200, bytes: 30_000 }];

/** The number of deltas of which the last one is compared with the first one. */
const LAST = 30;

/** The sides of a comparison: a snapshot that may be a delta, and a full one. */
const FORMS = ['delta', 'full'] as const;

/** A shell command that writes one file in 100 again, with other bytes. */
const CHANGE = `cd /workspace && find . -name 'f*00' | while read -r f; do
  size=$(stat -c %s "$f") && head -c "$size" /dev/urandom >"$f" || exit 1
done`;

/** Measures deltas against the snapshot from which a workspace was started. */
export async function deltas(task: Task): Promise<Outcome> {
  const { runs, quick, report } = task;
  const world = await task.world('incremental');
  for (const [index, files] of (quick ? QUICK : SIZES).entries()) {
    const rows: Row[] = [];
    const row = (name: string, target: number | null, samples: Samples, baseline = 'full snapshot') => {
      const about = {
        measure: 'deltas',
        name: `${name}, ${files.name}`,
        unit: 'ms',
        against: baseline,
        target,
      };
      rows.push(compare(about, samples));
    };
    const bytes = (name: string, target: number, delta: Taken, full: Taken) => {
      const about = {
        measure: 'deltas',
        name: `bytes of ${name}, ${files.name}`,
        unit: 'kB',
        against: 'full snapshot',
      };
      rows.push(exact({ ...about, target, ours: kB(delta), baseline: kB(full) }));
    };

    // What the inventory costs the first snapshot. Its files are on a disk in every mode.
    const fresh = `fresh-${index}`;
    await fill(world, fresh, files);
    const first = await alternate(FORMS, runs, async (side) => {
      await world.exec(fresh, 'rm -rf /run/sandbox-snapshotter.base');
      const taken = await take(world, fresh, side, 'full');
      await world.call('delete', { ref: taken.ref });
      return { millis: taken.millis };
    });
    row('first snapshot', null, against(first['millis']!, 'delta', 'full'), 'without an inventory');
    await world.destroy(fresh);

    const name = `deltas-${index}`;
    const { sandboxId } = await world.call('workspaces/create', { name });
    await fill(world, sandboxId, files);
    await world.call('workspaces/stop', { name });
    await world.call('workspaces/start', { name });

    const unchanged = await alternate(FORMS, runs, (side) => measure(world, sandboxId, side));
    row('snapshot of no change', null, against(unchanged['millis']!, 'delta', 'full'));
    bytes('no change', 0.001, await take(world, sandboxId, 'delta'), await take(world, sandboxId, 'full'));

    const changed = await alternate(FORMS, runs, async (side) => {
      await world.exec(sandboxId, CHANGE);
      return measure(world, sandboxId, side);
    });
    row('snapshot of 1 %', 0.1, against(changed['millis']!, 'delta', 'full'));

    const taken = {
      delta: await take(world, sandboxId, 'delta'),
      full: await take(world, sandboxId, 'full'),
    };
    bytes('1 %', 0.015, taken.delta, taken.full);
    const listing = await world.exec(sandboxId, LISTING);
    const restored = await alternate(FORMS, runs, async (side, round) => {
      const { value, millis } = await world.run({ do: 'restore', side: 'ours', snapshot: taken[side].ref });
      if (round === 0 && (await world.exec(value, LISTING)) !== listing)
        throw new Error('The restored files differ from those that were captured.');
      await world.destroy(value);
      return { millis };
    });
    row(
      'restore with 1 % changed',
      1.1,
      against(restored['millis']!, 'delta', 'full'),
      'restore of a full snapshot',
    );
    await report(rows);
    await world.call('workspaces/delete', { name });
  }
  return { rows: [await lastOfMany(world, (quick ? QUICK : SIZES)[0]!, quick ? 4 : LAST)] };
}

/** A snapshot, and the time that it took. */
interface Taken {
  ref: unknown;
  storedBytes: number;
  millis: number;
}

/** Takes a snapshot, and throws unless it has a form. */
async function take(
  world: World,
  sandboxId: string,
  side: (typeof FORMS)[number],
  form = side,
): Promise<Taken> {
  const options = side === 'full' ? { incremental: false } : {};
  const { value, millis } = await world.run({ do: 'snapshot', side: 'ours', sandboxId, options });
  const { capture, ...ref } = value;
  if (capture.form !== form)
    throw new Error(`The snapshot is ${capture.form}, and not ${form}: ${capture.reason}`);
  return { ref, storedBytes: capture.storedBytes, millis };
}

/** Takes a snapshot, deletes it, and returns its time. */
async function measure(world: World, sandboxId: string, side: (typeof FORMS)[number]) {
  const { ref, millis } = await take(world, sandboxId, side);
  await world.run({ do: 'remove', side: 'ours', snapshot: ref });
  return { millis };
}

/** Compares the last three of many deltas of one base with the first three. Each has the same change. */
async function lastOfMany(world: World, files: Files, count: number): Promise<Row> {
  const name = 'deltas-many';
  const { sandboxId } = await world.call('workspaces/create', { name });
  await fill(world, sandboxId, files);
  await world.call('workspaces/stop', { name });
  await world.call('workspaces/start', { name });
  const times: number[] = [];
  for (let number = 0; number < count; number++) {
    await world.exec(sandboxId, CHANGE);
    times.push((await take(world, sandboxId, 'delta')).millis);
  }
  await world.call('workspaces/delete', { name });
  const about = {
    measure: 'deltas',
    name: `delta ${count} of 1 %, ${files.name}`,
    unit: 'ms',
    against: 'the first deltas',
    target: 1.5,
  };
  return compare(about, { ours: times.slice(-3), baseline: times.slice(0, 3) });
}

function kB({ storedBytes }: Taken): number {
  return Math.round(storedBytes / 100) / 10;
}
