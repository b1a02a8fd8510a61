// Restores of many files, and starts and stops of a workspace with many files, compared with direct calls of the class of the
// sandboxes. In the column `container`, starts are compared with plain calls of `ctx.container`.

import { randomUUID } from 'node:crypto';

import { modeOfRun } from '../../scripts/local.ts';
import { against, alternate, fill, NAMES, type Task, type Files } from '../measure.ts';
import { alone, compare, type Outcome, type Row, type Samples } from '../results.ts';
import type { SnapshotRef } from '../../client/src/index.ts';
import type { World } from '../world.ts';

const SIZES: Files[] = [
  { name: '10 000 files in 100 directories', count: 10_000, bytes: 400, each: 100 },
  { name: '60 000 files in 600 directories', count: 60_000, bytes: 400, each: 100 },
  { name: '60 000 files in 6 directories', count: 60_000, bytes: 400, each: 10_000 },
  { name: '250 000 files in 2 500 directories', count: 250_000, bytes: 400, each: 100 },
  { name: '250 000 files in 25 directories', count: 250_000, bytes: 400, each: 10_000 },
  { name: '1 GB in 10 files', count: 10, bytes: 100_000_000, each: 100 },
];

const QUICK: Files[] = [{ name: '200 files in 2 directories', count: 200, bytes: 10, each: 100 }];

/** The maximum times, as multiples of those of the baseline. */
const TARGETS = { restore: 1.2, start: 1.1, stop: null };

/**
 * The maximum number of files for which stops are measured. In production mode, a stop reads each file through the overlay, which
 * takes 5 minutes for 250 000 files.
 */
const MAX_STOPPED_FILES = 60_000;

/** The baseline of probes. The SDK has no equivalent, so their time is only reported. */
const NO_BASELINE = '–';

/** Fills and captures each tree once. Each side restores and starts it in every round, and stops it once at the end. */
export async function trees(task: Task): Promise<Outcome> {
  const { runs, quick, report, maxFiles = Infinity } = task;
  const startBaseline = modeOfRun() === 'container' ? 'raw' : 'direct';
  const sizes = (quick ? QUICK : SIZES).filter(({ count }) => count <= maxFiles);
  const world = await task.world('plain');
  for (const [index, files] of sizes.entries()) {
    const rows: Row[] = [];
    const tree = await prepare(world, `tree-${index}`, files);
    const restores = await alternate(['ours', 'direct'] as const, runs, async (side) => {
      const { value, millis } = await world.run({ do: 'restore', side, snapshot: tree[side] });
      await world.destroy(value);
      return { restore: millis };
    });
    await world.call('workspaces/stop', { name: tree.name });
    const starts = await alternate(['ours', startBaseline] as const, runs, (side, round) => {
      if (side === 'ours') return startWorkspace(world, tree, round);
      return side === 'raw' ? startRaw(world, tree, round) : startWithSdk(world, tree);
    });
    const row = (what: keyof typeof TARGETS, baseline: 'direct' | 'raw', samples: Samples) => {
      const about = { measure: 'trees', name: `${what} of ${files.name}`, unit: 'ms' };
      return compare({ ...about, against: NAMES[baseline], target: TARGETS[what] }, samples);
    };
    rows.push(
      row('restore', 'direct', against(restores['restore']!, 'ours', 'direct')),
      row('start', startBaseline, against(starts['start']!, 'ours', startBaseline)),
    );
    if (files.count <= MAX_STOPPED_FILES)
      rows.push(row('stop', 'direct', against(await stop(world, tree), 'ours', 'direct')));
    const probes = await alternate(['ours'] as const, runs, () => probeColdStarted(world, tree));
    rows.push(
      alone(
        {
          measure: 'trees',
          name: `probe of ${files.name} in a cold-started sandbox`,
          unit: 'ms',
          against: NO_BASELINE,
        },
        probes['probe']!.ours,
      ),
    );
    await world.call('workspaces/delete', { name: tree.name });
    await world.run({ do: 'remove', side: 'direct', snapshot: tree.direct });
    await report(rows);
  }
  return { rows: [] };
}

/** A workspace with files, and snapshots of them. */
interface Tree {
  name: string;
  sandboxId: string;
  listing: string;
  direct: unknown;
  ours: SnapshotRef;
}

async function prepare(world: World, name: string, files: Files): Promise<Tree> {
  const { sandboxId } = await world.call('workspaces/create', { name });
  await fill(world, sandboxId, files);
  const listing = await digestOfListing(world, sandboxId);
  const direct = await world.run({ do: 'snapshot', side: 'direct', sandboxId });
  const ours = await world.run({ do: 'snapshot', side: 'ours', sandboxId });
  return { name, sandboxId, listing, direct: direct.value, ours: ours.value };
}

const LISTING = `cd /workspace && find . -type f -printf '%P %s\\n' | LC_ALL=C sort | sha256sum | cut -c 1-16`;

/** Returns a digest of the names and sizes of the files. The content is not read, because that takes minutes in an overlay. */
async function digestOfListing(world: World, sandboxId: string): Promise<string> {
  return world.exec(sandboxId, LISTING);
}

async function assertListing(world: World, sandboxId: string, { listing }: Tree) {
  if ((await digestOfListing(world, sandboxId)) !== listing)
    throw new Error('The restored files differ from the captured files.');
}

/** Starts a workspace whose container has ended. */
async function startWorkspace(world: World, tree: Tree, round: number) {
  const { millis } = await world.run({
    do: 'call',
    method: 'workspaces/start',
    options: { name: tree.name },
  });
  if (round === 0) await assertListing(world, tree.sandboxId, tree);
  await world.destroy(tree.sandboxId);
  return { start: millis };
}

/** Does the same with the SDK: restores a backup. */
async function startWithSdk(world: World, { direct }: Tree) {
  const { millis, value } = await world.run({ do: 'restore', side: 'direct', snapshot: direct });
  await world.destroy(value);
  return { start: millis };
}

/** Does the same with a container and the archive of the snapshotter, by plain calls of `ctx.container`. */
async function startRaw(world: World, { ours, listing }: Tree, round: number) {
  const id = `raw-${randomUUID().slice(0, 8)}`;
  const run = (method: 'restore' | 'run' | 'destroy', ...args: unknown[]) =>
    world.run({ do: 'raw', id, method, args });
  const { millis } = await run('restore', `backups/${ours.ref.backup.id}/data.sqsh`);
  if (round === 0 && (await run('run', ['bash', '-c', LISTING])).value !== listing)
    throw new Error('The unpacked files differ from the captured files.');
  await run('destroy');
  return { start: millis };
}

/** Measures a stop, once for each side. */
async function stop(world: World, tree: Tree) {
  return { ours: [await stopWorkspace(world, tree)], direct: [await stopWithSdk(world, tree)] };
}

/** Returns the time of a stop of a started workspace. */
async function stopWorkspace(world: World, { name }: Tree): Promise<number> {
  await world.call('workspaces/start', { name });
  const { millis } = await world.run({ do: 'call', method: 'workspaces/stop', options: { name } });
  return millis;
}

/** Does the same with the SDK: creates a backup and destroys the sandbox. */
async function stopWithSdk(world: World, { direct }: Tree): Promise<number> {
  const { value: sandboxId } = await world.run({ do: 'restore', side: 'direct', snapshot: direct });
  const began = performance.now();
  const { value } = await world.run({ do: 'snapshot', side: 'direct', sandboxId });
  await world.destroy(sandboxId);
  const millis = performance.now() - began;
  await world.run({ do: 'remove', side: 'direct', snapshot: value });
  return millis;
}

/** Restores files into the sandbox of a stopped workspace, as an application could. A start probes the sandbox, and fails. */
async function probeColdStarted(world: World, { name, sandboxId, direct }: Tree) {
  await world.run({ do: 'sandbox', id: sandboxId, method: 'restoreBackup', args: [direct] });
  const began = performance.now();
  const refused = await world.call('workspaces/start', { name }).then(
    () => new Error('The start of a diverged workspace must fail.'),
    (error: Error) => (error.message.includes('WORKSPACE_DIVERGED') ? undefined : error),
  );
  if (refused) throw refused;
  const probe = performance.now() - began;
  await world.destroy(sandboxId);
  return { probe };
}
