// Promotes another workspace, or a snapshot, to a named workspace.

import { useState } from 'preact/hooks';

import { SnapshotterError } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { create } from '../idempotency.ts';
import type { Address } from '../routes.ts';
import { ActionDialog } from '../ui/dialog.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { POSSIBLE_LOSS, subjectOf } from './workspace-operations.ts';

/** Asks for the source unless it is given, and promotes it. Offers a stale snapshot only after a refusal. */
export function Promote({
  address: { tenant, name },
  snapshotId,
  onClose,
}: {
  address: Address;
  /** The snapshot to promote. */
  snapshotId?: string;
  onClose: () => void;
}) {
  const [source, setSource] = useState('');
  const [acceptStale, setAcceptStale] = useState(false);
  const promoting = useAction(
    { operation: 'promote', subject: subjectOf({ tenant, name }), title: <>The promotion to {name}</> },
    async () => {
      const from = snapshotId ?? source.trim();
      const options = { tenant, name, from, ...(acceptStale && { acceptStale }) };
      const { sandboxId, mayHaveLost } = await create('workspaces/promote', options);
      const loss = mayHaveLost ? ` ${POSSIBLE_LOSS}` : '';
      const message = `${name} has the files of ${from} now, in the sandbox ${sandboxId}.${loss}`;
      return { message, to: { at: 'workspace', tenant, name } };
    },
    onClose,
  );
  const { failure } = promoting;
  const isStale = failure instanceof SnapshotterError && failure.code === 'SNAPSHOT_STALE';
  return (
    <ActionDialog
      title={`Promote to ${name}?`}
      submitLabel="Promote"
      action={promoting}
      onClose={onClose}
      onFailure={
        isStale && <TickField label="Promote it anyway" checked={acceptStale} onValue={setAcceptStale} />
      }
    >
      <p>
        {name} continues with the files of {snapshotId ? <code>{snapshotId}</code> : 'another workspace'} in a
        new sandbox. Its settings and its history stay.
      </p>
      <p>
        The present files are saved in a snapshot first: you can roll back to it. The source stays as it is.
      </p>
      {!snapshotId && (
        <TextField
          label="Workspace or snapshot"
          hint="The name of a workspace of the same lineage, such as a fork, or the id of a snapshot."
          required
          value={source}
          onValue={setSource}
        />
      )}
    </ActionDialog>
  );
}
