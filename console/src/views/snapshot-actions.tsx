// What can be done with a snapshot.

import { useState } from 'preact/hooks';

import { SnapshotterError, type Verification } from '../../../client/src/index.ts';
import { make } from '../action-keys.ts';
import { useAction } from '../action.ts';
import { client } from '../session.ts';
import type { SnapshotNode } from '../tree/nodes.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Name } from '../ui/name.tsx';
import { DeleteSnapshot } from './delete-snapshot.tsx';
import type { At } from './details.ts';
import { Relabel } from './relabel-snapshot.tsx';
import { Checked } from './verification.tsx';

/** The actions on a snapshot that is there. */
export function SnapshotActions({ node, at }: { node: SnapshotNode; at: At }) {
  const { sandboxId, snapshotId = '' } = node.selected;
  const selection = { sandboxId, snapshotId };
  const { pinned } = node.snapshot;
  const [asked, setAsked] = useState<'label' | 'delete'>();
  const [verification, setVerification] = useState<Verification>();

  const derive = async (how: 'restore' | 'branch') => {
    const { ref } = await make(how, selection);
    return {
      said: (
        <>
          The new sandbox is <Name of={ref.sandboxId} />.
        </>
      ),
      to: at({ selected: { sandboxId: ref.sandboxId } }),
      made: true,
    };
  };
  const called = <Name of={node.name} />;
  const deed = (verb: string, title: string) => ({
    verb,
    subject: node.id,
    title: (
      <>
        {title} “{called}”
      </>
    ),
  });
  const restoring = useAction(deed('restore', 'The restore of'), () => derive('restore'));
  const branching = useAction(deed('branch', 'The branch from'), () => derive('branch'));
  const verifying = useAction(deed('verify', 'The verification of'), async () =>
    setVerification(await client.verify(selection)),
  );
  const pinning = useAction(deed('pin', 'Pinning or unpinning'), async () => {
    await (pinned ? client.unpin(selection) : client.pin(selection));
    return {
      said: pinned ? <>“{called}” is left to the policy again.</> : <>“{called}” is pinned.</>,
    };
  });

  const failure = restoring.failure ?? branching.failure;
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
      <Failure of={failure}>{wasUntouched(failure) && <p>No sandbox was made.</p>}</Failure>
      <Failure of={pinning.failure ?? verifying.failure} />
      {verification && !verifying.busy && <Checked of={verification} />}
      {asked === 'label' && <Relabel node={node} onClose={() => setAsked(undefined)} />}
      {asked === 'delete' && <DeleteSnapshot node={node} at={at} onClose={() => setAsked(undefined)} />}
    </>
  );
}

/** Codes of failures that come before a sandbox is made. Others say themselves what became of it. */
const UNTOUCHED: ReadonlySet<string> = new Set([
  'SERVICE_UNREACHABLE',
  'SNAPSHOT_BUSY',
  'SNAPSHOT_NOT_FOUND',
]);

function wasUntouched(failure: unknown): boolean {
  return failure instanceof SnapshotterError && UNTOUCHED.has(failure.code);
}
