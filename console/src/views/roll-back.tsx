// Rolls a named workspace back to a snapshot.

import { useState } from 'preact/hooks';

import { SnapshotterError, type Workspace } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { href } from '../routes.ts';
import { client } from '../session.ts';
import { takenAt, type SnapshotNode } from '../tree/nodes.ts';
import { ActionDialog } from '../ui/dialog.tsx';
import { Time } from '../ui/facts.tsx';
import { TickField } from '../ui/field.tsx';
import { Name } from '../ui/name.tsx';
import { diffToPresent, type PresentFiles } from './compare-choices.ts';
import { PartialRemark } from './partial-remark.tsx';
import { SavedBefore } from './snapshot-link.tsx';
import { lossOfRollback, subjectOf } from './workspace-operations.ts';

/** Asks the user to confirm, and rolls the workspace back. Offers a stale snapshot only after a refusal. */
export function RollBack({
  workspace: { tenant, name, state, sandboxId },
  node,
  present,
  origin,
  onClose,
}: {
  workspace: Workspace;
  node: SnapshotNode;
  /** The present files of the workspace, if it runs. */
  present: PresentFiles | undefined;
  /** The name of the workspace or the sandbox that has the snapshot, if it is another one. */
  origin: string | undefined;
  onClose: () => void;
}) {
  const { snapshotId = '' } = node.selected;
  const taken = takenAt(node);
  const [acceptStale, setAcceptStale] = useState(false);
  const label = (
    <>
      “<Name of={node.name} />”
    </>
  );
  const rollingBack = useAction(
    { operation: 'roll back', subject: subjectOf({ tenant, name }), title: <>Rolling {name} back</> },
    async () => {
      const options = { tenant, name, currentSnapshotId: snapshotId, ...(acceptStale && { acceptStale }) };
      const updated = await client.workspaces.update(options);
      const loss = lossOfRollback(updated);
      const message = (
        <>
          {name} was rolled back to {label}. Its sandbox is now <Name of={updated.sandboxId} />.
          {loss && ` ${loss}`}
          <SavedBefore of={updated} />
        </>
      );
      return { message, to: { at: 'workspace', tenant, name }, isWarning: loss !== undefined };
    },
    onClose,
  );
  const { failure } = rollingBack;
  const isStale = failure instanceof SnapshotterError && failure.code === 'SNAPSHOT_STALE';
  return (
    <ActionDialog
      title={<>Roll {name} back?</>}
      submitLabel="Roll back"
      action={rollingBack}
      onClose={onClose}
      onFailure={
        isStale && <TickField label="Roll back anyway" checked={acceptStale} onValue={setAcceptStale} />
      }
    >
      <p>
        {name} continues from the files of {label}
        {taken && (
          <>
            , taken <Time at={taken} />
          </>
        )}
        {origin === undefined
          ? node.selected.sandboxId !== sandboxId && ' in a former sandbox'
          : `, of ${origin}`}
        . Its new sandbox starts{' '}
        {state === 'active' ? 'now if the present one is running' : 'when you start the workspace'}.
      </p>
      <p>
        The present sandbox is stopped, and its files are saved in a snapshot: you can roll back to it as
        well. No snapshot is deleted.
        {present && (
          <>
            {' '}
            <a href={href(diffToPresent(node, present))}>Compare the snapshot with the present files</a>
          </>
        )}
      </p>
      {node.snapshot.partial && <PartialRemark />}
    </ActionDialog>
  );
}
