// What is asked before a checkpoint is made or gone back to.

import { useState } from 'preact/hooks';

import { useAction } from '../action.ts';
import { given, text } from '../options.ts';
import { client } from '../session.ts';
import { count } from '../texts.ts';
import { Ask } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { Name } from '../ui/name.tsx';

interface DialogProps {
  sandboxId: string;
  onDone: () => void;
  onClose: () => void;
}

/** Asks for a checkpoint that is to be made. */
export function MakeCheckpoint({ sandboxId, onDone, onClose }: DialogProps) {
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const title = (
    <>
      Making a checkpoint in <Name of={sandboxId} />
    </>
  );
  const making = useAction(
    { verb: 'create', subject: `checkpoints of ${sandboxId}`, title },
    async () => {
      const made = name.trim();
      const options = given({ sandboxId, name: made, description: text(description) });
      const { replaced } = await client.checkpoints.create(options);
      const said = (
        <>
          The checkpoint “<Name of={made} />” {replaced ? 'goes on to the files as they are now' : 'was made'}
          .
        </>
      );
      return { said };
    },
    () => (onDone(), onClose()),
  );
  return (
    <Ask title="Make a checkpoint" verb="Make it" action={making} onClose={onClose}>
      <p>
        Keeps the files of <Name of={sandboxId} /> as they are now, inside of it. A name that is there goes on
        to them.
      </p>
      <TextField
        label="Name"
        hint="Letters, digits and _ . - without blanks."
        value={name}
        onValue={setName}
        required
      />
      <TextField label="What it is of" value={description} onValue={setDescription} />
    </Ask>
  );
}

/** Asks whether to go back to a checkpoint. */
export function GoBack({ sandboxId, name, onDone, onClose }: DialogProps & { name: string }) {
  const called = (
    <>
      “<Name of={name} />”
    </>
  );
  const restoring = useAction(
    { verb: 'restore', subject: `checkpoints of ${sandboxId}`, title: <>Going back to {called}</> },
    async () => {
      const { changedCount } = await client.checkpoints.restore({ sandboxId, name });
      const changed = count(changedCount, 'path');
      return {
        said: (
          <>
            The files are as they were at {called}: {changed} changed.
          </>
        ),
      };
    },
    () => (onDone(), onClose()),
  );
  return (
    <Ask title={<>Go back to {called}?</>} verb="Go back" look="danger" action={restoring} onClose={onClose}>
      <p>
        The files of <Name of={sandboxId} /> are put back in place, as they were at the checkpoint. What was
        written since is undone.
      </p>
      <p class="hint">
        What is there now is kept as <code>refs/sandbox/before-restore</code> until the next time.
      </p>
    </Ask>
  );
}
