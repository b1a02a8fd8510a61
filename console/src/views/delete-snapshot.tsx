// Deleting a snapshot.

import { useEffect, useState } from 'preact/hooks';

import { SnapshotterError } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { client } from '../session.ts';
import { size } from '../texts.ts';
import type { SnapshotNode } from '../tree/nodes.ts';
import { Ask } from '../ui/dialog.tsx';
import { TickField } from '../ui/field.tsx';
import { Name } from '../ui/name.tsx';
import type { At } from './details.ts';

/** Asks whether to delete a snapshot. One that is needed or pinned goes by force alone, which is offered only after a refusal. */
export function DeleteSnapshot({ node, at, onClose }: { node: SnapshotNode; at: At; onClose: () => void }) {
  const { sandboxId, snapshotId = '' } = node.selected;
  const { dependents, pinned, sizeBytes } = node.snapshot;
  const [force, setForce] = useState(false);
  const title = (
    <>
      Deleting “<Name of={node.name} />”
    </>
  );
  const deleting = useAction(
    { verb: 'delete', subject: node.id, title },
    async () => {
      await client.delete({ sandboxId, snapshotId, ...(force ? { force } : {}) });
      const said = (
        <>
          The snapshot “<Name of={node.name} />” was deleted.
        </>
      );
      return { said, to: at({ selected: { sandboxId } }) };
    },
    onClose,
  );
  // A yes is to what was told when it was given.
  useEffect(() => setForce(false), [deleting.failure, pinned, dependents.join('\n')]);

  const needsForce =
    deleting.failure instanceof SnapshotterError && deleting.failure.code === 'SNAPSHOT_HAS_DEPENDENTS';
  const offer = needsForce && (
    <TickField
      label="Delete it all the same"
      hint={
        dependents.length > 0
          ? 'Whoever needs it loses the way back to these files.'
          : 'It was pinned so that it stays.'
      }
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
        <strong>
          <Name of={node.name} />
        </strong>{' '}
        of <Name of={sandboxId} />
        {sizeBytes !== undefined && `, ${size(sizeBytes)},`} is removed for good, with its objects in R2.
        Sandboxes that were made from it keep their files.
      </p>
      {pinned && <p>It is pinned: somebody wanted it to stay whatever the policy says.</p>}
      {dependents.length > 0 && (
        <>
          <p>It is needed by:</p>
          <ul aria-label="Dependents">
            {dependents.map((dependent) => (
              <li key={dependent}>
                <Name of={dependent} />
              </li>
            ))}
          </ul>
        </>
      )}
    </Ask>
  );
}
