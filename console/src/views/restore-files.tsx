// Restores a file or a directory of a snapshot to a running workspace or sandbox.

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

/** Says where the files are written, and writes them. Replaces existing files only if the user selects that. */
export function RestoreFiles({
  of,
  path,
  isDirectory = false,
  isReplaced = false,
  to,
  onRestored,
  onClose,
}: {
  of: Required<Selected>;
  path: string;
  /** Whether the path is that of a directory. */
  isDirectory?: boolean;
  /** Whether the user knows that the file exists, and that it differs. */
  isReplaced?: boolean;
  /** The sandbox to write to. If absent, the present one of the snapshot's workspace, or else the snapshot's own. */
  to?: string;
  onRestored?: () => void;
  onClose: () => void;
}) {
  const [overwrite, setOverwrite] = useState(isReplaced);
  const reading = useOnce(JSON.stringify(['target', of, to]), (options) => readTarget(of, to, options));
  const target = reading.value;
  const name = <Name of={path || '/'} />;
  const kind = isDirectory ? 'directory' : 'file';
  const replace = isDirectory ? 'Replace files that exist' : 'Replace the file if it exists';
  const restoring = useAction(
    { operation: 'files/restore', subject: JSON.stringify([of, path]), title: <>The restore of {name}</> },
    async () => {
      if (!target) return;
      const { sandboxId, dir } = target;
      const options = { ...of, paths: [path || '/'], to: sandboxId, dir, overwrite };
      const { restored, skipped, leftOut = [] } = await client.files.restore(options);
      if (skipped.length > 0 && !isDirectory)
        throw fileExists(path, `It was not changed. To replace it, select “${replace}”.`);
      return {
        message: (
          <>
            {name} is restored in <TargetLink of={target} />
            {isDirectory && `: ${counted(restored, skipped, leftOut)}`}.
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
      title={`${isReplaced ? 'Replace' : 'Restore'} this ${kind}?`}
      submitLabel={isReplaced ? 'Replace' : 'Restore'}
      disabled={!target?.isRunning}
      action={restoring}
      onClose={onClose}
    >
      {target ? (
        <p>
          {isReplaced ? 'Replaces' : 'Writes'}{' '}
          <span class="mono">
            <Name of={path ? `${target.dir}/${path}` : target.dir} />
          </span>{' '}
          in <TargetLink of={target} />, {isReplaced ? 'with the one of' : 'as it is in'} the snapshot.
          {isDirectory && ' Files that are only in the sandbox stay.'}
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
      {!isReplaced && <TickField label={replace} checked={overwrite} onValue={setOverwrite} />}
    </ActionDialog>
  );
}

/** Counts what a restore did. */
function counted(restored: string[], skipped: string[], leftOut: string[]): string {
  const parts = [`${restored.length} written`];
  if (skipped.length > 0) parts.push(`${skipped.length} exist and were not changed`);
  if (leftOut.length > 0)
    parts.push(`${leftOut.length} left out, which are devices or pipes, or have names that are not UTF-8`);
  return parts.join(', ');
}

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
