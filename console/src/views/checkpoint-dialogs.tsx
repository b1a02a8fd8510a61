// Dialogs that create and restore checkpoints.

import { useState } from 'preact/hooks';

import { useAction } from '../action.ts';
import { defined, text } from '../options.ts';
import { client } from '../session.ts';
import { count } from '../format.ts';
import { ActionDialog } from '../ui/dialog.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { Name } from '../ui/name.tsx';

interface DialogProps {
  sandboxId: string;
  onClose: () => void;
}

/** Asks for the name of a checkpoint, and creates it. */
export function CreateCheckpoint({ sandboxId, onDone, onClose }: DialogProps & { onDone: () => void }) {
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const title = (
    <>
      Creating a checkpoint in <Name of={sandboxId} />
    </>
  );
  const creating = useAction(
    { operation: 'create', subject: `checkpoints of ${sandboxId}`, title },
    async () => {
      const created = name.trim();
      const options = defined({ sandboxId, name: created, description: text(description) });
      const { replaced } = await client.checkpoints.create(options);
      const message = (
        <>
          The checkpoint “<Name of={created} />” was {replaced ? 'replaced' : 'created'}.
        </>
      );
      return { message };
    },
    () => (onDone(), onClose()),
  );
  return (
    <ActionDialog title="Create a checkpoint" submitLabel="Create" action={creating} onClose={onClose}>
      <p>
        Saves the present files of <Name of={sandboxId} /> inside the sandbox. Replaces a checkpoint that has
        this name.
      </p>
      <TextField
        label="Name"
        hint="Letters, digits and _ . - without spaces."
        value={name}
        onValue={setName}
        required
      />
      <TextField label="Description" value={description} onValue={setDescription} />
    </ActionDialog>
  );
}

/** The checkpoint with the files from before the restore of another one. */
const BEFORE = 'before-restore';

/** Asks the user to confirm, and restores a checkpoint in place. Keeps the present files as another checkpoint. */
export function RestoreCheckpoint({
  sandboxId,
  name,
  onDone,
  onClose,
}: DialogProps & { name: string; onDone: () => void }) {
  const [keeps, setKeeps] = useState(true);
  const before = name === BEFORE ? `${BEFORE}-2` : BEFORE;
  const quotedName = (
    <>
      “<Name of={name} />”
    </>
  );
  const restoring = useAction(
    { operation: 'restore', subject: `checkpoints of ${sandboxId}`, title: <>The restore of {quotedName}</> },
    async () => {
      if (keeps)
        await client.checkpoints.create({
          sandboxId,
          name: before,
          description: `Before the restore of ${name}`,
        });
      const { changedCount } = await client.checkpoints.restore({ sandboxId, name });
      const changed = count(changedCount, 'path');
      return {
        message: (
          <>
            The checkpoint {quotedName} was restored: {changed} changed.
            {keeps && ` To undo that, restore “${before}”.`}
          </>
        ),
      };
    },
    () => (onDone(), onClose()),
  );
  return (
    <ActionDialog
      title={<>Restore {quotedName}?</>}
      submitLabel="Restore checkpoint"
      variant="danger"
      action={restoring}
      onClose={onClose}
    >
      <p>
        Restores the files of <Name of={sandboxId} /> in place. Changes since the checkpoint are undone.
      </p>
      <TickField
        label={`Keep the present files as the checkpoint “${before}”`}
        checked={keeps}
        onValue={setKeeps}
      />
    </ActionDialog>
  );
}
