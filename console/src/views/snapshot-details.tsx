// What is known of a snapshot, and what can be done with it.

import { useLive } from '../live.ts';
import { client } from '../session.ts';
import { PASSING, type SnapshotNode } from '../tree/nodes.ts';
import { Badge } from '../ui/badge.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Name } from '../ui/name.tsx';
import type { DetailsProps } from './details.ts';
import { ManifestFacts } from './manifest.tsx';
import { SnapshotActions } from './snapshot-actions.tsx';

/** The details of a snapshot: its actions, and its manifest. */
export function SnapshotDetails({ node, at }: DetailsProps<SnapshotNode>) {
  const { state, pinned, dependents } = node.snapshot;
  const { sandboxId, snapshotId = '' } = node.selected;
  const live = useLive(`manifest of ${node.id}`, (signal) =>
    client.manifest({ sandboxId, snapshotId, signal, retry: false }),
  );
  const passing = PASSING[state];
  return (
    <>
      <header class="details-head">
        <p class="kind">
          Snapshot of <Name of={sandboxId} />
        </p>
        <h2>
          <Name of={node.name} />
        </h2>
        {passing && <Badge tone={state === 'creating' ? 'busy' : 'plain'}>{passing}</Badge>}
        {pinned && (
          <Badge tone="accent" icon="pin">
            pinned
          </Badge>
        )}
        {dependents.length > 0 && <Badge icon="needed">needed by {dependents.length}</Badge>}
      </header>
      {state === 'ready' && <SnapshotActions node={node} at={at} />}
      <Loaded of={live} reading="Reading the manifest…">
        {(manifest) => <ManifestFacts of={manifest} at={at} />}
      </Loaded>
    </>
  );
}
