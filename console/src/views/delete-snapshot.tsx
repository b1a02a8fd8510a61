// Deletes a snapshot.

import { useEffect, useState } from 'preact/hooks';

import { SnapshotterError } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { client } from '../session.ts';
import { size } from '../format.ts';
import type { SnapshotNode } from '../tree/nodes.ts';
import { ActionDialog } from '../ui/dialog.tsx';
import { TickField } from '../ui/field.tsx';
import { Name } from '../ui/name.tsx';
import type { PlaceFor } from './details.ts';

/** Asks the user to confirm, and deletes a snapshot. Offers the forced deletion only after a refusal. */
export function DeleteSnapshot({
  node,
  placeFor,
  onClose,
}: {
  node: SnapshotNode;
  placeFor: PlaceFor;
  onClose: () => void;
}) {
  const { sandboxId, snapshotId = '' } = node.selected;
  const { dependents, pinned, sizeBytes } = node.snapshot;
  const [force, setForce] = useState(false);
  const title = (
    <>
      Deleting “<Name of={node.name} />”
    </>
  );
  const deleting = useAction(
    { operation: 'delete', subject: node.id, title },
    async () => {
      await client.delete({ sandboxId, snapshotId, ...(force ? { force } : {}) });
      const message = (
        <>
          The snapshot “<Name of={node.name} />” was deleted.
        </>
      );
      return { message, to: placeFor({ selected: { sandboxId } }) };
    },
    onClose,
  );
  // The confirmation applies only to the state that the dialog showed.
  useEffect(() => setForce(false), [deleting.failure, pinned, dependents.join('\n')]);

  const needsForce =
    deleting.failure instanceof SnapshotterError && deleting.failure.code === 'SNAPSHOT_HAS_DEPENDENTS';
  const forceField = needsForce && (
    <TickField
      label="Delete anyway"
      hint={
        dependents.length > 0 ? 'Its dependents have no other snapshot.' : pinned && 'The snapshot is pinned.'
      }
      checked={force}
      onValue={setForce}
    />
  );
  return (
    <ActionDialog
      title="Delete the snapshot?"
      submitLabel={force ? 'Force delete' : 'Delete'}
      variant="danger"
      action={deleting}
      onClose={onClose}
      onFailure={forceField}
    >
      <p>
        <strong>
          <Name of={node.name} />
        </strong>{' '}
        of <Name of={sandboxId} />
        {sizeBytes !== undefined && `, ${size(sizeBytes)},`} is deleted permanently, with its objects in R2.
        Running sandboxes that were created from it keep their files.
      </p>
      {pinned && <p>The snapshot is pinned.</p>}
      {dependents.length > 0 && (
        <>
          <p>These sandboxes depend on it:</p>
          <ul aria-label="Dependents">
            {dependents.map((dependent) => (
              <li key={dependent}>
                <Name of={dependent} />
              </li>
            ))}
          </ul>
        </>
      )}
    </ActionDialog>
  );
}
