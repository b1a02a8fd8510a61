// The checkpoints in a running sandbox.

import { useEffect, useState } from 'preact/hooks';

import type { Checkpoint, CheckpointDiff } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { client } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Time } from '../ui/facts.tsx';
import { Name } from '../ui/name.tsx';
import { GoBack, MakeCheckpoint } from './checkpoint-dialogs.tsx';
import { Diff } from './diff.tsx';

/** How many are read at a time. */
const LIMIT = 50;

/** Lists, makes and compares checkpoints, and goes back to one. */
export function Checkpoints({ sandboxId, running }: { sandboxId: string; running: boolean | undefined }) {
  const [checkpoints, setCheckpoints] = useState<Checkpoint[]>();
  const [cursor, setCursor] = useState<string>();
  const [diff, setDiff] = useState<CheckpointDiff>();
  const [chosen, setChosen] = useState<string>();
  const [isMaking, setMaking] = useState(false);
  const subject = `checkpoints of ${sandboxId}`;
  const of = (what: string) => (
    <>
      {what} of <Name of={sandboxId} />
    </>
  );

  // They are not read again and again: each reading runs a command in the sandbox, which would never fall asleep.
  const reading = useAction({ verb: 'list', subject, title: of('Reading the checkpoints') }, async () => {
    const page = await client.checkpoints.list({ sandboxId, limit: LIMIT });
    setCheckpoints(page.checkpoints);
    setCursor(page.cursor);
  });
  const readingOn = useAction(
    { verb: 'list', subject, title: of('Reading older checkpoints') },
    async (after: string) => {
      const page = await client.checkpoints.list({ sandboxId, limit: LIMIT, cursor: after });
      setCheckpoints((read) => [...(read ?? []), ...page.checkpoints]);
      setCursor(page.cursor);
    },
  );
  useEffect(() => {
    if (running !== false) void reading.run();
  }, [sandboxId, running]);
  const comparing = useAction(
    { verb: 'diff', subject, title: of('Comparing with a checkpoint') },
    async (name: string) => setDiff(await client.checkpoints.diff({ sandboxId, name })),
  );

  if (running === false)
    return (
      <p class="empty">
        The sandbox is asleep. Its checkpoints are gone with its files, unless a snapshot has them.
      </p>
    );
  return (
    <>
      <div class="buttons">
        <Button look="primary" icon="add" onClick={() => setMaking(true)}>
          Make a checkpoint…
        </Button>
      </div>
      <div class="section-head">
        <h3>Checkpoints</h3>
        <Button look="quiet" icon="refresh" busy={reading.busy} onClick={() => void reading.run()}>
          Read again
        </Button>
      </div>
      <Failure of={reading.failure} />
      {checkpoints?.length === 0 && <p class="empty">There is no checkpoint yet.</p>}
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
              <Button label={`Go back to ${name}…`} onClick={() => setChosen(name)}>
                Go back…
              </Button>
            </div>
          </li>
        ))}
      </ul>
      {cursor !== undefined && (
        <div class="buttons">
          <Button busy={readingOn.busy} onClick={() => void readingOn.run(cursor)}>
            Show older checkpoints
          </Button>
        </div>
      )}
      <Failure of={readingOn.failure} />
      <Failure of={comparing.failure} />
      {diff && <Diff of={diff} />}
      {isMaking && (
        <MakeCheckpoint
          sandboxId={sandboxId}
          onDone={() => void reading.run()}
          onClose={() => setMaking(false)}
        />
      )}
      {chosen !== undefined && (
        <GoBack
          sandboxId={sandboxId}
          name={chosen}
          onDone={() => setDiff(undefined)}
          onClose={() => setChosen(undefined)}
        />
      )}
    </>
  );
}
