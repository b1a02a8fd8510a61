// Giving a snapshot another label.

import { useState } from 'preact/hooks';

import { useAction } from '../action.ts';
import { client } from '../session.ts';
import type { SnapshotNode } from '../tree/nodes.ts';
import { Ask } from '../ui/dialog.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { Name } from '../ui/name.tsx';

/** Asks for the label. */
export function Relabel({ node, onClose }: { node: SnapshotNode; onClose: () => void }) {
  const { sandboxId, snapshotId = '' } = node.selected;
  const [newLabel, setLabel] = useState(node.name);
  const [replace, setReplace] = useState(false);
  const title = (
    <>
      Labelling “<Name of={node.name} />”
    </>
  );
  const labelling = useAction(
    { verb: 'label', subject: node.id, title },
    async () => {
      await client.label({ sandboxId, snapshotId, newLabel, replace });
      const said = (
        <>
          The snapshot is called “<Name of={newLabel} />” now.
        </>
      );
      return { said };
    },
    onClose,
  );
  return (
    <Ask title="Label the snapshot" verb="Label it" action={labelling} onClose={onClose}>
      <TextField label="Label" value={newLabel} onValue={setLabel} required />
      <TickField
        label="Take the label from the snapshot that has it"
        checked={replace}
        onValue={setReplace}
      />
    </Ask>
  );
}
