// Forks a workspace: creates workspaces from its present files.

import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';

import type { Fork } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { create } from '../idempotency.ts';
import { defined, text } from '../options.ts';
import { href, type Address } from '../routes.ts';
import { count } from '../format.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { ActionDialog, Dialog } from '../ui/dialog.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { CodeText } from '../ui/code-text.tsx';
import { remediationOf } from '../ui/remediation.ts';
import { subjectOf } from './workspace-operations.ts';

/** Asks for the options of a fork, and forks the workspace. If a fork fails, shows the result of each fork. */
export function ForkWorkspace({ address, onClose }: { address: Address; onClose: () => void }) {
  const [newName, setNewName] = useState('');
  const [howMany, setHowMany] = useState('1');
  const [copyEnv, setCopyEnv] = useState(false);
  const [forks, setForks] = useState<Fork[]>();
  const hasFailures = useRef(false);
  const forking = useAction(
    { operation: 'fork', subject: subjectOf(address), title: <>Forking {address.name}</> },
    async () => {
      const options = defined({ newName: text(newName), count: Number(howMany), copyEnv });
      const { forks } = await create('workspaces/fork', { ...address, ...options });
      hasFailures.current = forks.some(({ error }) => error);
      if (hasFailures.current) setForks(forks);
      return { message: summarize(forks, address.tenant), isWarning: hasFailures.current };
    },
    () => hasFailures.current || onClose(),
  );
  if (forks) return <Forks of={forks} address={address} onClose={onClose} />;
  return (
    <ActionDialog title={`Fork ${address.name}`} submitLabel="Fork" action={forking} onClose={onClose}>
      <p>Creates workspaces from its present files, which stay as they are.</p>
      <TextField
        label="Name of the fork"
        hint="Leave empty to generate a name."
        value={newName}
        onValue={setNewName}
      />
      <TextField
        label="Number of forks"
        hint="The names of several forks end in -1, -2…"
        type="number"
        min={1}
        required
        value={howMany}
        onValue={setHowMany}
      />
      <TickField
        label="Copy the environment variables"
        hint="They may be secrets."
        checked={copyEnv}
        onValue={setCopyEnv}
      />
    </ActionDialog>
  );
}

function Forks({ of, address, onClose }: { of: Fork[]; address: Address; onClose: () => void }) {
  return (
    <Dialog title={`Forks of ${address.name}`} onClose={onClose}>
      <ul class="checks" aria-label="Forks">
        {of.map(({ name, error }) => (
          <li key={name}>
            <Badge tone={error ? 'bad' : 'good'} icon={error ? 'cross' : 'check'}>
              {error ? 'failed' : 'created'}
            </Badge>{' '}
            {error ? (
              <>
                <strong>{name}</strong> <code>{error.code}</code>
                <p>
                  <CodeText of={error.message} />
                </p>
                <p>
                  <CodeText of={remediationOf(error)} />
                </p>
              </>
            ) : (
              <a href={href({ at: 'workspace', tenant: address.tenant, name })}>{name}</a>
            )}
          </li>
        ))}
      </ul>
      <div class="buttons end">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

/** The names of the forks, with links to those that were created. */
function summarize(forks: Fork[], tenant: string): ComponentChildren {
  const names = (isFailed: boolean) =>
    forks.filter(({ error }) => !error !== isFailed).map(({ name }) => name);
  const [created, failed] = [names(false), names(true)];
  return (
    <>
      {created.length > 0 ? 'Forked: ' : 'No fork was created'}
      {created.map((name, at) => (
        <>
          {at > 0 && ', '}
          <a href={href({ at: 'workspace', tenant, name })}>{name}</a>
        </>
      ))}
      .{failed.length > 0 && ` ${count(failed.length, 'fork')} failed: ${failed.join(', ')}.`}
    </>
  );
}
