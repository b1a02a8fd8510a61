// Promotes another workspace, or a snapshot, to a named workspace.

import { useState } from 'preact/hooks';

import { SnapshotterError } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { create } from '../idempotency.ts';
import type { ReadOptions } from '../live.ts';
import { useOnce } from '../once.ts';
import { placeOf, type Address } from '../routes.ts';
import { client } from '../session.ts';
import { nodesOf } from '../tree/nodes.ts';
import { ActionDialog } from '../ui/dialog.tsx';
import { ChoiceField, TextField, TickField } from '../ui/field.tsx';
import { Name } from '../ui/name.tsx';
import { sourceChoices, type Choice } from './compare-choices.ts';
import { createLineageReader, sandboxesOf } from './lineage-reader.ts';
import { PartialRemark } from './partial-remark.tsx';
import { SavedBefore } from './snapshot-link.tsx';
import { LOSS_OF_PROMOTION, subjectOf } from './workspace-operations.ts';

/** Asks for the source unless it is given, and promotes it. Offers a stale snapshot only after a refusal. */
export function Promote({
  address: { tenant, name },
  snapshotId,
  isPartial = false,
  onClose,
}: {
  address: Address;
  /** The snapshot to promote. */
  snapshotId?: string;
  /** Whether the snapshot leaves out files. */
  isPartial?: boolean;
  onClose: () => void;
}) {
  const [source, setSource] = useState('');
  const [acceptStale, setAcceptStale] = useState(false);
  const promoting = useAction(
    { operation: 'promote', subject: subjectOf({ tenant, name }), title: <>The promotion to {name}</> },
    async () => {
      const from = snapshotId ?? withoutTenant(source.trim(), tenant);
      const options = { tenant, name, from, ...(acceptStale && { acceptStale }) };
      const promoted = await create('workspaces/promote', options);
      const message = (
        <>
          {name} has the files of {from} now, in the sandbox <Name of={promoted.sandboxId} />.
          {promoted.mayHaveLost && ` ${LOSS_OF_PROMOTION}`}
          <SavedBefore of={promoted} />
        </>
      );
      return { message, to: { at: 'workspace', tenant, name }, isWarning: promoted.mayHaveLost === true };
    },
    onClose,
  );
  const { failure } = promoting;
  const code = failure instanceof SnapshotterError ? failure.code : undefined;
  const isStale = code === 'SNAPSHOT_STALE';
  const isUnknown = !snapshotId && (code === 'SNAPSHOT_NOT_FOUND' || code === 'WORKSPACE_NOT_FOUND');
  return (
    <ActionDialog
      title={`Promote to ${name}?`}
      submitLabel="Promote"
      action={promoting}
      onClose={onClose}
      remediation={isUnknown ? `Enter ${sourcesOf(name)}` : undefined}
      onFailure={
        isStale && <TickField label="Promote it anyway" checked={acceptStale} onValue={setAcceptStale} />
      }
    >
      <p>
        {name} continues with the files of{' '}
        {snapshotId ? <code>{snapshotId}</code> : 'another workspace or a snapshot'} in a new sandbox. Its
        settings and its history stay.
      </p>
      <p>
        The present files are saved in a snapshot first: you can roll back to it. The source stays as it is.
      </p>
      {isPartial && <PartialRemark />}
      {!snapshotId && <SourceField address={{ tenant, name }} value={source} onValue={setSource} />}
    </ActionDialog>
  );
}

/** Returns what can be promoted to a workspace, as the end of a sentence. */
const sourcesOf = (name: string) =>
  `the name of a workspace of the same lineage, the id of a snapshot, or the label of one of ${name}.`;

/** Returns the name of a workspace that is written `@name` or `@tenant/name`; any other text as it is. */
function withoutTenant(text: string, tenant: string): string {
  const place = placeOf(text, tenant);
  return place.at === 'workspace' && place.tenant === tenant ? place.name : text;
}

/** The choice of a source that the list does not contain. No workspace has this name. */
const ANOTHER = '@';

/** The source: one of the other workspaces or a snapshot of the lineage, none of them preselected, or what the user types. */
function SourceField({
  address,
  value,
  onValue,
}: {
  address: Address;
  value: string;
  onValue: (value: string) => void;
}) {
  const [choice, setChoice] = useState('');
  const { value: found, failure } = useOnce(JSON.stringify(['others', address]), (options) =>
    sourcesInLineage(address, { ...options, retry: false }),
  );
  const isAlone = found?.length === 0 || failure !== undefined;
  const chosen = choice === '' && isAlone ? ANOTHER : choice;
  const choose = (next: string) => {
    setChoice(next);
    onValue(next === ANOTHER ? '' : next);
  };
  return (
    <>
      <ChoiceField
        label="Promote from"
        required
        value={chosen}
        choices={[
          ...(isAlone ? [] : [['', found ? 'Choose the source' : 'Reading the lineage…'] as const]),
          ...(found ?? []),
          [ANOTHER, 'Another workspace or snapshot…'],
        ]}
        onValue={choose}
      />
      {chosen === ANOTHER && (
        <TextField
          label="Workspace or snapshot"
          hint={`Enter ${sourcesOf(address.name)}`}
          required
          value={value}
          onValue={onValue}
        />
      )}
    </>
  );
}

/** Returns what the lineage of a workspace has to promote: the names of the tenant's other workspaces, and the snapshots by their ids. */
async function sourcesInLineage({ tenant, name }: Address, options: ReadOptions): Promise<Choice[]> {
  const page = await client.workspaces.getByName({ tenant, name, ...options });
  const tree = await createLineageReader(page.sandboxId)(options, true);
  const names = [...sandboxesOf(tree.root)].flatMap(({ workspace }) =>
    workspace?.tenant === tenant && workspace.name !== name ? [workspace.name] : [],
  );
  return [
    ...[...new Set(names)].sort().map((other) => [other, `Workspace ${other}`] as const),
    ...sourceChoices(nodesOf(tree), page, Date.now()),
  ];
}
