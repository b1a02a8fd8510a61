// Dialogs that confirm an action on a workspace.

import { useState } from 'preact/hooks';

import type { DeletedWorkspace } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { place, type Address } from '../routes.ts';
import { client } from '../session.ts';
import { count } from '../format.ts';
import { ActionDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { startWorkspace, stopWorkspace, subjectOf, type OnFailedHooks } from './workspace-operations.ts';

interface ConfirmationProps {
  address: Address;
  onFailedHooks: OnFailedHooks;
  onClose: () => void;
}

/** Asks the user to confirm, and stops a workspace that is not persistent. */
export function StopWithoutSnapshot({ address, onFailedHooks, onClose }: ConfirmationProps) {
  const { name } = address;
  const stopping = useAction(
    { operation: 'stop without snapshot', subject: subjectOf(address), title: <>The stop of {name}</> },
    () => stopWorkspace(address, onFailedHooks),
    onClose,
  );
  const title = `Stop ${name} without a snapshot?`;
  return (
    <ActionDialog title={title} submitLabel="Stop" variant="danger" action={stopping} onClose={onClose}>
      <p>
        <strong>Permanently lost:</strong> its files. The workspace is not persistent: a stop takes no
        snapshot.
      </p>
    </ActionDialog>
  );
}

/** Asks the user to confirm, discards the files of a workspace's cold-started sandbox, and restores its snapshot. */
export function DiscardAndStart({ address, onFailedHooks, onClose }: ConfirmationProps) {
  const { name } = address;
  const starting = useAction(
    { operation: 'discard', subject: subjectOf(address), title: <>The start of {name}</> },
    () => startWorkspace(address, { onDiverged: 'discard' }, onFailedHooks),
    onClose,
  );
  const title = `Discard the files in ${name}?`;
  return (
    <ActionDialog title={title} submitLabel="Discard" variant="danger" action={starting} onClose={onClose}>
      <p>
        <strong>Permanently lost:</strong> the files that were written since its sandbox cold-started.
      </p>
      <p>
        <strong>Restored:</strong> the files of its newest snapshot.
      </p>
    </ActionDialog>
  );
}

/** Asks the user to confirm, and deletes a workspace. Lists what is deleted and what is kept. */
export function DeleteWorkspace({ address, onClose }: { address: Address; onClose: () => void }) {
  const { tenant, name } = address;
  const [typed, setTyped] = useState('');
  const deleting = useAction(
    { operation: 'delete', subject: subjectOf(address), title: <>Deleting the workspace {name}</> },
    async () => {
      const message = summarize(await client.workspaces.delete(address));
      return place.peek().at === 'workspace' ? { message, to: { at: 'workspaces', tenant } } : { message };
    },
    onClose,
  );
  return (
    <ActionDialog
      title={`Delete ${name}?`}
      submitLabel="Delete workspace"
      variant="danger"
      disabled={typed.trim() !== name}
      action={deleting}
      onClose={onClose}
    >
      <p>
        <strong>Permanently deleted:</strong> the workspace, its sandbox with all files, and its snapshots.
        The name becomes free.
      </p>
      <p>
        <strong>Kept:</strong> pinned snapshots, snapshots while other sandboxes depend on them, and its
        forks.
      </p>
      <TextField label={`Type ${name} to confirm`} value={typed} onValue={setTyped} />
    </ActionDialog>
  );
}

function summarize({ name, removed, deletedAt, removedSnapshots, kept, pending }: DeletedWorkspace): string {
  if (!removed) return deletedAt ? `${name} was already deleted.` : `There is no workspace ${name}.`;
  const dependents = [...new Set(kept.flatMap(({ dependents }) => dependents))];
  const reason = dependents.length > 0 ? ` for ${dependents.join(', ')}` : '';
  const rest = kept.length > 0 ? ` Kept ${count(kept.length, 'snapshot')}${reason}.` : '';
  const later = pending.length > 0 ? ` The snapshots of ${pending.join(', ')} are deleted later.` : '';
  return `${name} was deleted with ${count(removedSnapshots, 'snapshot')}.${rest}${later}`;
}
