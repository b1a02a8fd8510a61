// The times of operations by the number of snapshots in the ledger.

import { alternate, fill, type Task } from '../measure.ts';
import { compare, type Outcome, type Row } from '../results.ts';
import type { World } from '../world.ts';

/** The number of calls of `list` in a sample. */
const TIMES = 50;

/** The number of snapshots in a page, for every size of the ledger. */
const PAGE = 10;

/** The additional age of snapshots that are to expire, in milliseconds: 40 days. */
const EXPIRED_AGE = 40 * 24 * 3600 * 1000;

/** The maximum ratio of the times of the largest and the smallest ledger. */
const TARGET = 1.5;

/** Measures operations on ledgers that are filled with copies of a real snapshot. */
export async function growth(task: Task): Promise<Outcome> {
  const { runs, quick } = task;
  const world = await task.world('filled');
  const sizes = quick ? [10, 100] : [10, 1000, 100_000];
  const rows = [
    ...(await listsAndSnapshots(world, sizes, runs)),
    ...(await expirations(world, sizes, quick ? 1 : 5, quick)),
  ];
  return { rows };
}

/** Measures a page of the list, and a snapshot. */
async function listsAndSnapshots(world: World, sizes: number[], runs: number): Promise<Row[]> {
  for (const size of sizes) {
    await fill(world, origin(size), { name: '', count: 100, bytes: 1000 });
    await world.call('snapshot', { sandboxId: origin(size) });
    await callWorkspace(world, origin(size), 'fill', 0, size - 1, 1000);
  }
  const sides = sizes.map(String);
  const samples = await alternate(sides, runs, async (side) => {
    const sandboxId = origin(side);
    const page = await world.run({ do: 'list', side: 'ours', sandboxId, limit: PAGE, times: TIMES });
    if (page.value !== PAGE) throw new Error(`A page must have ${PAGE} snapshots, got ${page.value}.`);
    const taken = await world.run({ do: 'snapshot', side: 'ours', sandboxId });
    await world.run({ do: 'remove', side: 'ours', snapshot: taken.value });
    return { page: page.millis / TIMES, snapshot: taken.millis };
  });
  const names = { page: `list page of ${PAGE}`, snapshot: 'snapshot' };
  return Object.entries(names).flatMap(([what, name]) =>
    sides.slice(1).map((side) =>
      compare(
        {
          measure: 'growth',
          name: `${name}, ledger of ${side}`,
          unit: 'ms',
          against: `ledger of ${sides[0]}`,
          target: TARGET,
        },
        { ours: samples[what]![side]!, baseline: samples[what]![sides[0]!]! },
      ),
    ),
  );
}

/** Measures an alarm, by the number of snapshots that expire and by the size of the ledger. */
async function expirations(world: World, sizes: number[], runs: number, quick: boolean): Promise<Row[]> {
  const counts = quick ? [2, 4] : [10, 100, 1000];
  const fewest = counts[0]!;
  for (const size of sizes) await callWorkspace(world, origin(size), 'deleteTombstones');
  const runAlarm = async (size: number, count: number) => {
    await callWorkspace(world, origin(size), 'fill', 1_000_000, count, EXPIRED_AGE);
    await store(world, origin(size), count);
    const { millis } = await world.run({
      do: 'call',
      method: 'callWorkspace',
      options: { sandboxId: origin(size), method: 'runAlarm' },
    });
    const deleted = await callWorkspace(world, origin(size), 'count', 'deleted');
    if (deleted !== count) throw new Error(`The alarm must delete ${count} snapshots, deleted ${deleted}.`);
    await callWorkspace(world, origin(size), 'deleteTombstones');
    return millis / count;
  };
  const each: Record<string, number[]> = {};
  for (let run = 0; run <= runs; run++)
    for (const [size, count] of cases(sizes, counts)) {
      const millis = await runAlarm(size, count);
      if (run > 0) (each[`${size} ${count}`] ??= []).push(millis);
    }
  const about = { measure: 'growth', unit: 'ms each', target: TARGET };
  const samples = (size: number, count: number) => each[`${size} ${count}`]!;
  return [
    ...sizes
      .slice(1)
      .map((size) =>
        compare(
          { ...about, name: `expire ${fewest}, ledger of ${size}`, against: `ledger of ${sizes[0]}` },
          { ours: samples(size, fewest), baseline: samples(sizes[0]!, fewest) },
        ),
      ),
    ...counts.slice(1).map((count) =>
      compare(
        {
          ...about,
          name: `expire ${count}, ledger of ${sizes.at(-1)}`,
          against: `expire ${fewest}, same ledger`,
        },
        { ours: samples(sizes.at(-1)!, count), baseline: samples(sizes.at(-1)!, fewest) },
      ),
    ),
  ];
}

function cases(sizes: number[], counts: number[]): [number, number][] {
  const bySize = sizes.map((size) => [size, counts[0]!] as [number, number]);
  return [...bySize, ...counts.slice(1).map((count) => [sizes.at(-1)!, count] as [number, number])];
}

/** Stores small backups for the copies, with their owner as the name, so that they are deleted like real ones. */
async function store(world: World, sandboxId: string, count: number) {
  const objects: [string, string][] = [];
  for (let number = 1_000_000; number < 1_000_000 + count; number++) {
    const digits = String(number);
    const [id, snapshotId] = [
      `00000000-0000-4000-8000-${digits.padStart(12, '0')}`,
      `snap-${digits.padStart(16, '0')}`,
    ];
    const metadata = {
      id,
      name: `snapshotter/1 ${snapshotId} ${sandboxId}`,
      dir: '/workspace',
      sizeBytes: 1,
      ttl: 1e9,
    };
    const text = JSON.stringify({ ...metadata, createdAt: new Date().toISOString() });
    objects.push([`backups/${id}/data.sqsh`, 'x'], [`backups/${id}/meta.json`, text]);
  }
  for (let from = 0; from < objects.length; from += 200)
    await world.run({ do: 'store', objects: objects.slice(from, from + 200) });
}

function origin(size: number | string) {
  return `origin-${size}`;
}

async function callWorkspace(
  world: World,
  sandboxId: string,
  method: string,
  ...list: unknown[]
): Promise<any> {
  return world.call('callWorkspace', { sandboxId, method, list });
}
