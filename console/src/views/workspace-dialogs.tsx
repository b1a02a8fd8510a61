// What is asked before something is done with a workspace.

import { useState } from 'preact/hooks';

import type { DeletedWorkspace } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { place, type Address } from '../routes.ts';
import { client } from '../session.ts';
import { count } from '../texts.ts';
import { Ask } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { startWorkspace, stopWorkspace, subjectOf, type OnFailed } from './workspace-work.ts';

interface AskedProps {
  address: Address;
  onFailed: OnFailed;
  onClose: () => void;
}

/** Asks before a workspace is stopped that keeps no files. */
export function StopUnkept({ address, onFailed, onClose }: AskedProps) {
  const { name } = address;
  const stopping = useAction(
    { verb: 'stop unkept', subject: subjectOf(address), title: <>The stop of {name}</> },
    () => stopWorkspace(address, onFailed),
    onClose,
  );
  const title = `Stop ${name} without a snapshot?`;
  return (
    <Ask title={title} verb="Stop it" look="danger" action={stopping} onClose={onClose}>
      <p>
        <strong>Lost, for good:</strong> its files. It is a workspace that keeps none: a stop takes no
        snapshot.
      </p>
    </Ask>
  );
}

/** Asks before what is in a workspace's sandbox is discarded. */
export function DiscardAndStart({ address, onFailed, onClose }: AskedProps) {
  const { name } = address;
  const starting = useAction(
    { verb: 'discard', subject: subjectOf(address), title: <>The start of {name}</> },
    () => startWorkspace(address, { onDiverged: 'discard' }, onFailed),
    onClose,
  );
  const title = `Discard what is in ${name}?`;
  return (
    <Ask title={title} verb="Discard it" look="danger" action={starting} onClose={onClose}>
      <p>
        <strong>Lost, for good:</strong> what was written in its sandbox since that woke by itself.
      </p>
      <p>
        <strong>Put in its place:</strong> the files of its newest snapshot.
      </p>
    </Ask>
  );
}

/** Asks whether to delete a workspace, and says what goes and what stays. */
export function DeleteWorkspace({ address, onClose }: { address: Address; onClose: () => void }) {
  const { tenant, name } = address;
  const [typed, setTyped] = useState('');
  const deleting = useAction(
    { verb: 'delete', subject: subjectOf(address), title: <>Deleting the workspace {name}</> },
    async () => {
      const said = inWords(await client.workspaces.delete(address));
      return place.peek().at === 'workspace' ? { said, to: { at: 'workspaces', tenant } } : { said };
    },
    onClose,
  );
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
  const needed = [...new Set(kept.flatMap(({ dependents }) => dependents))];
  const stays =
    kept.length > 0
      ? ` ${count(kept.length, 'snapshot')} stay${kept.length === 1 ? 's' : ''}${needed.length > 0 ? `, for ${needed.join(', ')}` : ''}.`
      : '';
  const later = pending.length > 0 ? ` The snapshots of ${pending.join(', ')} follow.` : '';
  return `${name} was deleted with ${count(removedSnapshots, 'snapshot')}.${stays}${later}`;
}
