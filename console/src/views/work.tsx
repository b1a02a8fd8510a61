// A field that runs commands in a running workspace, and its files.

import { useEffect, useRef, useState } from 'preact/hooks';

import type { FilePage, Workspace, WorkspaceState } from '../../../client/src/index.ts';
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
import { failureOf, WorkspaceFailures } from './workspace-actions.tsx';
import { WorkspaceFile } from './workspace-file.tsx';
import { ProblemOf } from './workspace-problem.tsx';

/** The maximum number of files that the page shows of a directory. */
const LIMIT = 1000;

/** The states in which the files are read: a workspace that is being restored is about to run. */
const OPEN: ReadonlySet<WorkspaceState> = new Set(['active', 'restoring']);

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
        {(workspace) => <Work of={workspace} path={path} hasFailure={failureOf(actions) !== undefined} />}
      </Loaded>
    </>
  );
}

/** `hasFailure` is whether the page shows the failure of the last action. */
function Work({ of, path, hasFailure }: { of: Workspace; path: string; hasFailure: boolean }) {
  const { tenant, name, state, problem } = of;
  const isOpen = OPEN.has(state);
  // What commands have shown stays, also if the workspace cannot be started again after one.
  const wasOpen = useRef(false);
  wasOpen.current ||= isOpen;
  const [changes, setChanges] = useState(0);
  const onChange = () => {
    setChanges((count) => count + 1);
    if (!isOpen) void refresh();
  };
  return (
    <>
      {isOpen && <PossibleLoss of={of} />}
      {!isOpen && problem && !hasFailure && <ProblemOf of={problem} />}
      {wasOpen.current && <Terminal address={{ tenant, name }} onEnd={onChange} />}
      {isOpen ? (
        <Files {...{ of, path, changes, onChange }} />
      ) : (
        <p class="empty">
          {state === 'failed' ? 'The last start failed' : `The workspace is ${state}`}. Start it to work with
          its files.
        </p>
      )}
    </>
  );
}

/** What is at a path. Reading it counts as a use of the workspace, so it is read again only after another of `changes`. */
function Files({
  of: { tenant, name, containerEnded: hasEnded = false },
  path,
  changes,
  onChange,
}: {
  of: Workspace;
  path: string;
  changes: number;
  onChange: () => void;
}) {
  const address = { tenant, name };
  const { value, failure, retry } = useFiles(address, path, LIMIT, changes);
  // Reading the files started the workspace, which then says what its new container may have lost, or why it cannot start.
  const isStarted = hasEnded && (value !== undefined || failure !== undefined);
  useEffect(() => {
    if (isStarted) void refresh();
  }, [isStarted]);
  // While the page reads again, it shows what it read before, unless that was in a container that has ended.
  const last = useRef<{ path: string; value: Found }>(undefined);
  if (value) last.current = { path, value };
  if (hasEnded) last.current = undefined;
  const shown =
    value ?? (failure === undefined && last.current?.path === path ? last.current.value : undefined);
  return (
    <>
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
