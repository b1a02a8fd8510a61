// Taking a snapshot.

import { useState } from 'preact/hooks';

import type { Compression, SnapshotOptions } from '../../../client/src/index.ts';
import { make } from '../action-keys.ts';
import { useAction } from '../action.ts';
import { given, lines, text } from '../options.ts';
import type { Place } from '../routes.ts';
import { size } from '../texts.ts';
import { Ask } from '../ui/dialog.tsx';
import { DurationField } from '../ui/duration.tsx';
import { ChoiceField, LinesField, MoreFields, TextField, TickField } from '../ui/field.tsx';
import { Name } from '../ui/name.tsx';

type Format = NonNullable<Compression['format']> | '';

/** Asks for what is to be captured, and captures it. */
export function TakeSnapshot({
  sandboxId,
  place,
  onClose,
}: {
  sandboxId: string;
  /** Where the new snapshot is shown. */
  place: (snapshotId: string) => Place;
  onClose: () => void;
}) {
  const [label, setLabel] = useState('');
  const [replace, setReplace] = useState(false);
  const [dir, setDir] = useState('');
  const [excludes, setExcludes] = useState('');
  const [gitignore, setGitignore] = useState(false);
  const [format, setFormat] = useState<Format>('');
  const [expirationSeconds, setExpiration] = useState<number>();
  const [wake, setWake] = useState(false);
  const [fresh, setFresh] = useState(false);

  const title = (
    <>
      Taking a snapshot of <Name of={sandboxId} />
    </>
  );
  const taking = useAction(
    { verb: 'snapshot', subject: sandboxId, title },
    async () => {
      const options = given<SnapshotOptions>({
        sandboxId,
        label: text(label),
        dir: text(dir),
        excludes: lines(excludes),
        expirationSeconds,
        compression: format === '' ? undefined : { format },
        replace: replace || undefined,
        gitignore: gitignore || undefined,
        wake: wake || undefined,
        fresh: fresh || undefined,
      });
      const { ref, capture } = await make('snapshot', options);
      const said = (
        <>
          The snapshot “<Name of={capture.label} />” was taken: {size(capture.sizeBytes)}.
        </>
      );
      return { said, to: place(ref.snapshotId), made: true };
    },
    onClose,
  );

  return (
    <Ask title="Take a snapshot" verb="Take it" action={taking} onClose={onClose}>
      <p>
        Keeps the files of{' '}
        <strong>
          <Name of={sandboxId} />
        </strong>
        . The sandbox runs on.
      </p>
      <TextField label="Label" hint="One by the time where you give none." value={label} onValue={setLabel} />
      <TickField
        label="Take the label from the snapshot that has it"
        checked={replace}
        onValue={setReplace}
      />
      <MoreFields>
        <TextField
          label="Directory"
          hint="The deployment’s own where you name none, mostly /workspace."
          value={dir}
          onValue={setDir}
        />
        <LinesField
          label="Leave out"
          hint="Patterns of names without a slash, a line each: node_modules, *.log."
          value={excludes}
          onValue={setExcludes}
        />
        <TickField label="Leave out what git ignores" checked={gitignore} onValue={setGitignore} />
        <ChoiceField
          label="Compression"
          value={format}
          choices={[
            ['', 'as the SDK has it'],
            ['zstd', 'zstd: the smallest at a fair speed'],
            ['lz4', 'lz4: the fastest'],
            ['gzip', 'gzip: found everywhere'],
          ]}
          onValue={setFormat}
        />
        <DurationField
          label="Goes after its last use"
          absent="as the policy says"
          value={expirationSeconds}
          onValue={setExpiration}
        />
        <TickField
          label="Take none that is under way already"
          hint="What was written since that began would not be in it."
          checked={fresh}
          onValue={setFresh}
        />
        <TickField
          label="Start the sandbox where it does not run"
          hint="It is captured as it starts: with none of its files."
          checked={wake}
          onValue={setWake}
        />
      </MoreFields>
    </Ask>
  );
}
