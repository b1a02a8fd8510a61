// Deletes a snapshot.

import { useEffect, useState } from 'preact/hooks';

import { SnapshotterError } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { client } from '../session.ts';
import { count, size } from '../format.ts';
import type { SnapshotNode } from '../tree/nodes.ts';
import { ActionDialog } from '../ui/dialog.tsx';
import { Time } from '../ui/facts.tsx';
import { TickField } from '../ui/field.tsx';
import { Name } from '../ui/name.tsx';
import { Remark } from '../ui/remark.tsx';
import type { PlaceFor } from './details.ts';

/** Asks the user to confirm, and deletes a snapshot. Requires a second confirmation if the Worker refuses the deletion. */
export function DeleteSnapshot({
  node,
  refusal,
  placeFor,
  onClose,
}: {
  node: SnapshotNode;
  /** Why the Worker refuses the deletion; undefined if it is not known to. */
  refusal: string | undefined;
  placeFor: PlaceFor;
  onClose: () => void;
}) {
  const { sandboxId, snapshotId = '' } = node.selected;
  const { createdAt, dependents, sizeBytes } = node.snapshot;
  const [force, setForce] = useState(false);
  const title = (
    <>
      Deleting “<Name of={node.name} />”
    </>
  );
  const deleting = useAction(
    { operation: 'delete', subject: node.id, title },
    async () => {
      const { kept } = await client.delete({ sandboxId, snapshotId, ...(force ? { force } : {}) });
      const message = (
        <>
          The snapshot “<Name of={node.name} />” was deleted.
          {kept &&
            ` Its archive, ${size(kept.bytes)}, stays in R2 until its ${count(kept.deltas.length, 'delta')} are deleted.`}
        </>
      );
      return { message, to: placeFor({ selected: { sandboxId } }) };
    },
    onClose,
  );
  // The confirmation applies only to the state that the dialog showed.
  useEffect(() => setForce(false), [deleting.failure, refusal, dependents.join('\n')]);

  const wasRefused =
    deleting.failure instanceof SnapshotterError && deleting.failure.code === 'SNAPSHOT_HAS_DEPENDENTS';
  const forceField = (
    <TickField
      label="Delete anyway"
      hint={dependents.length > 0 && 'Its dependents have no other snapshot.'}
      checked={force}
      onValue={setForce}
    />
  );
  return (
    <ActionDialog
      title="Delete the snapshot?"
      submitLabel={force ? 'Force delete' : 'Delete'}
      variant="danger"
      disabled={refusal !== undefined && !force}
      action={deleting}
      onClose={onClose}
      onFailure={refusal === undefined && wasRefused && forceField}
    >
      <p>
        <strong>
          <Name of={node.name} />
        </strong>{' '}
        of <Name of={sandboxId} />
        {createdAt && (
          <>
            , taken <Time at={createdAt} />
          </>
        )}
        {sizeBytes !== undefined && `, ${size(sizeBytes)}`}, is deleted permanently, with its objects in R2.
        Running sandboxes that were created from it keep their files.
      </p>
      {refusal && <Remark>{refusal}</Remark>}
      {dependents.length > 0 && (
        <ul aria-label="Dependents">
          {dependents.map((dependent) => (
            <li key={dependent}>
              <Name of={dependent} />
            </li>
          ))}
        </ul>
      )}
      {refusal && forceField}
    </ActionDialog>
  );
}
