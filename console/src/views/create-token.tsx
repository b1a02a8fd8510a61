// Creates an access token, and shows it once.

import { useEffect, useRef, useState } from 'preact/hooks';

import type { CreatedToken, Permission } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { defined, lines, text } from '../options.ts';
import { client } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { Id } from '../ui/copy.tsx';
import { ActionDialog, Dialog } from '../ui/dialog.tsx';
import { DurationField } from '../ui/duration.tsx';
import { LinesField, TextField, TickField } from '../ui/field.tsx';

/** What each permission permits. */
const PERMITS: Record<Permission, string> = {
  read: 'Read snapshots, files and workspaces. The others include it.',
  snapshot: 'Create, change and delete snapshots and workspaces.',
  work: 'Run commands and write files. Reads the environment variables.',
  admin: 'Manage tokens and keys. Includes the others.',
};

/** Asks for the permissions of a token, and creates it. */
export function CreateToken({ tenant, onClose }: { tenant: string; onClose: () => void }) {
  const [permissions, setPermissions] = useState<ReadonlySet<Permission>>(new Set(['read']));
  const [label, setLabel] = useState('');
  const [workspaces, setWorkspaces] = useState('');
  const [expirationSeconds, setExpiration] = useState<number>();
  const [created, setCreated] = useState<CreatedToken>();
  const isOpen = useRef(true);
  useEffect(() => () => void (isOpen.current = false), []);
  const creating = useAction(
    { operation: 'create token', subject: `tokens of ${tenant}`, title: 'Creating a token' },
    async () => {
      const options = { label: text(label), workspaces: lines(workspaces), expirationSeconds };
      const token = await client.tokens.create({
        tenant,
        permissions: [...permissions],
        ...defined(options),
      });
      if (isOpen.current) return setCreated(token);
      // The user closed the dialog.
      return { message: <Secret of={token} /> };
    },
  );
  if (created)
    return (
      <Dialog title="The new token" onClose={onClose}>
        <p>
          <Secret of={created} />
        </p>
        <div class="buttons end">
          <Button onClick={onClose}>Close</Button>
        </div>
      </Dialog>
    );
  return (
    <ActionDialog
      title="New token"
      submitLabel="Create"
      disabled={permissions.size === 0}
      action={creating}
      onClose={onClose}
    >
      <TextField label="Label" value={label} onValue={setLabel} />
      {(Object.keys(PERMITS) as Permission[]).map((permission) => (
        <TickField
          key={permission}
          label={permission}
          hint={PERMITS[permission]}
          checked={permissions.has(permission)}
          onValue={(isOn) => {
            const others = [...permissions].filter((other) => other !== permission);
            setPermissions(new Set(isOn ? [...others, permission] : others));
          }}
        />
      ))}
      <LinesField
        label="Workspaces"
        hint="One name per line. Leave empty for all."
        value={workspaces}
        onValue={setWorkspaces}
      />
      <DurationField
        label="Expires after"
        absent="30 days"
        value={expirationSeconds}
        onValue={setExpiration}
      />
    </ActionDialog>
  );
}

function Secret({ of: { token } }: { of: CreatedToken }) {
  return (
    <>
      <Id of={token} what="token" /> It is a secret, and is not shown again.
    </>
  );
}
