// Reading a lineage, and which of its sandboxes run.

import type { Tree, TreeSandbox } from '../../../client/src/index.ts';
import type { Read } from '../live.ts';
import { client } from '../session.ts';

/** Milliseconds for which it is not asked again by itself which sandboxes run: asking wakes the Durable Object of each. */
const EVERY = 60_000;

/**
 * Reads the lineage of a sandbox. It is asked at first, on demand, where there is a sandbox of which it was not, and after a
 * minute, which of them run; in between they are told as they were then.
 */
export function lineageReading(sandboxId: string): Read<Tree> {
  const running = new Map<string, boolean | undefined>();
  let due = 0;
  return async (signal, isAsked) => {
    const check = isAsked || performance.now() >= due;
    const tree = await client.lineage({ sandboxId, check, signal, retry: false });
    const sandboxes = [...sandboxesOf(tree.root)];
    if (check) {
      running.clear();
      for (const sandbox of sandboxes) running.set(sandbox.sandboxId, sandbox.running);
      due = performance.now() + EVERY;
      return tree;
    }
    for (const sandbox of sandboxes) {
      const was = running.get(sandbox.sandboxId);
      if (was !== undefined) sandbox.running = was;
      if (!running.has(sandbox.sandboxId)) due = 0;
    }
    return tree;
  };
}

function* sandboxesOf(sandbox: TreeSandbox): Generator<TreeSandbox> {
  yield sandbox;
  for (const { derived } of sandbox.snapshots) for (const next of derived) yield* sandboxesOf(next);
}
