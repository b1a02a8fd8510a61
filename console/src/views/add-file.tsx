// Adds files to a directory of a running workspace: an upload, or a new text file.

import { useRef, useState } from 'preact/hooks';

import { SnapshotterError } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { size } from '../format.ts';
import { permits } from '../permissions.ts';
import type { Address } from '../routes.ts';
import { client } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { Name } from '../ui/name.tsx';
import { fileExists } from './file-exists.ts';

/** The remediation if a file exists. */
const ELSEWHERE = 'Use another name, or select “Replace a file that exists”.';

/** The forms, collapsed. */
export function AddFile({
  address,
  path,
  onChange,
}: {
  address: Address;
  path: string;
  onChange: () => void;
}) {
  const [name, setName] = useState('');
  const [replaces, setReplaces] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const adding = useAction(
    {
      operation: 'files/write',
      subject: JSON.stringify([address, path, 'add']),
      title: <>Adding a file</>,
    },
    async (to: string, content: Blob) => {
      const target = path ? `${path}/${to}` : to;
      if (!replaces && (await exists(address, target))) throw fileExists(target, ELSEWHERE);
      await client.files.write({
        ...address,
        path: target,
        content: new Uint8Array(await content.arrayBuffer()),
      });
      setName('');
      setReplaces(false);
      if (input.current) input.current.value = '';
      onChange();
      const message = (
        <>
          <Name of={target} /> is written: {size(content.size)}.
        </>
      );
      return { message };
    },
  );
  if (!permits('files/write')) return null;
  const upload = () => {
    const [file] = input.current?.files ?? [];
    if (file) void adding.run(file.name, file);
  };
  return (
    <details class="more">
      <summary>Add a file</summary>
      <form
        class="row-form"
        onSubmit={(event) => {
          event.preventDefault();
          upload();
        }}
      >
        <div class="field">
          <label for="upload">File on this machine</label>
          <input ref={input} id="upload" type="file" required />
        </div>
        <Button busy={adding.busy}>Upload</Button>
      </form>
      <form
        class="row-form"
        onSubmit={(event) => {
          event.preventDefault();
          void adding.run(name.trim(), new Blob());
        }}
      >
        <TextField label="Name of a new file" value={name} onValue={setName} required />
        <Button busy={adding.busy}>Create</Button>
      </form>
      <TickField label="Replace a file that exists" checked={replaces} onValue={setReplaces} />
      <Failure of={adding.failure} retry={adding.retry} />
    </details>
  );
}

async function exists(address: Address, path: string): Promise<boolean> {
  try {
    await client.files.stat({ ...address, path });
    return true;
  } catch (thrown) {
    if (thrown instanceof SnapshotterError && thrown.code === 'FILE_NOT_FOUND') return false;
    throw thrown;
  }
}
