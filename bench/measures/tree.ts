// The files that a measure captures, restores and starts.

import type { SnapshotRef } from '../../client/src/index.ts';
import { fill, type Files } from '../measure.ts';
import type { World } from '../world.ts';

/** A workspace with files, and snapshots of them. */
export interface Tree {
  name: string;
  /** The name of its files in the results. */
  files: string;
  sandboxId: string;
  listing: string;
  direct: unknown;
  ours: SnapshotRef;
}

/** Creates a workspace, fills it, and captures it with each side. */
export async function prepare(world: World, name: string, files: Files): Promise<Tree> {
  const { sandboxId } = await world.call('workspaces/create', { name });
  await fill(world, sandboxId, files);
  const listing = await digestOfListing(world, sandboxId);
  const direct = await world.run({ do: 'snapshot', side: 'direct', sandboxId });
  const ours = await world.run({ do: 'snapshot', side: 'ours', sandboxId });
  return { name, files: files.name, sandboxId, listing, direct: direct.value, ours: ours.value };
}

/** A shell command that prints a digest of the names and sizes of the files. The content is not read, because that takes minutes in an overlay. */
export const LISTING = `cd /workspace && find . -type f -printf '%P %s\\n' | LC_ALL=C sort | sha256sum | cut -c 1-16`;

async function digestOfListing(world: World, sandboxId: string): Promise<string> {
  return world.exec(sandboxId, LISTING);
}

/** Throws unless a sandbox has the files. */
export async function assertListing(world: World, sandboxId: string, { listing }: Tree) {
  if ((await digestOfListing(world, sandboxId)) !== listing)
    throw new Error('The restored files differ from the captured files.');
}
