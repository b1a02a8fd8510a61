// Which deletions the Worker would refuse.

import type { Workspace } from '../../../client/src/index.ts';
import { count } from '../format.ts';
import { nodeId, type Nodes, type SnapshotNode } from '../tree/nodes.ts';

/**
 * Returns why the Worker refuses to delete a snapshot, and what to do first; undefined if it does not.
 *
 * @param present The workspace that the page is about.
 */
export function refusalOf(
  { selected, snapshot }: SnapshotNode,
  nodes: Nodes,
  present?: Workspace,
): string | undefined {
  const { pinned, dependents } = snapshot;
  const reasons = [
    ...(pinned ? ['it is pinned: unpin it first'] : []),
    ...(dependents.length > 0
      ? [`${needs(dependents.length)}: take a snapshot of each sandbox that depends on it first`]
      : []),
    ...onlyCopy(selected, nodes, present),
  ];
  return reasons.length > 0 ? `It can’t be deleted, because ${reasons.join(', and because ')}.` : undefined;
}

function needs(dependents: number): string {
  return `${count(dependents, 'sandbox', 'sandboxes')} ${dependents === 1 ? 'depends' : 'depend'} on it`;
}

/** The next start of a workspace restores the newest snapshot of its sandbox; a container can end at any time. */
function onlyCopy(
  { sandboxId, snapshotId }: SnapshotNode['selected'],
  nodes: Nodes,
  present: Workspace | undefined,
): string[] {
  const node = nodes.get(nodeId({ sandboxId }));
  if (node?.kind !== 'sandbox' || present?.formerSandboxIds.includes(sandboxId)) return [];
  const { workspace, running, snapshots } = node.sandbox;
  const [newest, older] = snapshots.filter(({ state }) => state === 'ready');
  if (!workspace || newest?.snapshotId !== snapshotId) return [];
  const { name } = workspace;
  if (running !== false)
    return older ? [] : [`it is the only one that the workspace ${name} can start from: take another first`];
  const origin = nodes.get(node.parentId ?? '');
  const remains = older ?? (origin?.kind === 'snapshot' && origin.snapshot.state === 'ready');
  return remains
    ? [`it has the only copy of the files of the stopped workspace ${name}: start it first`]
    : [`nothing would remain to restore the stopped workspace ${name} from: start it first`];
}
