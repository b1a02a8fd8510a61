// What can be done with a named workspace, from the list and from its page.

import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';

import {
  SnapshotterError,
  type HookRun,
  type StartSettings,
  type WorkspaceState,
} from '../../../client/src/index.ts';
import { useAction, type Action } from '../action.ts';
import type { Address } from '../routes.ts';
import { client } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { ForkWorkspace } from './fork-workspace.tsx';
import { DeleteWorkspace, DiscardAndStart, StopUnkept } from './workspace-dialogs.tsx';
import { startWorkspace, stopWorkspace, subjectOf } from './workspace-work.ts';

/** What is asked before something is done. */
type Question = 'fork' | 'delete' | 'stop' | 'discard';

/** What can be done with a workspace. */
export interface WorkspaceActions {
  address: Address;
  start: Action<[StartSettings?]>;
  /** Stops it. One that keeps no files is asked about. */
  stop: Action<[]>;
  /** What is asked now. */
  asked: Question | undefined;
  ask: (question: Question | undefined) => void;
  /** The hooks that failed in the last start or stop. */
  failed: HookRun[];
  setFailed: (failed: HookRun[]) => void;
}

/** The actions on a workspace. */
export function useWorkspace(address: Address): WorkspaceActions {
  const [asked, ask] = useState<Question>();
  const [failed, setFailed] = useState<HookRun[]>([]);
  const subject = subjectOf(address);
  const start = useAction(
    { verb: 'start', subject, title: <>The start of {address.name}</> },
    (settings: StartSettings = {}) => startWorkspace(address, settings, setFailed),
  );
  const stop = useAction({ verb: 'stop', subject, title: <>The stop of {address.name}</> }, async () => {
    const { persistent } = await client.workspaces.getByName(address);
    if (persistent) return stopWorkspace(address, setFailed);
    return ask((asked) => asked ?? 'stop');
  });
  return { address, start, stop, asked, ask, failed, setFailed };
}

/** States in which there is something to stop. A start makes sure then that it is still there. */
const RUNS: ReadonlySet<WorkspaceState> = new Set(['active', 'stopping']);

/** The buttons of a workspace, and what they ask. */
export function WorkspaceButtons({ state, actions }: { state: WorkspaceState; actions: WorkspaceActions }) {
  const { address, start, stop, asked, ask, setFailed } = actions;
  const { name } = address;
  const close = () => ask(undefined);
  return (
    <div class="buttons">
      {RUNS.has(state) && (
        <Button label={`Stop ${name}`} busy={stop.busy} onClick={() => void stop.run()}>
          Stop
        </Button>
      )}
      <Button
        look={RUNS.has(state) ? 'quiet' : 'plain'}
        label={`Start ${name}`}
        busy={start.busy}
        onClick={() => void start.run()}
      >
        Start
      </Button>
      <Button look="quiet" label={`Fork ${name}…`} onClick={() => ask('fork')}>
        Fork…
      </Button>
      <Button look="quiet" label={`Delete ${name}…`} onClick={() => ask('delete')}>
        Delete…
      </Button>
      {asked === 'fork' && <ForkWorkspace address={address} onClose={close} />}
      {asked === 'delete' && <DeleteWorkspace address={address} onClose={close} />}
      {asked === 'stop' && <StopUnkept address={address} onFailed={setFailed} onClose={close} />}
      {asked === 'discard' && <DiscardAndStart address={address} onFailed={setFailed} onClose={close} />}
    </div>
  );
}

/** What a start that failed can be told, by the code of its failure. Only what loses nothing is done at once. */
const CHOICES: Record<string, [string, StartSettings | 'discard'][]> = {
  WORKSPACE_DIVERGED: [
    ['Keep what is there', { onDiverged: 'adopt' }],
    ['Save it as a snapshot, and restore', { onDiverged: 'rescue' }],
    ['Discard it, and restore…', 'discard'],
  ],
  SNAPSHOT_STALE: [['Start all the same', { acceptStale: true }]],
  NOTHING_RESTORABLE: [['Start it empty', { allowEmpty: true }]],
};

/** Why a start or a stop failed, or a hook in it, and what can be chosen then; nothing where all went well. */
export function WorkspaceTroubles({
  actions: { address, start, stop, ask, failed },
  children,
}: {
  actions: WorkspaceActions;
  /** Where it is put. */
  children: (troubles: ComponentChildren) => JSX.Element;
}) {
  const failure = start.failure ?? stop.failure;
  if (failure === undefined && failed.length === 0) return null;
  const choices = (failure instanceof SnapshotterError && CHOICES[failure.code]) || [];
  return children(
    <>
      <Failure of={failure}>
        {choices.length > 0 && (
          <div class="buttons" role="group" aria-label={`Start ${address.name} anyway`}>
            {choices.map(([text, choice]) => (
              <Button
                key={text}
                busy={start.busy}
                onClick={() => (choice === 'discard' ? ask('discard') : void start.run(choice))}
              >
                {text}
              </Button>
            ))}
          </div>
        )}
      </Failure>
      {failed.map(({ hook, output }) => (
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
