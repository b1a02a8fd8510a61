// Counts the snapshots of a lineage.

import { count } from '../format.ts';
import { snapshotsOf, type Nodes } from '../tree/nodes.ts';

/** Returns the numbers of existing and of deleted snapshots. A deleted one is in the tree if sandboxes were created from it. */
export function snapshotCounts(nodes: Nodes): string {
  const snapshots = snapshotsOf(nodes);
  const deleted = snapshots.filter(({ snapshot }) => snapshot.state === 'deleted').length;
  return `${count(snapshots.length - deleted, 'snapshot')}${deleted > 0 ? `, ${deleted} deleted` : ''}`;
}
