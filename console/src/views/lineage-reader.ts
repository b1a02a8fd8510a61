// Reads a lineage, and which of its sandboxes are running.

import { SnapshotterError, type Tree, type TreeSandbox } from '../../../client/src/index.ts';
import type { Read, ReadOptions } from '../live.ts';
import type { Address } from '../routes.ts';
import { client } from '../session.ts';
import { ownsSandbox } from './workspace-operations.ts';

/** Milliseconds between checks of which sandboxes are running. A check starts the Durable Object of each sandbox. */
const CHECK_INTERVAL = 60_000;

/** The maximum number of workspaces that a check looks up. */
const MAX_LOOKUPS = 20;

/**
 * Returns a function that reads the lineage of a sandbox. It checks which sandboxes are running, and whether their workspaces
 * still exist, on the first read, on a refresh, after a new sandbox appeared, and once a minute. Other reads return the results
 * of the last check.
 */
export function createLineageReader(sandboxId: string): Read<Tree> {
  const running = new Map<string, boolean | undefined>();
  let orphans: ReadonlySet<string> = new Set();
  let nextCheckAt = 0;
  return async (options, isRefresh) => {
    const check = isRefresh || performance.now() >= nextCheckAt;
    const tree = await client.lineage({ sandboxId, check, ...options });
    const sandboxes = [...sandboxesOf(tree.root)];
    if (check) {
      running.clear();
      for (const sandbox of sandboxes) running.set(sandbox.sandboxId, sandbox.running);
      orphans = await findOrphans(sandboxes, options);
      nextCheckAt = performance.now() + CHECK_INTERVAL;
    }
    for (const sandbox of sandboxes) {
      const lastResult = running.get(sandbox.sandboxId);
      if (lastResult !== undefined) sandbox.running = lastResult;
      if (!running.has(sandbox.sandboxId)) nextCheckAt = 0;
      if (orphans.has(sandbox.sandboxId)) delete sandbox.workspace;
    }
    return tree;
  };
}

/** Returns the ids of the sandboxes whose workspaces were deleted. Their ledgers keep the names of the workspaces. */
async function findOrphans(sandboxes: TreeSandbox[], options: ReadOptions): Promise<ReadonlySet<string>> {
  const bound = sandboxes.flatMap((sandbox) =>
    sandbox.workspace ? [{ sandbox, workspace: sandbox.workspace }] : [],
  );
  const found = await Promise.all(
    bound.slice(0, MAX_LOOKUPS).map(async ({ sandbox, workspace }) => {
      const { sandboxId } = sandbox;
      try {
        if (!sandbox.running && !(await isListed(workspace, options))) return [sandboxId];
        const named = await client.workspaces.getByName({ ...workspace, ...options });
        return ownsSandbox(named, sandboxId) ? [] : [sandboxId];
      } catch (thrown) {
        return thrown instanceof SnapshotterError && thrown.kind === 'not_found' ? [sandboxId] : [];
      }
    }),
  );
  return new Set(found.flat());
}

/** Whether a workspace is listed. A new one is listed a moment later; unlike a call with the name, this one does not fail. */
export async function isListed(
  { name, ...tenant }: Partial<Address> & Pick<Address, 'name'>,
  options: Pick<ReadOptions, 'signal'>,
) {
  const { workspaces } = await client.workspaces.list({ ...tenant, prefix: name, limit: 1, ...options });
  return workspaces[0]?.name === name;
}

/** Returns the sandboxes of a tree, from a sandbox on. */
export function* sandboxesOf(sandbox: TreeSandbox): Generator<TreeSandbox> {
  yield sandbox;
  for (const { derived } of sandbox.snapshots) for (const next of derived) yield* sandboxesOf(next);
}
