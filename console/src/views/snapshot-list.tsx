// The snapshots of some sandboxes as a list, newest first, with bars that show what each one added.

import { size } from '../format.ts';
import { href } from '../routes.ts';
import { PARTIAL, snapshotsOf, STATE_LABELS, type Nodes, type SnapshotNode } from '../tree/nodes.ts';
import { Badge } from '../ui/badge.tsx';
import { Bar } from '../ui/bar.tsx';
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
  const most = Math.max(...listed.map((node) => bytesOf(node).own + bytesOf(node).shared));
  return (
    <>
      <ul class="flat plain" aria-label="Snapshots, newest first">
        {listed.map((node) => (
          <li key={node.id}>
            <Bar {...bytesOf(node)} most={most} />
            <Item of={node} current={current} link={href(placeFor({ selected: node.selected }))} />
          </li>
        ))}
      </ul>
      <p class="legend" aria-hidden="true">
        A bar shows the bytes that a snapshot added to R2, and in gray those of its base.
      </p>
    </>
  );
}

function Item({ of, current, link }: { of: SnapshotNode; current: string; link: string }) {
  const { name, selected, snapshot } = of;
  const { state, createdAt, cause, partial, pinned } = snapshot;
  const { own, shared } = bytesOf(of);
  return (
    <>
      <a href={link}>
        <bdi>{name}</bdi>
      </a>
      {STATE_LABELS[state] && <Badge>{STATE_LABELS[state]}</Badge>}
      <CauseBadge of={cause} />
      {partial && <Badge title={PARTIAL}>partial</Badge>}
      {pinned && <Badge icon="pin">pinned</Badge>}
      {selected.sandboxId !== current && (
        <span class="hint" title={selected.sandboxId}>
          of a former sandbox
        </span>
      )}
      <span class="hint">
        {snapshot.sizeBytes !== undefined &&
          `${size(own)}${shared > 0 ? ` and ${size(shared)} of its base` : ''}, `}
        {createdAt && <Time at={createdAt} />}
      </span>
    </>
  );
}

/** The bytes that a snapshot added to R2, and those of the base that it shares with other snapshots. */
function bytesOf({ snapshot: { sizeBytes: own = 0, totalBytes = own } }: SnapshotNode) {
  return { own, shared: totalBytes - own };
}
