// Starts of a workspace whose container has ended, from each storage. In the column `container`, they are compared with plain
// calls of `ctx.container`, and in the others with direct calls of the class of the sandboxes.

import { randomUUID } from 'node:crypto';

import { modeOfRun } from '../../scripts/local.ts';
import type { Workspace } from '../../client/src/index.ts';
import { against, alternate, NAMES } from '../measure.ts';
import { compare, type Row } from '../results.ts';
import type { RawMethod } from '../workers/steps.ts';
import type { World } from '../world.ts';
import { assertListing, LISTING, type Tree } from './tree.ts';

type Storage = Workspace['storage'];

/** The maximum time, as a multiple of that of the baseline. */
const TARGET = 1.1;

/** A side of a comparison: starts a container with the files, and returns the time in milliseconds. */
type Start = (isFirst: boolean) => Promise<number>;

/** Measures starts of a stopped workspace from an archive. */
export async function archiveStarts(world: World, tree: Tree, runs: number): Promise<Row> {
  return compareStarts(world, tree, runs, 'archive');
}

/** Measures starts of a stopped workspace from a platform snapshot. Only the column `container` has them. */
export async function platformStarts(world: World, tree: Tree, runs: number): Promise<Row[]> {
  const rows: Row[] = [];
  if (modeOfRun() !== 'container') return rows;
  const { name } = tree;
  for (const storage of ['both', 'platform'] as const) {
    await world.call('workspaces/update', { name, storage, durable: storage === 'both' });
    await world.call('workspaces/start', { name });
    await world.call('workspaces/stop', { name });
    rows.push(await compareStarts(world, tree, runs, storage));
  }
  return rows;
}

async function compareStarts(world: World, tree: Tree, runs: number, storage: Storage): Promise<Row> {
  const baseline = modeOfRun() === 'container' ? 'raw' : 'direct';
  const start: Record<'ours' | 'baseline', Start> = {
    ours: (isFirst) => startWorkspace(world, tree, storage, isFirst),
    baseline: baseline === 'direct' ? () => startWithSdk(world, tree) : await rawStart(world, tree, storage),
  };
  const samples = await alternate(['ours', 'baseline'] as const, runs, async (side, round) => ({
    start: await start[side](round === 0),
  }));
  const suffix = storage === 'archive' ? '' : `, storage ${storage}`;
  const about = { measure: 'trees', name: `start of ${tree.files}${suffix}`, unit: 'ms', target: TARGET };
  return compare({ ...about, against: NAMES[baseline] }, against(samples['start']!, 'ours', 'baseline'));
}

/** Starts the workspace, and ends its container. */
async function startWorkspace(world: World, tree: Tree, storage: Storage, isFirst: boolean): Promise<number> {
  const options = { name: tree.name };
  const { millis, value } = await world.run({ do: 'call', method: 'workspaces/start', options });
  const used = (value as Workspace).restoredFrom?.storage;
  if (used !== (storage === 'archive' ? 'archive' : 'platform'))
    throw new Error(`A start with the storage ${storage} restored from ${used}.`);
  if (isFirst) await assertListing(world, tree.sandboxId, tree);
  await world.destroy(tree.sandboxId);
  return millis;
}

/** Does the same with the SDK: restores a backup. */
async function startWithSdk(world: World, { direct }: Tree): Promise<number> {
  const { millis, value } = await world.run({ do: 'restore', side: 'direct', snapshot: direct });
  await world.destroy(value);
  return millis;
}

/**
 * Does the same by plain calls of `ctx.container`: from the archive of the snapshotter, or from a platform snapshot of a container
 * with its files.
 */
async function rawStart(world: World, { ours, listing }: Tree, storage: Storage): Promise<Start> {
  const raw = () => {
    const id = `raw-${randomUUID().slice(0, 8)}`;
    return (method: RawMethod, ...args: unknown[]) => world.run({ do: 'raw', id, method, args });
  };
  const archive = `backups/${ours.ref.backup.id}/data.sqsh`;
  let how: [RawMethod, string] = ['restore', archive];
  if (storage !== 'archive') {
    const source = raw();
    await source('restore', archive);
    how = ['startFrom', (await source('snapshot')).value];
    await source('destroy');
  }
  return async (isFirst) => {
    const container = raw();
    const { millis } = await container(...how);
    if (isFirst && (await container('run', ['bash', '-c', LISTING])).value !== listing)
      throw new Error('The files of the plain calls differ from the captured files.');
    await container('destroy');
    return millis;
  };
}
