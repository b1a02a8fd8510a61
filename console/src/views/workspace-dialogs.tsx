// What is asked before a workspace is forked or deleted.

import { useState } from 'preact/hooks';

import { SnapshotterError, type DeletedWorkspace, type WorkspaceProblem } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { given, text } from '../options.ts';
import { go, place } from '../routes.ts';
import { client } from '../session.ts';
import { count } from '../texts.ts';
import { Ask } from '../ui/dialog.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import type { Address } from './workspace-actions.tsx';

/** Asks how a workspace is to be forked. */
export function ForkWorkspace({ address, onClose }: { address: Address; onClose: () => void }) {
  const [newName, setNewName] = useState('');
  const [howMany, setHowMany] = useState('1');
  const [copyEnv, setCopyEnv] = useState(false);
  const forking = useAction(async () => {
    const options = given({ newName: text(newName), count: Number(howMany), copyEnv });
    const { forks } = await client.workspaces.fork({ ...address, ...options });
    const made = forks.filter(({ error }) => !error).map(({ name }) => name);
    announce(made.length > 0 ? `Forked: ${made.join(', ')}.` : 'No fork was made.');
    const problem = forks.find(({ error }) => error)?.error;
    if (problem) throw asError(problem);
  });
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

/** Asks whether to delete a workspace, and says what goes and what stays. */
export function DeleteWorkspace({ address, onClose }: { address: Address; onClose: () => void }) {
  const { tenant, name } = address;
  const [typed, setTyped] = useState('');
  const deleting = useAction(async () => {
    announce(inWords(await client.workspaces.delete(address)));
    if (place.peek().at === 'workspace') go({ at: 'workspaces', tenant });
  });
  return (
    <Ask
      title={`Delete ${name}?`}
      verb="Delete the workspace"
      look="danger"
      disabled={typed.trim() !== name}
      action={deleting}
      onClose={onClose}
    >
      <p>
        <strong>Removed, for good:</strong> the workspace, its sandbox with everything that is in it, and its
        snapshots. Its name is free again.
      </p>
      <p>
        <strong>Kept:</strong> snapshots that other sandboxes need, until they need them no more; and its
        forks, which are workspaces of their own.
      </p>
      <TextField label={`Type ${name} to go on`} value={typed} onValue={setTyped} />
    </Ask>
  );
}

function inWords({ name, removed, removedSnapshots, kept, pending }: DeletedWorkspace): string {
  if (!removed) return `${name} was gone already.`;
  const needed = [...new Set(kept.flatMap(({ holders }) => holders))];
  const stays =
    kept.length > 0
      ? ` ${count(kept.length, 'snapshot')} stay${kept.length === 1 ? 's' : ''}${needed.length > 0 ? `, for ${needed.join(', ')}` : ''}.`
      : '';
  const later = pending.length > 0 ? ` The snapshots of ${pending.join(', ')} follow.` : '';
  return `${name} was deleted with ${count(removedSnapshots, 'snapshot')}.${stays}${later}`;
}

/** What is told of one fork, as if the call had failed with it. */
function asError({ code, message, remediation }: WorkspaceProblem): SnapshotterError {
  return new SnapshotterError({ code, kind: 'permanent', message, remediation, retryable: false });
}
