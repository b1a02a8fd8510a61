// What can be done with a snapshot.

import { useState } from 'preact/hooks';

import { SnapshotterError, type Verification } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { refresh } from '../live.ts';
import { go } from '../routes.ts';
import { client } from '../session.ts';
import type { SnapshotNode } from '../tree/nodes.ts';
import { Button } from '../ui/button.tsx';
import { Ask } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import { DeleteSnapshot } from './delete-snapshot.tsx';
import { Verdict } from './health.tsx';
import type { DetailsProps } from './lineage.tsx';

/** The actions on a snapshot that is there. */
export function SnapshotActions({ node, at }: { node: SnapshotNode; at: DetailsProps['at'] }) {
  const { sandboxId, snapshotId = '' } = node.selected;
  const selection = { sandboxId, snapshotId };
  const { pinned } = node.snapshot;
  const [asked, setAsked] = useState<'label' | 'delete'>();
  const [verification, setVerification] = useState<Verification>();

  const make = async (how: 'restore' | 'branch') => {
    const { ref } = await client[how](selection);
    await refresh();
    announce(`The new sandbox is ${ref.sandboxId}.`);
    go(at({ selected: { sandboxId: ref.sandboxId } }));
  };
  const restoring = useAction(() => make('restore'));
  const branching = useAction(() => make('branch'));
  const verifying = useAction(async () => setVerification(await client.verify(selection)));
  const pinning = useAction(async () => {
    await (pinned ? client.unpin(selection) : client.pin(selection));
    await refresh();
    announce(pinned ? `“${node.name}” is left to the policy again.` : `“${node.name}” is pinned.`);
  });

  return (
    <>
      <div class="buttons">
        <Button look="primary" icon="restore" busy={restoring.busy} onClick={() => void restoring.run()}>
          Restore
        </Button>
        <Button icon="branch" busy={branching.busy} onClick={() => void branching.run()}>
          Branch
        </Button>
        <Button icon="pin" busy={pinning.busy} onClick={() => void pinning.run()}>
          {pinned ? 'Unpin' : 'Pin'}
        </Button>
        <Button icon="check" busy={verifying.busy} onClick={() => void verifying.run()}>
          Verify
        </Button>
        <Button onClick={() => setAsked('label')}>Label…</Button>
        <Button look="danger" icon="trash" onClick={() => setAsked('delete')}>
          Delete…
        </Button>
      </div>
      <p class="hint">Restore and Branch make a new sandbox. None that exists is written into.</p>
      <Failure of={restoring.failure}>{leftBehind(restoring.failure)}</Failure>
      <Failure of={branching.failure}>{leftBehind(branching.failure)}</Failure>
      <Failure of={pinning.failure} />
      <Failure of={verifying.failure} />
      {verification && !verifying.busy && <Checked of={verification} />}
      {asked === 'label' && <Relabel node={node} onClose={() => setAsked(undefined)} />}
      {asked === 'delete' && <DeleteSnapshot node={node} at={at} onClose={() => setAsked(undefined)} />}
    </>
  );
}

/** Codes after which nobody here knows what became of the call. */
const UNKNOWN: ReadonlySet<string> = new Set(['ANSWER_LOST', 'WORKSPACE_UNAVAILABLE', 'ABORTED', 'INTERNAL']);

/** What a restore that failed has left, where the failure does not say it itself. */
function leftBehind(failure: unknown) {
  if (!(failure instanceof SnapshotterError) || UNKNOWN.has(failure.code))
    return <p>Whether a sandbox was made is not known. If there is one, the tree shows it.</p>;
  if (failure.detail.includes('could not be destroyed')) return null;
  return <p>Nothing was left behind: there is no new sandbox, and the snapshot is as it was.</p>;
}

function Checked({ of }: { of: Verification }) {
  return (
    <section class="verification" aria-label="Verification">
      <h3>{of.ok ? 'Everything that could be checked is right.' : 'Something is wrong with it.'}</h3>
      <ul class="checks">
        {of.checks.map(({ name, ok, detail }) => (
          <li key={name}>
            <Verdict ok={ok} /> <strong>{name}</strong>
            <p>{detail}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Relabel({ node, onClose }: { node: SnapshotNode; onClose: () => void }) {
  const { sandboxId, snapshotId = '' } = node.selected;
  const [newLabel, setLabel] = useState(node.name);
  const [replace, setReplace] = useState(false);
  const labelling = useAction(async () => {
    await client.label({ sandboxId, snapshotId, newLabel, replace });
    await refresh();
    announce(`The snapshot is called “${newLabel}” now.`);
  });
  return (
    <Ask title="Label the snapshot" verb="Label it" action={labelling} onClose={onClose}>
      <TextField label="Label" value={newLabel} onValue={setLabel} required />
      <TickField
        label="Take the label from the snapshot that has it"
        checked={replace}
        onValue={setReplace}
      />
    </Ask>
  );
}
