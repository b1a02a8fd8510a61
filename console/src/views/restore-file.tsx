// Restores a file of a snapshot to a running workspace or sandbox.

import { useState } from 'preact/hooks';

import { useAction } from '../action.ts';
import { useOnce } from '../once.ts';
import { href, type Selected } from '../routes.ts';
import { client } from '../session.ts';
import { ActionDialog } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { TickField } from '../ui/field.tsx';
import { Name } from '../ui/name.tsx';
import { Remark } from '../ui/remark.tsx';
import { fileExists } from './file-exists.ts';
import { readTarget, type RestoreTarget } from './restore-target.ts';

/** Says where the file is written, and writes it. Replaces an existing file only if the user selects that. */
export function RestoreFile({
  of,
  path,
  to,
  onRestored,
  onClose,
}: {
  of: Required<Selected>;
  path: string;
  /** The sandbox to write to. If absent, the present one of the snapshot's workspace, or else the snapshot's own. */
  to?: string;
  onRestored?: () => void;
  onClose: () => void;
}) {
  const [overwrite, setOverwrite] = useState(false);
  const reading = useOnce(JSON.stringify(['target', of, to]), (options) => readTarget(of, to, options));
  const target = reading.value;
  const name = <Name of={path} />;
  const restoring = useAction(
    { operation: 'files/restore', subject: JSON.stringify([of, path]), title: <>The restore of {name}</> },
    async () => {
      if (!target) return;
      const { sandboxId, dir } = target;
      const { skipped } = await client.files.restore({ ...of, paths: [path], to: sandboxId, dir, overwrite });
      if (skipped.length > 0)
        throw fileExists(path, `It was not changed. To replace it, select “${REPLACE}”.`);
      return {
        message: (
          <>
            {name} is restored in <TargetLink of={target} />.
          </>
        ),
      };
    },
    () => {
      onClose();
      onRestored?.();
    },
  );
  return (
    <ActionDialog
      title="Restore this file?"
      submitLabel="Restore"
      disabled={!target?.isRunning}
      action={restoring}
      onClose={onClose}
    >
      {target ? (
        <p>
          Writes{' '}
          <span class="mono">
            <Name of={`${target.dir}/${path}`} />
          </span>{' '}
          in <TargetLink of={target} />, as it is in the snapshot.
        </p>
      ) : (
        reading.failure === undefined && <p class="empty">Looking for the workspace…</p>
      )}
      {target?.isRunning === false && (
        <Remark role="status">
          Start the {target.workspace ? 'workspace' : 'sandbox'} first. Files are restored only to a running
          sandbox.
        </Remark>
      )}
      <Failure of={reading.failure} retry={reading.retry} />
      <TickField label={REPLACE} checked={overwrite} onValue={setOverwrite} />
    </ActionDialog>
  );
}

const REPLACE = 'Replace the file if it exists';

function TargetLink({ of: { sandboxId, workspace } }: { of: RestoreTarget }) {
  const link = workspace
    ? href({ at: 'workspace', tenant: workspace.tenant, name: workspace.name })
    : href({ at: 'sandbox', sandboxId });
  return (
    <>
      the {workspace ? 'workspace' : 'sandbox'}{' '}
      <a href={link}>
        <Name of={workspace?.name ?? sandboxId} />
      </a>
    </>
  );
}
