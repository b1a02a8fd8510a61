// Making a workspace.

import { useState } from 'preact/hooks';

import { make } from '../action-keys.ts';
import { useAction } from '../action.ts';
import { given, text } from '../options.ts';
import { Ask } from '../ui/dialog.tsx';
import { DurationField } from '../ui/duration.tsx';
import { MoreFields, TextField, TickField } from '../ui/field.tsx';
import { Name } from '../ui/name.tsx';

/** Asks for a workspace that is to be made. */
export function CreateWorkspace({ tenant, onClose }: { tenant: string; onClose: () => void }) {
  const [name, setName] = useState('');
  const [source, setSource] = useState('');
  const [dir, setDir] = useState('');
  const [persistent, setPersistent] = useState(true);
  const [idleSeconds, setIdle] = useState<number>();
  const title = (
    <>
      Making a workspace of <Name of={tenant} />
    </>
  );
  const creating = useAction(
    { verb: 'create', subject: `workspaces of ${tenant}`, title },
    async () => {
      const made = name.trim();
      await make('workspaces/create', {
        tenant,
        name: made,
        ...given({
          sourceWorkspace: text(source),
          dir: text(dir),
          persistent: persistent ? undefined : false,
          expiry: idleSeconds === undefined ? undefined : { idleSeconds },
        }),
      });
      const said = (
        <>
          The workspace <Name of={made} /> was made.
        </>
      );
      return { said, to: { at: 'workspace', tenant, name: made }, made: true };
    },
    onClose,
  );
  return (
    <Ask title="New workspace" verb="Make it" action={creating} onClose={onClose}>
      <TextField
        label="Name"
        hint={
          <>
            Unique among the workspaces of <Name of={tenant} />.
          </>
        }
        value={name}
        onValue={setName}
        required
      />
      <TextField
        label="Begin with the files of the workspace"
        hint="With none where you name no other."
        value={source}
        onValue={setSource}
      />
      <MoreFields>
        <TextField
          label="Directory"
          hint="What persists: /workspace where nothing else is set."
          value={dir}
          onValue={setDir}
        />
        <DurationField
          label="Stopped when idle for"
          absent="ten minutes"
          value={idleSeconds}
          onValue={setIdle}
        />
        <TickField
          label="Keep its files"
          hint="Otherwise a stop takes no snapshot."
          checked={persistent}
          onValue={setPersistent}
        />
      </MoreFields>
    </Ask>
  );
}
