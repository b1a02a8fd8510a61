// The actions on a snapshot.

import { useState } from 'preact/hooks';

import { SnapshotterError, type Verification } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { create } from '../idempotency.ts';
import { go } from '../routes.ts';
import { permits } from '../permissions.ts';
import { client } from '../session.ts';
import { precedes, type SnapshotNode } from '../tree/nodes.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Name } from '../ui/name.tsx';
import { allPresentFiles, comparable, ownPresentFiles, sandboxName } from './compare-choices.ts';
import { Compare } from './compare.tsx';
import { DeleteSnapshot } from './delete-snapshot.tsx';
import { refusalOf } from './deletion.ts';
import type { DetailsProps } from './details.ts';
import { PartialRemark } from './partial-remark.tsx';
import { Relabel } from './relabel-snapshot.tsx';
import { Promote } from './promote.tsx';
import { RollBack } from './roll-back.tsx';
import { VerificationResult } from './verification.tsx';
import { ownsSandbox } from './workspace-operations.ts';

/** The actions on a snapshot in the state `ready`. */
export function SnapshotActions({ node, nodes, placeFor, workspace }: DetailsProps<SnapshotNode>) {
  const { sandboxId, snapshotId = '' } = node.selected;
  const selection = { sandboxId, snapshotId };
  const { pinned, partial } = node.snapshot;
  const [dialog, setDialog] = useState<'label' | 'compare' | 'delete' | 'roll back' | 'promote'>();
  const [verification, setVerification] = useState<Verification>();

  const derive = async (operation: 'restore' | 'branch') => {
    const { ref, stale = [] } = await create(operation, selection);
    return {
      message: (
        <>
          The new sandbox is <Name of={ref.sandboxId} />.{stale.map((reason) => ` Stale: ${reason}.`)}
        </>
      ),
      to: placeFor({ selected: { sandboxId: ref.sandboxId } }),
      isNew: true,
      isWarning: stale.length > 0,
    };
  };
  const name = <Name of={node.name} />;
  const spec = (operation: string, title: string) => ({
    operation,
    subject: node.id,
    title: (
      <>
        {title} “{name}”
      </>
    ),
  });
  const restoring = useAction(spec('restore', 'The restore of'), () => derive('restore'));
  const branching = useAction(spec('branch', 'The branch from'), () => derive('branch'));
  const verifying = useAction(spec('verify', 'The verification of'), async () =>
    setVerification(await client.verify(selection)),
  );
  const pinning = useAction(spec('pin', 'Pinning or unpinning'), async () => {
    await (pinned ? client.unpin(selection) : client.pin(selection));
    return {
      message: (
        <>
          “{name}” is {pinned ? 'no longer' : 'now'} pinned.
        </>
      ),
    };
  });

  const refusal = refusalOf(node, nodes, workspace);
  const others = comparable(node, nodes);
  const present = allPresentFiles(node, nodes, workspace);
  // A workspace goes back to its own snapshots, and to earlier ones of the workspace that it is a fork of.
  const isOwn = workspace !== undefined && ownsSandbox(workspace, sandboxId);
  const canRollBack = workspace && (isOwn || precedes(node, workspace.sandboxId, nodes));
  const canPromote = workspace && !canRollBack;
  const owner = nodes.get(node.parentId ?? '');
  const ofNewSandbox = workspace && ' to a new sandbox';
  const creating = restoring.failure === undefined ? branching : restoring;
  const changing = pinning.failure === undefined ? verifying : pinning;
  return (
    <>
      <div class="buttons">
        {canRollBack && (
          <Button
            needs="workspaces/update"
            variant="primary"
            icon="back"
            onClick={() => setDialog('roll back')}
          >
            Roll back…
          </Button>
        )}
        {canPromote && (
          <Button needs="workspaces/promote" variant="primary" onClick={() => setDialog('promote')}>
            Promote…
          </Button>
        )}
        <Button
          needs="restore"
          variant={workspace ? 'plain' : 'primary'}
          icon="restore"
          busy={restoring.busy}
          onClick={() => void restoring.run()}
        >
          Restore{ofNewSandbox}
        </Button>
        <Button needs="branch" icon="branch" busy={branching.busy} onClick={() => void branching.run()}>
          Branch{ofNewSandbox}
        </Button>
      </div>
      <div class="buttons">
        <Button onClick={() => go({ at: 'files', ...selection })}>Files</Button>
        {present.length + others.length > 0 && <Button onClick={() => setDialog('compare')}>Compare…</Button>}
        <Button icon="check" busy={verifying.busy} onClick={() => void verifying.run()}>
          Verify
        </Button>
        <Button needs="pin" icon="pin" busy={pinning.busy} onClick={() => void pinning.run()}>
          {pinned ? 'Unpin' : 'Pin'}
        </Button>
        <Button needs="label" onClick={() => setDialog('label')}>
          Label…
        </Button>
        <Button
          needs="delete"
          variant="danger"
          icon="trash"
          disabled={refusal !== undefined}
          title={refusal}
          onClick={() => setDialog('delete')}
        >
          Delete…
        </Button>
      </div>
      {refusal && permits('delete') && (
        <p class="hint">
          {refusal}{' '}
          <button type="button" class="link" onClick={() => setDialog('delete')}>
            Delete anyway…
          </button>
        </p>
      )}
      {permits('restore') && (
        <p class="hint">
          {canRollBack && `Roll back moves the workspace ${workspace.name} to the snapshot. `}
          {canPromote && `Promote continues the workspace ${workspace.name} from the snapshot. `}
          Restore and Branch create a new sandbox{workspace && ' outside the workspace'}. Existing sandboxes
          do not change.
        </p>
      )}
      {partial && permits('restore') && <PartialRemark />}
      <Failure of={creating.failure} retry={creating.retry}>
        {createdNothing(creating.failure) && <p>No sandbox was created.</p>}
      </Failure>
      <Failure of={changing.failure} retry={changing.retry} />
      {verification && !verifying.busy && <VerificationResult of={verification} />}
      {dialog === 'label' && <Relabel node={node} onClose={() => setDialog(undefined)} />}
      {dialog === 'compare' && (
        <Compare {...{ node, others, present, nodes, workspace }} onClose={() => setDialog(undefined)} />
      )}
      {dialog === 'delete' && (
        <DeleteSnapshot
          node={node}
          refusal={refusal}
          placeFor={placeFor}
          onClose={() => setDialog(undefined)}
        />
      )}
      {dialog === 'roll back' && canRollBack && (
        <RollBack
          workspace={workspace}
          node={node}
          present={ownPresentFiles(node, nodes, workspace)}
          origin={isOwn || owner?.kind !== 'sandbox' ? undefined : sandboxName(owner.sandbox, workspace)}
          onClose={() => setDialog(undefined)}
        />
      )}
      {dialog === 'promote' && canPromote && (
        <Promote
          address={workspace}
          snapshotId={selection.snapshotId}
          isPartial={partial === true}
          onClose={() => setDialog(undefined)}
        />
      )}
    </>
  );
}

/** The codes of failures that occur before a sandbox is created. The messages of others say what happened to the sandbox. */
const CREATED_NOTHING: ReadonlySet<string> = new Set([
  'SERVICE_UNREACHABLE',
  'SNAPSHOT_BUSY',
  'SNAPSHOT_NOT_FOUND',
]);

function createdNothing(failure: unknown): boolean {
  return failure instanceof SnapshotterError && CREATED_NOTHING.has(failure.code);
}
