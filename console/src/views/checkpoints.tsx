// The checkpoints in a running sandbox.

import { useEffect, useState } from 'preact/hooks';

import type { Checkpoint, CheckpointDiff } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { given, text } from '../options.ts';
import { client } from '../session.ts';
import { count } from '../texts.ts';
import { Button } from '../ui/button.tsx';
import { Ask } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { Time } from '../ui/facts.tsx';
import { TextField } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import { Diff } from './diff.tsx';

/** Lists, makes and compares checkpoints, and goes back to one. */
export function Checkpoints({ sandboxId, running }: { sandboxId: string; running: boolean | undefined }) {
  const [checkpoints, setCheckpoints] = useState<Checkpoint[]>();
  const [diff, setDiff] = useState<CheckpointDiff>();
  const [chosen, setChosen] = useState<Checkpoint>();
  const [isMaking, setMaking] = useState(false);

  // They are not read again and again: each reading runs a command in the sandbox, which would never fall asleep.
  const reading = useAction(async () => {
    setCheckpoints((await client.checkpoints.list({ sandboxId })).checkpoints);
  });
  useEffect(() => {
    if (running !== false) void reading.run();
  }, [sandboxId, running]);

  const comparing = useAction(async (name: string) =>
    setDiff(await client.checkpoints.diff({ sandboxId, name })),
  );
  const restoring = useAction(async () => {
    if (!chosen) return;
    const { changedCount } = await client.checkpoints.restore({ sandboxId, name: chosen.name });
    announce(`The files are as they were at “${chosen.name}”: ${count(changedCount, 'path')} changed.`);
    setDiff(undefined);
  });

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
        {checkpoints?.map((checkpoint) => (
          <li key={checkpoint.name}>
            <div>
              <strong>{checkpoint.name}</strong>{' '}
              <span class="hint">
                <code>{checkpoint.commit.slice(0, 10)}</code>, <Time at={checkpoint.createdAt} />
              </span>
              <p>{checkpoint.description}</p>
            </div>
            <div class="buttons">
              <Button
                busy={comparing.busy}
                label={`Compare with ${checkpoint.name}`}
                onClick={() => void comparing.run(checkpoint.name)}
              >
                Compare
              </Button>
              <Button label={`Go back to ${checkpoint.name}…`} onClick={() => setChosen(checkpoint)}>
                Go back…
              </Button>
            </div>
          </li>
        ))}
      </ul>
      <Failure of={comparing.failure} />
      {diff && <Diff of={diff} />}
      {isMaking && (
        <MakeCheckpoint
          sandboxId={sandboxId}
          onMade={() => void reading.run()}
          onClose={() => setMaking(false)}
        />
      )}
      {chosen && (
        <Ask
          title={`Go back to “${chosen.name}”?`}
          verb="Go back"
          look="danger"
          action={restoring}
          onClose={() => setChosen(undefined)}
        >
          <p>
            The files of {sandboxId} are put back in place, as they were at the checkpoint. What was written
            since is undone.
          </p>
          <p class="hint">
            What is there now is kept as <code>refs/sandbox/before-restore</code> until the next time.
          </p>
        </Ask>
      )}
    </>
  );
}

function MakeCheckpoint({
  sandboxId,
  onMade,
  onClose,
}: {
  sandboxId: string;
  onMade: () => void;
  onClose: () => void;
}) {
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const making = useAction(async () => {
    const options = given({ sandboxId, name: name.trim(), description: text(description) });
    const { replaced } = await client.checkpoints.create(options);
    announce(
      replaced
        ? `The checkpoint “${name}” goes on to the files as they are now.`
        : `The checkpoint “${name}” was made.`,
    );
    onMade();
  });
  return (
    <Ask title="Make a checkpoint" verb="Make it" action={making} onClose={onClose}>
      <p>
        Keeps the files of {sandboxId} as they are now, inside of it. A name that is there goes on to them.
      </p>
      <TextField
        label="Name"
        hint="Letters, digits and _ . - without blanks."
        value={name}
        onValue={setName}
        required
      />
      <TextField label="What it is of" value={description} onValue={setDescription} />
    </Ask>
  );
}
