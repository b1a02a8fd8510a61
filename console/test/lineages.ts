// Fixtures: lineages of sandboxes and snapshots.

import type { TreeSandbox, TreeSnapshot, Workspace } from '../../client/src/index.ts';
import type { Nodes, SnapshotNode } from '../src/tree/nodes.ts';
import './page.ts';

const { nodeId, nodesOf } = await import('../src/tree/nodes.ts');

/** Returns a sandbox with snapshots. It belongs to the workspace `of`. */
export function sandbox(
  sandboxId: string,
  snapshots: TreeSnapshot[] = [],
  { of, ...rest }: Partial<TreeSandbox> & { of?: string } = {},
): TreeSandbox {
  return { sandboxId, snapshots, running: true, ...(of && { workspace: { name: of } }), ...rest };
}

/** Returns a snapshot from which sandboxes were created. Its label is its id if the changes have none. */
export function snapshot(
  snapshotId: string,
  derived: TreeSandbox[] = [],
  changes: Partial<TreeSnapshot> = {},
): TreeSnapshot {
  return { snapshotId, state: 'ready', pinned: false, dependents: [], derived, ...changes };
}

/** Returns the nodes of a lineage. */
export function lineage(root: TreeSandbox): Nodes {
  return nodesOf({ root, sandboxes: 1, truncated: false });
}

/** Returns the node of a snapshot. */
export function find(nodes: Nodes, sandboxId: string, snapshotId: string): SnapshotNode {
  const node = nodes.get(nodeId({ sandboxId, snapshotId }));
  if (node?.kind !== 'snapshot') throw new Error(`${snapshotId} is not in the lineage`);
  return node;
}

/** Returns the workspace that a page is about. */
export function workspace(name: string, sandboxId: string, formerSandboxIds: string[] = []): Workspace {
  return { name, tenant: 'default', sandboxId, formerSandboxIds } as unknown as Workspace;
}
