// Creates a workspace.

import { useState } from 'preact/hooks';

import { useAction } from '../action.ts';
import { create } from '../idempotency.ts';
import { defined, text } from '../options.ts';
import { ActionDialog } from '../ui/dialog.tsx';
import { DurationField } from '../ui/duration.tsx';
import { MoreFields, TextField, TickField } from '../ui/field.tsx';
import { Name } from '../ui/name.tsx';

/** The rule for the names of workspaces. */
const NAME_RULE = '1 to 63 letters, digits, “_”, “.” and “-”. The first is not “.” or “-”.';

/** Asks for the settings of a workspace, and creates it. */
export function CreateWorkspace({
  tenant,
  initialName = '',
  onClose,
}: {
  tenant: string;
  initialName?: string;
  onClose: () => void;
}) {
  const [name, setName] = useState(initialName);
  const [source, setSource] = useState('');
  const [dir, setDir] = useState('');
  const [persistent, setPersistent] = useState(true);
  const [idleSeconds, setIdle] = useState<number>();
  const title = (
    <>
      Creating a workspace of <Name of={tenant} />
    </>
  );
  const creating = useAction(
    { operation: 'create', subject: `workspaces of ${tenant}`, title },
    async () => {
      const created = name.trim();
      await create('workspaces/create', {
        tenant,
        name: created,
        ...defined({
          sourceWorkspace: text(source),
          dir: text(dir),
          persistent: persistent ? undefined : false,
          expiry: idleSeconds === undefined ? undefined : { idleSeconds },
        }),
      });
      const message = (
        <>
          The workspace <Name of={created} /> was created.
        </>
      );
      return { message, to: { at: 'workspace', tenant, name: created }, isNew: true };
    },
    onClose,
  );
  return (
    <ActionDialog title="New workspace" submitLabel="Create" action={creating} onClose={onClose}>
      <TextField
        label="Name"
        hint={
          <>
            Unique among the workspaces of <Name of={tenant} />. {NAME_RULE}
          </>
        }
        value={name}
        onValue={setName}
        required
        pattern="\s*\w[\w.\-]{0,62}\s*"
        patternError={`“${name}” is not a valid name.`}
      />
      <TextField
        label="Source workspace"
        hint="Starts with its present files. Leave empty to start without files."
        value={source}
        onValue={setSource}
      />
      <MoreFields>
        <TextField
          label="Directory"
          hint="The directory that persists. Leave empty for the default, usually /workspace."
          value={dir}
          onValue={setDir}
        />
        <DurationField
          label="Stops when idle for"
          absent="10 minutes"
          value={idleSeconds}
          onValue={setIdle}
        />
        <TickField
          label="Persistent"
          hint="Otherwise a stop takes no snapshot, and the files are lost."
          checked={persistent}
          onValue={setPersistent}
        />
      </MoreFields>
    </ActionDialog>
  );
}
