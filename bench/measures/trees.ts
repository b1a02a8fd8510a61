// Restores of many files, and starts and stops of a workspace with many files, compared with direct calls of the class of the
// sandboxes. `workspace-starts.ts` has the starts.

import { against, alternate, NAMES, type Task, type Files } from '../measure.ts';
import { alone, compare, type Outcome, type Row, type Samples } from '../results.ts';
import type { World } from '../world.ts';
import { prepare, type Tree } from './tree.ts';
import { archiveStarts, platformStarts } from './workspace-starts.ts';

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
const TARGETS = { restore: 1.2, stop: null };

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
    const row = (what: keyof typeof TARGETS, samples: Samples) => {
      const about = { measure: 'trees', name: `${what} of ${files.name}`, unit: 'ms' };
      return compare({ ...about, against: NAMES.direct, target: TARGETS[what] }, samples);
    };
    rows.push(row('restore', against(restores['restore']!, 'ours', 'direct')));
    await world.call('workspaces/stop', { name: tree.name });
    rows.push(await archiveStarts(world, tree, runs));
    if (files.count <= MAX_STOPPED_FILES) rows.push(row('stop', await stop(world, tree)));
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
    rows.push(...(await platformStarts(world, tree, runs)));
    await world.call('workspaces/delete', { name: tree.name });
    await world.run({ do: 'remove', side: 'direct', snapshot: tree.direct });
    await report(rows);
  }
  return { rows: [] };
}

/** Measures a stop, once for each side. */
async function stop(world: World, tree: Tree): Promise<Samples> {
  return { ours: [await stopWorkspace(world, tree)], baseline: [await stopWithSdk(world, tree)] };
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
