// Promotes another workspace, or a snapshot, to a named workspace.

import { useEffect, useState } from 'preact/hooks';

import { SnapshotterError } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { create } from '../idempotency.ts';
import type { Address } from '../routes.ts';
import { client } from '../session.ts';
import { ActionDialog } from '../ui/dialog.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { createLineageReader, sandboxesOf } from './lineage-reader.ts';
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
      {!snapshotId && <SourceField address={{ tenant, name }} value={source} onValue={setSource} />}
    </ActionDialog>
  );
}

/** The field for the source. It suggests the other workspaces of the lineage. */
function SourceField({
  address,
  ...field
}: {
  address: Address;
  value: string;
  onValue: (value: string) => void;
}) {
  const [suggestions, setSuggestions] = useState<string[]>([]);
  useEffect(() => {
    const aborter = new AbortController();
    // Without suggestions, the field takes every name nevertheless.
    othersOf(address, aborter.signal).then(setSuggestions, () => {});
    return () => aborter.abort();
  }, []);
  return (
    <TextField
      label="Workspace or snapshot"
      hint={`The name of a workspace of the same lineage, such as ${suggestions[0] ?? 'a fork'}, or the id of a snapshot.`}
      required
      suggestions={suggestions}
      {...field}
    />
  );
}

/** Returns the names of the tenant's other workspaces in the lineage of a workspace. */
async function othersOf({ tenant, name }: Address, signal: AbortSignal): Promise<string[]> {
  const { sandboxId } = await client.workspaces.getByName({ tenant, name, signal });
  const tree = await createLineageReader(sandboxId)(signal, true);
  const names = [...sandboxesOf(tree.root)].flatMap(({ workspace }) =>
    workspace?.tenant === tenant && workspace.name !== name ? [workspace.name] : [],
  );
  return [...new Set(names)].sort();
}
