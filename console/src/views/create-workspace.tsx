// Making a workspace.

import { useState } from 'preact/hooks';

import { useAction } from '../action.ts';
import { given, text } from '../options.ts';
import { go } from '../routes.ts';
import { client } from '../session.ts';
import { Ask } from '../ui/dialog.tsx';
import { DurationField } from '../ui/duration.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';

/** Asks for a workspace that is to be made. */
export function CreateWorkspace({ tenant, onClose }: { tenant: string; onClose: () => void }) {
  const [name, setName] = useState('');
  const [source, setSource] = useState('');
  const [dir, setDir] = useState('');
  const [persistent, setPersistent] = useState(true);
  const [idleSeconds, setIdle] = useState<number>();
  const creating = useAction(async () => {
    await client.workspaces.create({
      tenant,
      name: name.trim(),
      ...given({
        sourceWorkspace: text(source),
        dir: text(dir),
        persistent: persistent ? undefined : false,
        expiry: idleSeconds === undefined ? undefined : { idleSeconds },
      }),
    });
    announce(`The workspace ${name.trim()} was made.`);
    go({ at: 'workspace', tenant, name: name.trim() });
  });
  return (
    <Ask title="New workspace" verb="Make it" action={creating} onClose={onClose}>
      <TextField
        label="Name"
        hint={`Unique among the workspaces of ${tenant}.`}
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
      <details>
        <summary>More options</summary>
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
      </details>
    </Ask>
  );
}
