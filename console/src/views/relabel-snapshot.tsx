// Changes the label of a snapshot.

import { useState } from 'preact/hooks';

import { useAction } from '../action.ts';
import { client } from '../session.ts';
import type { SnapshotNode } from '../tree/nodes.ts';
import { ActionDialog } from '../ui/dialog.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { Name } from '../ui/name.tsx';

/** Asks for the new label, and changes it. */
export function Relabel({ node, onClose }: { node: SnapshotNode; onClose: () => void }) {
  const { sandboxId, snapshotId = '' } = node.selected;
  const [newLabel, setLabel] = useState(node.name);
  const [replace, setReplace] = useState(false);
  const title = (
    <>
      Labeling “<Name of={node.name} />”
    </>
  );
  const labeling = useAction(
    { operation: 'label', subject: node.id, title },
    async () => {
      await client.label({ sandboxId, snapshotId, newLabel, replace });
      const message = (
        <>
          The label is now “<Name of={newLabel} />
          ”.
        </>
      );
      return { message };
    },
    onClose,
  );
  return (
    <ActionDialog title="Label the snapshot" submitLabel="Save label" action={labeling} onClose={onClose}>
      <TextField label="Label" value={newLabel} onValue={setLabel} required />
      <TickField label="Take the label from another snapshot" checked={replace} onValue={setReplace} />
    </ActionDialog>
  );
}
