// Takes a snapshot.

import { useState } from 'preact/hooks';

import type { Compression, SnapshotOptions } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { size } from '../format.ts';
import { create } from '../idempotency.ts';
import { defined, lines, text } from '../options.ts';
import type { Place } from '../routes.ts';
import { ActionDialog } from '../ui/dialog.tsx';
import { DurationField } from '../ui/duration.tsx';
import { ChoiceField, LinesField, MoreFields, TextField, TickField } from '../ui/field.tsx';
import { Name } from '../ui/name.tsx';
import { Remark } from '../ui/remark.tsx';

type Format = NonNullable<Compression['format']> | '';

/** Asks for the options of a snapshot, and takes it. */
export function TakeSnapshot({
  sandboxId,
  name = sandboxId,
  dir: initialDir = '',
  running,
  placeOf,
  onClose,
}: {
  sandboxId: string;
  /** The name of its workspace, on the page of which the dialog is. */
  name?: string;
  /** The directory of its workspace. */
  dir?: string;
  /** Whether its container is running; undefined if that is unknown. */
  running: boolean | undefined;
  /** Returns the page that shows the new snapshot. */
  placeOf: (snapshotId: string) => Place;
  onClose: () => void;
}) {
  const [label, setLabel] = useState('');
  const [replace, setReplace] = useState(false);
  const [dir, setDir] = useState(initialDir);
  const [excludes, setExcludes] = useState('');
  const [gitignore, setGitignore] = useState(false);
  const [format, setFormat] = useState<Format>('');
  const [expirationSeconds, setExpiration] = useState<number>();
  const [wake, setWake] = useState(false);
  const [fresh, setFresh] = useState(false);

  const title = (
    <>
      Taking a snapshot of <Name of={name} />
    </>
  );
  const taking = useAction(
    { operation: 'snapshot', subject: sandboxId, title },
    async () => {
      const options = defined<SnapshotOptions>({
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
      const { ref, capture } = await create('snapshot', options);
      const message = (
        <>
          The snapshot “<Name of={capture.label} />” was taken: {size(capture.sizeBytes)}
          {capture.form === 'delta' && ', only the changes'}.
        </>
      );
      return { message, to: placeOf(ref.snapshotId), isNew: true };
    },
    onClose,
  );

  const waking = (
    <TickField
      label="Start the sandbox if it is not running"
      hint="It starts, and is captured, without any of its files."
      checked={wake}
      onValue={setWake}
    />
  );
  return (
    <ActionDialog title="Take a snapshot" submitLabel="Take snapshot" action={taking} onClose={onClose}>
      <p>
        Saves the files of{' '}
        <strong>
          <Name of={name} />
        </strong>
        .{running && ' The sandbox keeps running.'}
      </p>
      {running === false && (
        <>
          <Remark>
            Its container has ended, with its files: there is nothing to save unless it is started.
          </Remark>
          {waking}
        </>
      )}
      <TextField label="Label" hint="Leave empty to use the time." value={label} onValue={setLabel} />
      <TickField label="Take the label from another snapshot" checked={replace} onValue={setReplace} />
      <MoreFields>
        <TextField
          label="Directory"
          hint="Leave empty for the default, usually /workspace."
          value={dir}
          onValue={setDir}
        />
        <LinesField
          label="Exclude"
          hint="One name pattern per line, without slashes: node_modules, *.log."
          value={excludes}
          onValue={setExcludes}
        />
        <TickField label="Exclude files that git ignores" checked={gitignore} onValue={setGitignore} />
        <ChoiceField
          label="Compression"
          value={format}
          choices={[
            ['', 'default of the SDK'],
            ['zstd', 'zstd: smallest, moderate speed'],
            ['lz4', 'lz4: fastest'],
            ['gzip', 'gzip: available everywhere'],
          ]}
          onValue={setFormat}
        />
        <DurationField
          label="Expires after its last use"
          absent="like the policy"
          value={expirationSeconds}
          onValue={setExpiration}
        />
        <TickField
          label="Start a new capture"
          hint="A capture in progress may miss files that were written since it began."
          checked={fresh}
          onValue={setFresh}
        />
        {running !== false && waking}
      </MoreFields>
    </ActionDialog>
  );
}
