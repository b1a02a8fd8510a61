// The checkpoints in a running sandbox.

import { useEffect, useState } from 'preact/hooks';

import type { Checkpoint, CheckpointDiff } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { client } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Time } from '../ui/facts.tsx';
import { Name } from '../ui/name.tsx';
import { CreateCheckpoint, RestoreCheckpoint } from './checkpoint-dialogs.tsx';
import { Diff } from './diff.tsx';

/** The number of checkpoints that one call lists. */
const LIMIT = 50;

/** Lists, creates, compares and restores checkpoints. */
export function Checkpoints({
  sandboxId,
  running,
  isUnknown,
  isOfWorkspace,
}: {
  sandboxId: string;
  running: boolean | undefined;
  isUnknown: boolean;
  /** Whether the sandbox belongs or belonged to a workspace. */
  isOfWorkspace: boolean;
}) {
  const [checkpoints, setCheckpoints] = useState<Checkpoint[]>();
  const [cursor, setCursor] = useState<string>();
  const [diff, setDiff] = useState<CheckpointDiff>();
  const [selected, setSelected] = useState<string>();
  const [isCreating, setCreating] = useState(false);
  const subject = `checkpoints of ${sandboxId}`;
  const titleOf = (text: string) => (
    <>
      {text} of <Name of={sandboxId} />
    </>
  );

  // Not a `useLive`: each read runs a command in the sandbox, so that it would never go to sleep.
  const reading = useAction(
    { operation: 'list', subject, title: titleOf('Listing the checkpoints') },
    async () => {
      const page = await client.checkpoints.list({ sandboxId, limit: LIMIT });
      setCheckpoints(page.checkpoints);
      setCursor(page.cursor);
    },
  );
  const readingMore = useAction(
    { operation: 'list', subject, title: titleOf('Listing older checkpoints') },
    async (after: string) => {
      const page = await client.checkpoints.list({ sandboxId, limit: LIMIT, cursor: after });
      setCheckpoints((previous) => [...(previous ?? []), ...page.checkpoints]);
      setCursor(page.cursor);
    },
  );
  useEffect(() => {
    if (running !== false) void reading.run();
  }, [sandboxId, running]);
  const comparing = useAction(
    { operation: 'diff', subject, title: titleOf('Comparing with a checkpoint') },
    async (name: string) => setDiff(await client.checkpoints.diff({ sandboxId, name })),
  );

  if (running === false)
    return (
      <p class="empty">
        {isUnknown
          ? 'No container is running: checkpoints are in the container.'
          : isOfWorkspace
            ? 'The sandbox is not running. Start its workspace to use the checkpoints that are in its snapshot.'
            : 'The container has ended. Its checkpoints and files are gone, except for those in a snapshot.'}
      </p>
    );
  return (
    <>
      <div class="buttons">
        <Button needs="checkpoints/create" variant="primary" icon="add" onClick={() => setCreating(true)}>
          Create a checkpoint…
        </Button>
      </div>
      <div class="section-head">
        <h3>Checkpoints</h3>
        <Button variant="quiet" icon="refresh" busy={reading.busy} onClick={() => void reading.run()}>
          Refresh
        </Button>
      </div>
      <Failure of={reading.failure} retry={reading.retry} />
      {checkpoints?.length === 0 && <p class="empty">No checkpoints yet.</p>}
      <ul class="cards">
        {checkpoints?.map(({ name, commit, createdAt, description }) => (
          <li key={name}>
            <div>
              <strong>
                <Name of={name} />
              </strong>{' '}
              <span class="hint">
                <code>{commit.slice(0, 10)}</code>, <Time at={createdAt} />
              </span>
              <p>
                <Name of={description} />
              </p>
            </div>
            <div class="buttons">
              <Button
                busy={comparing.busy}
                label={`Compare with ${name}`}
                onClick={() => void comparing.run(name)}
              >
                Compare
              </Button>
              <Button
                needs="checkpoints/restore"
                label={`Restore ${name}…`}
                onClick={() => setSelected(name)}
              >
                Restore…
              </Button>
            </div>
          </li>
        ))}
      </ul>
      {cursor !== undefined && (
        <div class="buttons">
          <Button busy={readingMore.busy} onClick={() => void readingMore.run(cursor)}>
            Show older checkpoints
          </Button>
        </div>
      )}
      <Failure of={readingMore.failure} retry={readingMore.retry} />
      <Failure of={comparing.failure} retry={comparing.retry} />
      {diff && <Diff of={diff} onClose={() => setDiff(undefined)} />}
      {isCreating && (
        <CreateCheckpoint
          sandboxId={sandboxId}
          onDone={() => void reading.run()}
          onClose={() => setCreating(false)}
        />
      )}
      {selected !== undefined && (
        <RestoreCheckpoint
          sandboxId={sandboxId}
          name={selected}
          onDone={() => void reading.run()}
          onClose={() => setSelected(undefined)}
        />
      )}
    </>
  );
}
