// Deleting a snapshot.

import { useState } from 'preact/hooks';

import { SnapshotterError } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { refresh } from '../live.ts';
import { go } from '../routes.ts';
import { client } from '../session.ts';
import { size } from '../texts.ts';
import type { SnapshotNode } from '../tree/nodes.ts';
import { Ask } from '../ui/dialog.tsx';
import { TickField } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import type { DetailsProps } from './lineage.tsx';

/** Asks whether to delete a snapshot. One that is held goes by force alone, which is offered only after a refusal. */
export function DeleteSnapshot({
  node,
  at,
  onClose,
}: {
  node: SnapshotNode;
  at: DetailsProps['at'];
  onClose: () => void;
}) {
  const { sandboxId, snapshotId = '' } = node.selected;
  const { holders, pinned, sizeBytes } = node.snapshot;
  const [force, setForce] = useState(false);
  const deleting = useAction(async () => {
    await client.delete({ sandboxId, snapshotId, ...(force ? { force } : {}) });
    await refresh();
    announce(`The snapshot “${node.name}” was deleted.`);
    go(at({ selected: { sandboxId } }));
  });
  const isHeld = deleting.failure instanceof SnapshotterError && deleting.failure.code === 'SNAPSHOT_HELD';
  const offer = isHeld && (
    <TickField
      label="Delete it all the same"
      hint="Whoever needs it loses the way back to these files."
      checked={force}
      onValue={setForce}
    />
  );
  return (
    <Ask
      title="Delete the snapshot?"
      verb={force ? 'Delete by force' : 'Delete'}
      look="danger"
      action={deleting}
      onClose={onClose}
      onFailure={offer}
    >
      <p>
        <strong>{node.name}</strong> of {sandboxId}
        {sizeBytes !== undefined && `, ${size(sizeBytes)},`} is removed for good, with its objects in R2.
        Sandboxes that were made from it keep their files.
      </p>
      {pinned && <p>It is pinned.</p>}
      {holders.length > 0 && (
        <>
          <p>It is needed by:</p>
          <ul aria-label="Holders">
            {holders.map((holder) => (
              <li key={holder}>{holder}</li>
            ))}
          </ul>
        </>
      )}
    </Ask>
  );
}
