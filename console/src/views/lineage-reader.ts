// Reads a lineage, and which of its sandboxes are running.

import type { Tree, TreeSandbox } from '../../../client/src/index.ts';
import type { Read } from '../live.ts';
import { client } from '../session.ts';

/** Milliseconds between checks of which sandboxes are running. A check starts the Durable Object of each sandbox. */
const CHECK_INTERVAL = 60_000;

/**
 * Returns a function that reads the lineage of a sandbox. It checks which sandboxes are running on the first read, on a
 * refresh, after a new sandbox appeared, and once a minute. Other reads return the results of the last check.
 */
export function createLineageReader(sandboxId: string): Read<Tree> {
  const running = new Map<string, boolean | undefined>();
  let nextCheckAt = 0;
  return async (signal, isRefresh) => {
    const check = isRefresh || performance.now() >= nextCheckAt;
    const tree = await client.lineage({ sandboxId, check, signal, retry: false });
    const sandboxes = [...sandboxesOf(tree.root)];
    if (check) {
      running.clear();
      for (const sandbox of sandboxes) running.set(sandbox.sandboxId, sandbox.running);
      nextCheckAt = performance.now() + CHECK_INTERVAL;
      return tree;
    }
    for (const sandbox of sandboxes) {
      const lastResult = running.get(sandbox.sandboxId);
      if (lastResult !== undefined) sandbox.running = lastResult;
      if (!running.has(sandbox.sandboxId)) nextCheckAt = 0;
    }
    return tree;
  };
}

function* sandboxesOf(sandbox: TreeSandbox): Generator<TreeSandbox> {
  yield sandbox;
  for (const { derived } of sandbox.snapshots) for (const next of derived) yield* sandboxesOf(next);
}
