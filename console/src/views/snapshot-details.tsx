// The details of a snapshot, and its actions.

import { count } from '../format.ts';
import { useLive } from '../live.ts';
import { client } from '../session.ts';
import { PARTIAL, STATE_LABELS, type SnapshotNode } from '../tree/nodes.ts';
import { Badge } from '../ui/badge.tsx';
import { CauseBadge } from '../ui/cause-badge.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Name } from '../ui/name.tsx';
import type { DetailsProps } from './details.ts';
import { ManifestFacts } from './manifest.tsx';
import { SnapshotActions } from './snapshot-actions.tsx';

/** The details of a snapshot: its actions, and its manifest. */
export function SnapshotDetails(props: DetailsProps<SnapshotNode>) {
  const { node, placeFor } = props;
  const { state, partial, pinned, dependents } = node.snapshot;
  const { sandboxId, snapshotId = '' } = node.selected;
  const live = useLive(`manifest of ${node.id}`, (options) =>
    client.manifest({ sandboxId, snapshotId, ...options }),
  );
  const stateLabel = STATE_LABELS[state];
  return (
    <>
      <header class="details-head">
        <p class="kind">
          Snapshot of <Name of={sandboxId} />
        </p>
        <h2>
          <Name of={node.name} />
        </h2>
        {stateLabel && <Badge tone={state === 'creating' ? 'busy' : 'plain'}>{stateLabel}</Badge>}
        <CauseBadge of={node.snapshot.cause} />
        {partial && <Badge title={PARTIAL}>partial</Badge>}
        {pinned && (
          <Badge tone="accent" icon="pin">
            pinned
          </Badge>
        )}
        {dependents.length > 0 && <Badge icon="dependent">{count(dependents.length, 'dependent')}</Badge>}
      </header>
      {state === 'ready' && <SnapshotActions {...props} />}
      <Loaded of={live} loading="Loading the manifest…">
        {(manifest) => <ManifestFacts of={manifest} placeFor={placeFor} />}
      </Loaded>
    </>
  );
}
