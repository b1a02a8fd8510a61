// A field that runs commands in a running workspace, and its files.

import { useEffect, useRef, useState } from 'preact/hooks';

import type { FilePage } from '../../../client/src/index.ts';
import { refresh } from '../live.ts';
import { href, type Address } from '../routes.ts';
import { StateBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Name } from '../ui/name.tsx';
import { Remark } from '../ui/remark.tsx';
import { AddFile } from './add-file.tsx';
import { FileTable, PathLinks } from './file-table.tsx';
import { PossibleLoss } from './possible-loss.tsx';
import { Terminal } from './terminal.tsx';
import { useFiles, type Found } from './use-files.ts';
import { useWorkspace } from './use-workspace.ts';
import { WorkspaceFailures } from './workspace-actions.tsx';
import { WorkspaceFile } from './workspace-file.tsx';

/** The maximum number of files that the page shows of a directory. */
const LIMIT = 1000;

/** A directory or a file of a workspace, and a field for a command. Nothing is read before the workspace runs, because that would start it. */
export function WorkView({ tenant, name, path = '' }: Address & { path?: string }) {
  const { live, workspace, actions } = useWorkspace({ tenant, name });
  return (
    <>
      <header class="page-head">
        <p class="kind">
          Files of the workspace{' '}
          <a href={href({ at: 'workspace', tenant, name })}>
            <Name of={name} />
          </a>
        </p>
        <h1>
          <PathLinks path={path} linkTo={(path) => href({ at: 'work', tenant, name, path })} />
        </h1>
        {workspace && <StateBadge state={workspace.state} containerEnded={workspace.containerEnded} />}
        {workspace && workspace.state !== 'active' && (
          <Button
            needs="workspaces/start"
            variant="primary"
            busy={actions.start.busy}
            onClick={() => void actions.start.run()}
          >
            Start
          </Button>
        )}
      </header>
      <WorkspaceFailures actions={actions}>{(failures) => <>{failures}</>}</WorkspaceFailures>
      <Loaded of={live} loading="Loading the workspace…">
        {({ state }) =>
          state === 'active' ? (
            <>
              {workspace && <PossibleLoss of={workspace} />}
              <Work address={{ tenant, name }} path={path} hasEnded={workspace?.containerEnded === true} />
            </>
          ) : (
            <p class="empty">The workspace is {state}. Start it to work with its files.</p>
          )
        }
      </Loaded>
    </>
  );
}

/** `hasEnded` is whether the container had ended when the workspace was last read. */
function Work({ address, path, hasEnded }: { address: Address; path: string; hasEnded: boolean }) {
  // Reading counts as a use of the workspace, so the page reads again only after a change.
  const [changes, setChanges] = useState(0);
  const { value, failure, retry } = useFiles(address, path, LIMIT, changes);
  const onChange = () => setChanges((count) => count + 1);
  // The files were read in a new container, and the workspace says what that one may have lost.
  const isStarted = hasEnded && value !== undefined;
  useEffect(() => {
    if (isStarted) void refresh();
  }, [isStarted]);
  // While the page reads again, it shows what it read before.
  const last = useRef<{ path: string; value: Found }>(undefined);
  if (value) last.current = { path, value };
  const shown =
    value ?? (failure === undefined && last.current?.path === path ? last.current.value : undefined);
  return (
    <>
      <Terminal address={address} onEnd={onChange} />
      <Failure of={failure} retry={retry} />
      {shown === undefined && failure === undefined && <p class="empty">Reading…</p>}
      {shown?.page && <Directory {...{ address, path, onChange }} of={shown.page} />}
      {shown && !shown.page && <WorkspaceFile key={path} {...{ address, path, onChange }} {...shown} />}
    </>
  );
}

function Directory({
  address,
  path,
  of: { files, cursor },
  onChange,
}: {
  address: Address;
  path: string;
  of: FilePage;
  onChange: () => void;
}) {
  return (
    <>
      {files.length === 0 && <p class="empty">The directory is empty.</p>}
      {files.length > 0 && (
        <FileTable files={files} path={path} linkTo={(path) => href({ at: 'work', ...address, path })} />
      )}
      {cursor !== undefined && (
        <Remark>These are the first {LIMIT} files. List the others with a command.</Remark>
      )}
      <AddFile key={path} {...{ address, path, onChange }} />
    </>
  );
}
