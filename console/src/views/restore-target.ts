// The sandbox that a file of a snapshot is restored to.

import type { TreeSandbox, Workspace } from '../../../client/src/index.ts';
import type { ReadOptions } from '../live.ts';
import type { Selected } from '../routes.ts';
import { client } from '../session.ts';
import { createLineageReader, sandboxesOf } from './lineage-reader.ts';

/** A sandbox, and the workspace that it belongs to. */
export interface RestoreTarget {
  sandboxId: string;
  /** Absent if the sandbox belongs to no workspace. */
  workspace?: Workspace;
  /** Whether the sandbox is running, as far as it is known. */
  isRunning: boolean;
}

/**
 * Reads the target of a snapshot's files, and the directory that the snapshot contains.
 *
 * @param to The sandbox, if the user selected one. Otherwise that of {@link targetOf}.
 */
export async function readTarget(
  of: Required<Selected>,
  to: string | undefined,
  { signal }: Pick<ReadOptions, 'signal'>,
): Promise<RestoreTarget & { dir: string }> {
  const options = { signal, retry: false } as const;
  const sandboxId = to ?? of.sandboxId;
  const [{ dir }, tree] = await Promise.all([
    client.get({ ...of, ...options }),
    createLineageReader(sandboxId)(options, true),
  ]);
  const found = [...sandboxesOf(tree.root)].find((sandbox) => sandbox.sandboxId === sandboxId);
  const address = found?.workspace;
  const workspace = address && (await client.workspaces.getByName({ ...address, ...options }));
  return { dir, ...targetOf(found ?? { sandboxId }, workspace, to !== undefined) };
}

/**
 * Returns the present sandbox of the workspace that has or had a sandbox; the sandbox itself without a workspace, or if it
 * `isSelected`.
 */
export function targetOf(
  { sandboxId, running }: Pick<TreeSandbox, 'sandboxId' | 'running'>,
  workspace: Workspace | undefined,
  isSelected: boolean,
): RestoreTarget {
  if (!workspace || (isSelected && workspace.sandboxId !== sandboxId))
    return { sandboxId, isRunning: running !== false };
  const isRunning = workspace.state === 'active' && !workspace.containerEnded;
  return { sandboxId: workspace.sandboxId, workspace, isRunning };
}
