// Making other workspaces from the present files of one.

import { useRef, useState } from 'preact/hooks';

import type { Fork } from '../../../client/src/index.ts';
import { make } from '../action-keys.ts';
import { useAction } from '../action.ts';
import { given, text } from '../options.ts';
import { href, type Address } from '../routes.ts';
import { count } from '../texts.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Ask, Dialog } from '../ui/dialog.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { Words } from '../ui/words.tsx';
import { subjectOf } from './workspace-work.ts';

/** Asks how a workspace is to be forked; tells what became of each fork, where one was refused. */
export function ForkWorkspace({ address, onClose }: { address: Address; onClose: () => void }) {
  const [newName, setNewName] = useState('');
  const [howMany, setHowMany] = useState('1');
  const [copyEnv, setCopyEnv] = useState(false);
  const [forks, setForks] = useState<Fork[]>();
  const wasRefused = useRef(false);
  const forking = useAction(
    { verb: 'fork', subject: subjectOf(address), title: <>Forking {address.name}</> },
    async () => {
      const options = given({ newName: text(newName), count: Number(howMany), copyEnv });
      const { forks } = await make('workspaces/fork', { ...address, ...options });
      wasRefused.current = forks.some(({ error }) => error);
      if (wasRefused.current) setForks(forks);
      return { said: inWords(forks) };
    },
    () => wasRefused.current || onClose(),
  );
  if (forks) return <Forks of={forks} address={address} onClose={onClose} />;
  return (
    <Ask title={`Fork ${address.name}`} verb="Fork it" action={forking} onClose={onClose}>
      <p>Makes other workspaces that begin with its present files. It goes on as it is.</p>
      <TextField
        label="Name of the fork"
        hint="One is made up where you give none."
        value={newName}
        onValue={setNewName}
      />
      <TextField
        label="How many"
        hint="Of several, each has its number behind the name."
        type="number"
        min={1}
        required
        value={howMany}
        onValue={setHowMany}
      />
      <TickField
        label="With its environment variables"
        hint="They may be secrets."
        checked={copyEnv}
        onValue={setCopyEnv}
      />
    </Ask>
  );
}

function Forks({ of, address, onClose }: { of: Fork[]; address: Address; onClose: () => void }) {
  return (
    <Dialog title={`Forks of ${address.name}`} onClose={onClose}>
      <ul class="checks" aria-label="Forks">
        {of.map(({ name, error }) => (
          <li key={name}>
            <Badge tone={error ? 'bad' : 'good'} icon={error ? 'cross' : 'check'}>
              {error ? 'refused' : 'made'}
            </Badge>{' '}
            {error ? (
              <>
                <strong>{name}</strong> <code>{error.code}</code>
                <p>
                  <Words of={error.message} />
                </p>
                <p>
                  <Words of={error.remediation} />
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

function inWords(forks: Fork[]): string {
  const names = (refused: boolean) => forks.filter(({ error }) => !error !== refused).map(({ name }) => name);
  const [made, refused] = [names(false), names(true)];
  const failed =
    refused.length > 0 ? ` ${count(refused.length, 'fork')} refused: ${refused.join(', ')}.` : '';
  return made.length > 0 ? `Forked: ${made.join(', ')}.${failed}` : `No fork was made.${failed}`;
}
