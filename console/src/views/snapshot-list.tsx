// The snapshots of some sandboxes as a list, newest first.

import { size } from '../format.ts';
import { href } from '../routes.ts';
import { snapshotsOf, STATE_LABELS, type Nodes } from '../tree/nodes.ts';
import { Badge } from '../ui/badge.tsx';
import { CauseBadge } from '../ui/cause-badge.tsx';
import { Time } from '../ui/facts.tsx';
import type { PlaceFor } from './details.ts';

/** The snapshots of a sandbox, and of the former ones of its workspace. */
export function SnapshotList({
  nodes,
  current,
  former,
  placeFor,
}: {
  nodes: Nodes;
  current: string;
  former: string[];
  placeFor: PlaceFor;
}) {
  const sandboxes = new Set([current, ...former]);
  const listed = snapshotsOf(nodes).filter(
    ({ selected, snapshot }) => sandboxes.has(selected.sandboxId) && snapshot.state !== 'deleted',
  );
  if (listed.length === 0) return <p class="empty">No snapshots yet.</p>;
  return (
    <ul class="flat plain" aria-label="Snapshots, newest first">
      {listed.map(({ id, name, selected, snapshot: { state, sizeBytes, createdAt, cause, pinned } }) => (
        <li key={id}>
          <a href={href(placeFor({ selected }))}>
            <bdi>{name}</bdi>
          </a>
          {STATE_LABELS[state] && <Badge>{STATE_LABELS[state]}</Badge>}
          <CauseBadge of={cause} />
          {pinned && <Badge icon="pin">pinned</Badge>}
          {selected.sandboxId !== current && (
            <span class="mono hint" title={selected.sandboxId}>
              {selected.sandboxId}
            </span>
          )}
          <span class="hint">
            {sizeBytes !== undefined && `${size(sizeBytes)}, `}
            {createdAt && <Time at={createdAt} />}
          </span>
        </li>
      ))}
    </ul>
  );
}
