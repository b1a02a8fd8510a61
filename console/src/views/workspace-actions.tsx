// What can be done with a named workspace, from the list and from its page.

import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';

import { SnapshotterError, type StartSettings, type WorkspaceState } from '../../../client/src/index.ts';
import { useAction, type Action } from '../action.ts';
import { client } from '../session.ts';
import { size } from '../texts.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { announce } from '../ui/notice.tsx';
import { DeleteWorkspace, ForkWorkspace } from './workspace-dialogs.tsx';

/** A workspace, whole. */
export interface Address {
  tenant: string;
  name: string;
}

/** What can be done with a workspace. */
export interface WorkspaceActions {
  address: Address;
  start: Action<[StartSettings?]>;
  stop: Action<[]>;
}

const HOW = {
  alive: 'was running',
  restored: 'was restored from its snapshot',
  empty: 'begins empty',
  kept: 'runs with the files that were there',
} as const;

/** The actions on a workspace. */
export function useWorkspace(address: Address): WorkspaceActions {
  const { name } = address;
  const start = useAction(async (settings: StartSettings = {}) => {
    const { how, stale, hookRuns } = await client.workspaces.start({ ...address, ...settings });
    const remarks = [...stale.map((what) => `Stale: ${what}.`), ...failed(hookRuns)];
    announce([`${name} ${HOW[how]}.`, ...remarks].join(' '));
  });
  const stop = useAction(async () => {
    const { lastSnapshot, unsettled, wasAsleep, hookRuns } = await client.workspaces.stop(address);
    const kept = lastSnapshot
      ? `its files are in ${lastSnapshot.id}, ${size(lastSnapshot.sizeBytes)}`
      : 'without a snapshot';
    const remarks = [
      ...(wasAsleep ? ['Its sandbox had ended before: what was in no snapshot then is lost.'] : []),
      ...(unsettled ? ['Files were being changed meanwhile, and may be as they were before.'] : []),
      ...failed(hookRuns),
    ];
    announce([`${name} is stopped; ${kept}.`, ...remarks].join(' '));
  });
  return { address, start, stop };
}

function failed(runs: { hook: string; ok: boolean; output: string }[]): string[] {
  return runs.filter(({ ok }) => !ok).map(({ hook, output }) => `Its hook ${hook} failed: ${output}`);
}

/** States in which there is something to stop. A start makes sure then that it is still there. */
const RUNS: ReadonlySet<WorkspaceState> = new Set(['active', 'stopping']);

/** The buttons of a workspace. */
export function WorkspaceButtons({
  name,
  state,
  actions: { address, start, stop },
}: {
  name: string;
  state: WorkspaceState;
  actions: WorkspaceActions;
}) {
  const [asked, setAsked] = useState<'fork' | 'delete'>();
  const close = () => setAsked(undefined);
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
      <Button look="quiet" label={`Fork ${name}…`} onClick={() => setAsked('fork')}>
        Fork…
      </Button>
      <Button look="quiet" label={`Delete ${name}…`} onClick={() => setAsked('delete')}>
        Delete…
      </Button>
      {asked === 'fork' && <ForkWorkspace address={address} onClose={close} />}
      {asked === 'delete' && <DeleteWorkspace address={address} onClose={close} />}
    </div>
  );
}

/** What a start that failed can be told, by the code of its failure. */
const CHOICES: Record<string, [string, StartSettings][]> = {
  WORKSPACE_DIVERGED: [
    ['Keep what is there', { onDiverged: 'keep' }],
    ['Save it as a snapshot, and restore', { onDiverged: 'save' }],
    ['Discard it, and restore', { onDiverged: 'discard' }],
  ],
  SNAPSHOT_STALE: [['Start all the same', { acceptStale: true }]],
  NOTHING_RESTORABLE: [['Start it empty', { allowEmpty: true }]],
};

/** Why a start or a stop failed, and what can be chosen then; nothing where neither did. */
export function WorkspaceTroubles({
  name,
  actions: { start, stop },
  children,
}: {
  name: string;
  actions: WorkspaceActions;
  /** Where it is put. */
  children: (troubles: ComponentChildren) => JSX.Element;
}) {
  const failure = start.failure ?? stop.failure;
  if (failure === undefined) return null;
  const choices = (failure instanceof SnapshotterError && CHOICES[failure.code]) || [];
  return children(
    <Failure of={failure}>
      {choices.length > 0 && (
        <div class="buttons" role="group" aria-label={`Start ${name} anyway`}>
          {choices.map(([text, settings]) => (
            <Button key={text} busy={start.busy} onClick={() => void start.run(settings)}>
              {text}
            </Button>
          ))}
        </div>
      )}
    </Failure>,
  );
}
