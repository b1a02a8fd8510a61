// Whether a workspace gets slower with the snapshots that it has.

import { alternate, fill, type Task } from '../measure.ts';
import { compare, type Outcome, type Row } from '../results.ts';
import type { World } from '../world.ts';

/** How many calls of `list` one sample is. */
const TIMES = 50;

/** A page is of as many, however many there are. */
const PAGE = 10;

/** The age in milliseconds of snapshots that are to be let go, beyond that of the others: 40 days. */
const OVER = 40 * 24 * 3600 * 1000;

/** How much slower the largest workspace may be. */
const TARGET = 1.5;

/** The ledgers are filled with copies of a snapshot that was taken; what is measured is done on top of them. */
export async function growth(task: Task): Promise<Outcome> {
  const { runs, quick } = task;
  const world = await task.world('filled');
  const sizes = quick ? [10, 100] : [10, 1000, 100_000];
  const rows = [
    ...(await reading(world, sizes, runs)),
    ...(await lettingGo(world, sizes, quick ? 1 : 5, quick)),
  ];
  return { rows };
}

/** A page of the list, and a snapshot. */
async function reading(world: World, sizes: number[], runs: number): Promise<Row[]> {
  for (const size of sizes) {
    await fill(world, origin(size), { name: '', count: 100, bytes: 1000 });
    await world.call('snapshot', { sandboxId: origin(size) });
    await upon(world, origin(size), 'fill', 0, size - 1, 1000);
  }
  const sides = sizes.map(String);
  const samples = await alternate(sides, runs, async (side) => {
    const sandboxId = origin(side);
    const page = await world.perform({ do: 'list', side: 'ours', sandboxId, limit: PAGE, times: TIMES });
    if (page.value !== PAGE) throw new Error(`A page of ${side} snapshots has ${page.value}.`);
    const taken = await world.perform({ do: 'snapshot', side: 'ours', sandboxId });
    await world.perform({ do: 'remove', side: 'ours', snapshot: taken.value });
    return { page: page.millis / TIMES, snapshot: taken.millis };
  });
  const names = { page: `a page of ${PAGE}`, snapshot: 'a snapshot' };
  return Object.entries(names).flatMap(([what, name]) =>
    sides.slice(1).map((side) =>
      compare(
        {
          measure: 'growth',
          name: `${name} at ${side}`,
          unit: 'ms',
          against: `the same at ${sides[0]}`,
          target: TARGET,
        },
        { ours: samples[what]![side]!, baseline: samples[what]![sides[0]!]! },
      ),
    ),
  );
}

/** A pass of the alarm, by how many snapshots it lets go, and by how many there are beside. */
async function lettingGo(world: World, sizes: number[], runs: number, quick: boolean): Promise<Row[]> {
  const counts = quick ? [2, 4] : [10, 100, 1000];
  const least = counts[0]!;
  for (const size of sizes) await upon(world, origin(size), 'forgetDeleted');
  const pass = async (size: number, count: number) => {
    await upon(world, origin(size), 'fill', 1_000_000, count, OVER);
    await store(world, origin(size), count);
    const { millis } = await world.perform({
      do: 'call',
      method: 'upon',
      options: { sandboxId: origin(size), method: 'goOff' },
    });
    const gone = await upon(world, origin(size), 'count', 'deleted');
    if (gone !== count) throw new Error(`A pass let go ${gone} snapshots of ${count}.`);
    await upon(world, origin(size), 'forgetDeleted');
    return millis / count;
  };
  const each: Record<string, number[]> = {};
  for (let run = 0; run <= runs; run++)
    for (const [size, count] of cases(sizes, counts)) {
      const millis = await pass(size, count);
      if (run > 0) (each[`${size} ${count}`] ??= []).push(millis);
    }
  const about = { measure: 'growth', unit: 'ms for each', target: TARGET };
  const samples = (size: number, count: number) => each[`${size} ${count}`]!;
  return [
    ...sizes
      .slice(1)
      .map((size) =>
        compare(
          { ...about, name: `letting ${least} go at ${size}`, against: `the same at ${sizes[0]}` },
          { ours: samples(size, least), baseline: samples(sizes[0]!, least) },
        ),
      ),
    ...counts
      .slice(1)
      .map((count) =>
        compare(
          { ...about, name: `letting ${count} go at ${sizes.at(-1)}`, against: `letting ${least} go there` },
          { ours: samples(sizes.at(-1)!, count), baseline: samples(sizes.at(-1)!, least) },
        ),
      ),
  ];
}

function cases(sizes: number[], counts: number[]): [number, number][] {
  const bySize = sizes.map((size) => [size, counts[0]!] as [number, number]);
  return [...bySize, ...counts.slice(1).map((count) => [sizes.at(-1)!, count] as [number, number])];
}

/** Stores backups for copies, small ones with the mark that belongs to them: they are deleted as any other. */
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
    await world.perform({ do: 'store', objects: objects.slice(from, from + 200) });
}

function origin(size: number | string) {
  return `origin-${size}`;
}

async function upon(world: World, sandboxId: string, method: string, ...list: unknown[]): Promise<any> {
  return world.call('upon', { sandboxId, method, list });
}
