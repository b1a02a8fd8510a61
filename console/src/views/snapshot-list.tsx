// The snapshots of some sandboxes as a list, newest first, with bars that show what each one added. Similar ones are shortened.

import { size } from '../format.ts';
import { href } from '../routes.ts';
import { CAUSES } from '../tree/causes.ts';
import { PARTIAL, snapshotsOf, STATE_LABELS, type Nodes, type SnapshotNode } from '../tree/nodes.ts';
import { Badge } from '../ui/badge.tsx';
import { Bar } from '../ui/bar.tsx';
import { CauseBadge } from '../ui/cause-badge.tsx';
import { Time } from '../ui/facts.tsx';
import { Shortened } from '../ui/shortened.tsx';
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
      <p class="legend">Bars show the bytes that a snapshot added to R2, and in gray those of its base.</p>
      <ul class="flat plain" aria-label="Snapshots, newest first">
        <Shortened of={listed} keyOf={similarity} rest={describe}>
          {(node) => (
            <>
              <Bar {...bytesOf(node)} most={most} title={storedBytes(node)} />
              <Item of={node} current={current} link={href(placeFor({ selected: node.selected }))} />
            </>
          )}
        </Shortened>
      </ul>
    </>
  );
}

/** The beginning of the labels that the Worker generates. */
const GENERATED = 'snap-';

/** Returns what similar snapshots share: their cause. Undefined for one that a caller took, labeled or pinned. */
function similarity({ name, snapshot: { cause, state, partial, pinned } }: SnapshotNode): string | undefined {
  const isPlain = state === 'ready' && !partial && !pinned && name.startsWith(GENERATED);
  return isPlain && cause && CAUSES[cause] ? cause : undefined;
}

/** Describes similar snapshots: their number, their cause, what they added, and when the first one was taken. */
function describe(nodes: SnapshotNode[]) {
  const { cause, createdAt } = nodes.at(-1)?.snapshot ?? {};
  const added = nodes.reduce((sum, node) => sum + bytesOf(node).own, 0);
  return (
    <>
      {nodes.length} more {cause && CAUSES[cause]?.text}, {size(added)}
      {createdAt && (
        <>
          , since <Time at={createdAt} />
        </>
      )}
    </>
  );
}

function Item({ of, current, link }: { of: SnapshotNode; current: string; link: string }) {
  const { name, selected, snapshot } = of;
  const { state, createdAt, cause, partial, pinned } = snapshot;
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
        {snapshot.sizeBytes !== undefined && `${storedBytes(of)}, `}
        {createdAt && <Time at={createdAt} />}
      </span>
    </>
  );
}

function storedBytes(node: SnapshotNode): string {
  const { own, shared } = bytesOf(node);
  return `${size(own)}${shared > 0 ? ` and ${size(shared)} of its base` : ''}`;
}

/** The bytes that a snapshot added to R2, and those of the base that it shares with other snapshots. */
function bytesOf({ snapshot: { sizeBytes: own = 0, totalBytes = own } }: SnapshotNode) {
  return { own, shared: totalBytes - own };
}
