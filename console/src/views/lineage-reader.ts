// Reads a lineage, and which of its sandboxes are running.

import { SnapshotterError, type Tree, type TreeSandbox } from '../../../client/src/index.ts';
import type { Read } from '../live.ts';
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
  return async (signal, isRefresh) => {
    const check = isRefresh || performance.now() >= nextCheckAt;
    const tree = await client.lineage({ sandboxId, check, signal, retry: false });
    const sandboxes = [...sandboxesOf(tree.root)];
    if (check) {
      running.clear();
      for (const sandbox of sandboxes) running.set(sandbox.sandboxId, sandbox.running);
      orphans = await findOrphans(sandboxes, signal);
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
async function findOrphans(sandboxes: TreeSandbox[], signal: AbortSignal): Promise<ReadonlySet<string>> {
  const bound = sandboxes.flatMap(({ sandboxId, workspace }) =>
    workspace ? [{ sandboxId, workspace }] : [],
  );
  const found = await Promise.all(
    bound.slice(0, MAX_LOOKUPS).map(async ({ sandboxId, workspace }) => {
      try {
        const named = await client.workspaces.getByName({ ...workspace, signal, retry: false });
        return ownsSandbox(named, sandboxId) ? [] : [sandboxId];
      } catch (thrown) {
        return thrown instanceof SnapshotterError && thrown.kind === 'not_found' ? [sandboxId] : [];
      }
    }),
  );
  return new Set(found.flat());
}

/** Returns the sandboxes of a tree, from a sandbox on. */
export function* sandboxesOf(sandbox: TreeSandbox): Generator<TreeSandbox> {
  yield sandbox;
  for (const { derived } of sandbox.snapshots) for (const next of derived) yield* sandboxesOf(next);
}
