// Restoring many files, and starting and stopping a workspace that has them: against the SDK called directly.

import { against, alternate, fill, NAMES, type Task, type Files } from '../measure.ts';
import { alone, compare, type Outcome, type Row } from '../results.ts';
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

/** The most that a restore or a start takes, as a multiple of the SDK's time. */
const TARGET = 1.2;

/** The SDK has no equivalent of a look at a sandbox, so its time is only reported. */
const NOTHING = 'nothing';

/** Each side restores, starts and stops in every round. A tree is filled and captured once. */
export async function trees(task: Task): Promise<Outcome> {
  const { runs, quick, show } = task;
  const outcome: Outcome = { rows: [] };
  const world = await task.world('plain');
  for (const [index, files] of (quick ? QUICK : SIZES).entries()) {
    const rows: Row[] = [];
    const tree = await prepared(world, `tree-${index}`, files);
    const restores = await alternate(['ours', 'direct'] as const, runs, async (side, round) => {
      const { value, millis } = await world.perform({ do: 'restore', side, snapshot: tree[side] });
      if (round === 0) await holds(world, value, tree);
      await world.end(value);
      return { restore: millis };
    });
    await world.call('workspaces/stop', { name: tree.name });
    const starts = await alternate(['ours', 'direct'] as const, runs, (side, round) =>
      side === 'ours' ? workspace(world, tree, round) : sandbox(world, tree),
    );
    for (const [what, samples] of Object.entries({ ...restores, ...starts })) {
      const about = { measure: 'trees', name: `${what} of ${files.name}`, unit: 'ms' };
      const pair = against(samples, 'ours', 'direct');
      const target = what === 'stop' ? null : TARGET;
      rows.push(compare({ ...about, against: NAMES.direct, target }, pair));
    }
    const looks = await alternate(['ours'] as const, runs, () => woken(world, tree));
    rows.push(
      alone(
        {
          measure: 'trees',
          name: `look at ${files.name} in a sandbox that woke`,
          unit: 'ms',
          against: NOTHING,
        },
        looks['look']!.ours,
      ),
    );
    await world.call('workspaces/delete', { name: tree.name });
    await world.perform({ do: 'remove', side: 'direct', snapshot: tree.direct });
    show(rows);
    outcome.rows.push(...rows);
  }
  return outcome;
}

/** A workspace with files, and snapshots of them. */
interface Tree {
  name: string;
  sandboxId: string;
  digest: string;
  direct: unknown;
  ours: unknown;
}

async function prepared(world: World, name: string, files: Files): Promise<Tree> {
  const { sandboxId } = await world.call('workspaces/create', { name });
  const digest = await fill(world, sandboxId, files);
  const direct = await world.perform({ do: 'snapshot', side: 'direct', sandboxId });
  const ours = await world.perform({ do: 'snapshot', side: 'ours', sandboxId });
  return { name, sandboxId, digest, direct: direct.value, ours: ours.value };
}

async function holds(world: World, sandboxId: string, { digest }: Tree) {
  if ((await world.digest(sandboxId)) !== digest) throw new Error('Other files were restored than captured.');
}

/** A stopped workspace is started, and stopped again. */
async function workspace(world: World, tree: Tree, round: number) {
  const options = { name: tree.name };
  const start = await world.perform({ do: 'call', method: 'workspaces/start', options });
  if (round === 0) await holds(world, tree.sandboxId, tree);
  const stop = await world.perform({ do: 'call', method: 'workspaces/stop', options });
  return { start: start.millis, stop: stop.millis };
}

/** What the SDK does for the same: a restore; a backup, and the end of the sandbox. */
async function sandbox(world: World, { direct }: Tree) {
  const start = await world.perform({ do: 'restore', side: 'direct', snapshot: direct });
  const sandboxId = start.value;
  const began = performance.now();
  const { value } = await world.perform({ do: 'snapshot', side: 'direct', sandboxId });
  await world.end(sandboxId);
  const stop = performance.now() - began;
  await world.perform({ do: 'remove', side: 'direct', snapshot: value });
  return { start: start.millis, stop };
}

/** The application itself restores files into the sandbox of a stopped workspace: a start looks at them, and fails. */
async function woken(world: World, { name, sandboxId, direct }: Tree) {
  await world.perform({ do: 'sandbox', id: sandboxId, method: 'restoreBackup', args: [direct] });
  const began = performance.now();
  const refused = await world.call('workspaces/start', { name }).then(
    () => new Error('A sandbox that woke by itself was started over.'),
    (error: Error) => (error.message.includes('WORKSPACE_DIVERGED') ? undefined : error),
  );
  if (refused) throw refused;
  const look = performance.now() - began;
  await world.end(sandboxId);
  return { look };
}
