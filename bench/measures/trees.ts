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

/** The most files of which a stop is measured: in production mode it reads each through the overlay, 5 minutes for 250 000. */
const MOST_STOPPED = 60_000;

/** The SDK has no equivalent of a look at a sandbox, so its time is only reported. */
const NOTHING = 'nothing';

/** Each side restores and starts in every round, and stops once at the end. A tree is filled and captured once. */
export async function trees(task: Task): Promise<Outcome> {
  const { runs, quick, tell } = task;
  const world = await task.world('plain');
  for (const [index, files] of (quick ? QUICK : SIZES).entries()) {
    const rows: Row[] = [];
    const tree = await prepared(world, `tree-${index}`, files);
    const restores = await alternate(['ours', 'direct'] as const, runs, async (side) => {
      const { value, millis } = await world.perform({ do: 'restore', side, snapshot: tree[side] });
      await world.end(value);
      return { restore: millis };
    });
    await world.call('workspaces/stop', { name: tree.name });
    const starts = await alternate(['ours', 'direct'] as const, runs, (side, round) =>
      side === 'ours' ? workspace(world, tree, round) : sandbox(world, tree),
    );
    const stops = files.count <= MOST_STOPPED ? { stop: await stop(world, tree) } : {};
    for (const [what, samples] of Object.entries({ ...restores, ...starts, ...stops })) {
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
    await tell(rows);
  }
  return { rows: [] };
}

/** A workspace with files, and snapshots of them. */
interface Tree {
  name: string;
  sandboxId: string;
  listing: string;
  direct: unknown;
  ours: unknown;
}

async function prepared(world: World, name: string, files: Files): Promise<Tree> {
  const { sandboxId } = await world.call('workspaces/create', { name });
  await fill(world, sandboxId, files);
  const listing = await listed(world, sandboxId);
  const direct = await world.perform({ do: 'snapshot', side: 'direct', sandboxId });
  const ours = await world.perform({ do: 'snapshot', side: 'ours', sandboxId });
  return { name, sandboxId, listing, direct: direct.value, ours: ours.value };
}

/** The names and sizes of the files, in a few letters. To read the files would take minutes in an overlay. */
async function listed(world: World, sandboxId: string): Promise<string> {
  const list = `find . -type f -printf '%P %s\\n' | LC_ALL=C sort | sha256sum | cut -c 1-16`;
  return world.exec(sandboxId, `cd /workspace && ${list}`);
}

async function holds(world: World, sandboxId: string, { listing }: Tree) {
  if ((await listed(world, sandboxId)) !== listing)
    throw new Error('Other files were restored than captured.');
}

/** A workspace whose container has ended is started. */
async function workspace(world: World, tree: Tree, round: number) {
  const { millis } = await world.perform({
    do: 'call',
    method: 'workspaces/start',
    options: { name: tree.name },
  });
  if (round === 0) await holds(world, tree.sandboxId, tree);
  await world.end(tree.sandboxId);
  return { start: millis };
}

/** What the SDK does for the same: a restore. */
async function sandbox(world: World, { direct }: Tree) {
  const { millis, value } = await world.perform({ do: 'restore', side: 'direct', snapshot: direct });
  await world.end(value);
  return { start: millis };
}

/** What a stop takes, once for each side. */
async function stop(world: World, tree: Tree) {
  return { ours: [await stopped(world, tree)], direct: [await captured(world, tree)] };
}

/** How long a started workspace takes to be stopped. */
async function stopped(world: World, { name }: Tree): Promise<number> {
  await world.call('workspaces/start', { name });
  const { millis } = await world.perform({ do: 'call', method: 'workspaces/stop', options: { name } });
  return millis;
}

/** What the SDK does for the same: a backup, and the end of the sandbox. */
async function captured(world: World, { direct }: Tree): Promise<number> {
  const { value: sandboxId } = await world.perform({ do: 'restore', side: 'direct', snapshot: direct });
  const began = performance.now();
  const { value } = await world.perform({ do: 'snapshot', side: 'direct', sandboxId });
  await world.end(sandboxId);
  const millis = performance.now() - began;
  await world.perform({ do: 'remove', side: 'direct', snapshot: value });
  return millis;
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
