// The actions on a named workspace, in the list and on its page.

import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';

import {
  SnapshotterError,
  type HookRun,
  type StartSettings,
  type Workspace,
  type WorkspaceState,
} from '../../../client/src/index.ts';
import { useAction, type Action } from '../action.ts';
import { permits } from '../permissions.ts';
import { href, type Address } from '../routes.ts';
import { client } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { ForkWorkspace } from './fork-workspace.tsx';
import { Promote } from './promote.tsx';
import { TakeSnapshot } from './take-snapshot.tsx';
import { DeleteWorkspace, DiscardAndStart, StopWithoutSnapshot } from './workspace-dialogs.tsx';
import { startWorkspace, stopWorkspace, subjectOf } from './workspace-operations.ts';

/** A dialog of a workspace. */
type DialogName = 'snapshot' | 'fork' | 'promote' | 'delete' | 'stop' | 'discard';

/** The actions on a workspace, and its open dialog. */
export interface WorkspaceActions {
  address: Address;
  start: Action<[StartSettings?]>;
  /** Stops the workspace. Asks for confirmation first if it is not persistent. */
  stop: Action<[]>;
  /** The open dialog. */
  dialog: DialogName | undefined;
  openDialog: (dialog: DialogName | undefined) => void;
  /** The hooks that failed in the last start or stop. */
  failedHooks: HookRun[];
  setFailedHooks: (failed: HookRun[]) => void;
}

/** Returns the actions on a workspace. */
export function useWorkspaceActions(address: Address): WorkspaceActions {
  const [dialog, openDialog] = useState<DialogName>();
  const [failedHooks, setFailedHooks] = useState<HookRun[]>([]);
  const subject = subjectOf(address);
  const start = useAction(
    { operation: 'start', subject, title: <>The start of {address.name}</> },
    (settings: StartSettings = {}) => startWorkspace(address, settings, setFailedHooks),
  );
  const stop = useAction({ operation: 'stop', subject, title: <>The stop of {address.name}</> }, async () => {
    const { persistent } = await client.workspaces.getByName(address);
    if (persistent) return stopWorkspace(address, setFailedHooks);
    return openDialog((open) => open ?? 'stop');
  });
  return { address, start, stop, dialog, openDialog, failedHooks, setFailedHooks };
}

/** The states in which the workspace can be stopped, and has started already. */
const STOPPABLE: ReadonlySet<WorkspaceState> = new Set(['active', 'stopping']);

/** The buttons of a workspace, and the dialogs that they open. */
export function WorkspaceButtons({
  state,
  actions,
  workspace,
}: {
  state: WorkspaceState;
  actions: WorkspaceActions;
  /**
   * The workspace, on its page. There, further buttons take a snapshot, start an active workspace again, which
   * restores its files if its sandbox has ended, and promote a workspace to this one; and a link opens its files.
   */
  workspace?: Workspace;
}) {
  const { address, start, stop, dialog, openDialog, setFailedHooks } = actions;
  const { name } = address;
  const canStop = STOPPABLE.has(state);
  const canCheck = workspace !== undefined;
  const close = () => openDialog(undefined);
  return (
    <div class="buttons">
      {canCheck && permits('exec') && (
        <a class="button" href={href({ at: 'work', ...address })}>
          Files and commands
        </a>
      )}
      {canStop && (
        <Button
          needs="workspaces/stop"
          label={`Stop ${name}`}
          busy={stop.busy}
          onClick={() => void stop.run()}
        >
          Stop
        </Button>
      )}
      {!canStop && (
        <Button
          needs="workspaces/start"
          label={`Start ${name}`}
          busy={start.busy}
          onClick={() => void start.run()}
        >
          Start
        </Button>
      )}
      {canCheck && state === 'active' && (
        <Button needs="snapshot" label={`Take a snapshot of ${name}…`} onClick={() => openDialog('snapshot')}>
          Take a snapshot…
        </Button>
      )}
      {canStop && canCheck && (
        <Button
          needs="workspaces/start"
          variant="quiet"
          label={`Check ${name}`}
          title="Checks whether its sandbox is running with its files, and restores them if it has ended."
          busy={start.busy}
          onClick={() => void start.run()}
        >
          Check
        </Button>
      )}
      <div class="buttons">
        <Button
          needs="workspaces/fork"
          variant="quiet"
          label={`Fork ${name}…`}
          onClick={() => openDialog('fork')}
        >
          Fork…
        </Button>
        {canCheck && (
          <Button
            needs="workspaces/promote"
            variant="quiet"
            label={`Promote to ${name}…`}
            onClick={() => openDialog('promote')}
          >
            Promote…
          </Button>
        )}
        <Button
          needs="workspaces/delete"
          variant="quiet"
          label={`Delete ${name}…`}
          onClick={() => openDialog('delete')}
        >
          Delete…
        </Button>
      </div>
      {dialog === 'snapshot' && workspace && <SnapshotOf workspace={workspace} onClose={close} />}
      {dialog === 'fork' && <ForkWorkspace address={address} onClose={close} />}
      {dialog === 'promote' && <Promote address={address} onClose={close} />}
      {dialog === 'delete' && <DeleteWorkspace address={address} onClose={close} />}
      {dialog === 'stop' && (
        <StopWithoutSnapshot address={address} onFailedHooks={setFailedHooks} onClose={close} />
      )}
      {dialog === 'discard' && (
        <DiscardAndStart address={address} onFailedHooks={setFailedHooks} onClose={close} />
      )}
    </div>
  );
}

/** Takes a snapshot of an active workspace. */
function SnapshotOf({
  workspace: { tenant, name, sandboxId, dir },
  onClose,
}: {
  workspace: Workspace;
  onClose: () => void;
}) {
  return (
    <TakeSnapshot
      sandboxId={sandboxId}
      name={name}
      dir={dir}
      running
      onClose={onClose}
      placeOf={(snapshotId) => ({ at: 'workspace', tenant, name, selected: { sandboxId, snapshotId } })}
    />
  );
}

/** The choices after a failed start, by the code of the failure. Those that discard files open a dialog. */
const CHOICES: Record<string, [string, StartSettings | 'discard'][]> = {
  WORKSPACE_DIVERGED: [
    ['Adopt the files', { onDiverged: 'adopt' }],
    ['Save them in a rescue snapshot and restore', { onDiverged: 'rescue' }],
    ['Discard them and restore…', 'discard'],
  ],
  SNAPSHOT_STALE: [['Start anyway', { acceptStale: true }]],
  NOTHING_RESTORABLE: [['Start empty', { allowEmpty: true }]],
};

/** Returns the failure of the last start or stop. */
export const failureOf = ({ start, stop }: WorkspaceActions): unknown => start.failure ?? stop.failure;

/** The failure of the last start or stop with the choices to continue, and the failed hooks. Renders nothing without a failure. */
export function WorkspaceFailures({
  actions,
  children,
}: {
  actions: WorkspaceActions;
  /** Renders the container of the failures. */
  children: (failures: ComponentChildren) => JSX.Element;
}) {
  const { address, start, stop, openDialog, failedHooks } = actions;
  const failure = failureOf(actions);
  if (failure === undefined && failedHooks.length === 0) return null;
  const choices = (failure instanceof SnapshotterError && CHOICES[failure.code]) || [];
  return children(
    <>
      <Failure
        of={failure}
        remediation={choices.length > 0 ? 'Choose how to continue:' : undefined}
        retry={start.failure === undefined ? stop.retry : start.retry}
      >
        {choices.length > 0 && (
          <div class="buttons" role="group" aria-label={`Start ${address.name} anyway`}>
            {choices.map(([text, choice]) => (
              <Button
                needs="workspaces/start"
                key={text}
                busy={start.busy}
                onClick={() => (choice === 'discard' ? openDialog('discard') : void start.run(choice))}
              >
                {text}
              </Button>
            ))}
          </div>
        )}
      </Failure>
      {failedHooks.map(({ hook, output }) => (
        <section key={hook} class="failure" aria-label={`Output of the hook ${hook}`}>
          <p>
            The hook <strong>{hook}</strong> failed.
          </p>
          <pre class="scroll" tabIndex={0}>
            {output}
          </pre>
        </section>
      ))}
    </>,
  );
}
