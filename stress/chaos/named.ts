// What callers want of workspaces with names, while things break.

import type {
  ForkedWorkspaces,
  StartedWorkspace,
  StoppedWorkspace,
  Workspace,
} from '../../client/src/index.ts';
import { SECRETS } from '../secrets.ts';
import type { Tree } from '../tree.ts';
import { Named } from './model.ts';
import type { Intention, Round } from './round.ts';
import { want, type Caller } from './snapshots.ts';

/** No time limit ends it while a round lets time pass. */
const SETTINGS = {
  expiry: { idleSeconds: 0, maxSeconds: 0 },
  hooks: { afterStart: { command: `echo ${SECRETS.output}` } },
};

/** The intention to do something with a workspace. */
function intend(named: Named, operation: string, options: object, got: Intention['got']): Intention {
  return {
    operation: `workspaces/${operation}`,
    options: { name: named.name, ...options },
    isKeyed: false,
    mayBeGone: () => named.mayBeGone,
    mayFail: () => named.isLost,
    got,
  };
}

/** Makes a workspace. */
export function make(named: Named): Intention {
  return intend(named, 'getOrCreate', { ...SETTINGS, env: { SECRET: named.secret } }, (answer: Workspace) =>
    handedOut(named, answer),
  );
}

function handedOut(named: Named, { sandboxId, state }: Workspace) {
  named.sandboxId = sandboxId;
  named.isActive = state === 'active';
}

/** Comes back to a workspace: what somebody wrote into a container that woke by itself may go. */
export function start(named: Named): Intention {
  const allowEmpty = named.isLost && !named.isSaved;
  return intend(named, 'start', { onDiverged: 'discard', allowEmpty }, (answer: StartedWorkspace) =>
    handedOut(named, answer),
  );
}

function stop(named: Named): Intention {
  return intend(named, 'stop', {}, ({ lastSnapshot, hadEnded }: StoppedWorkspace) => {
    named.isActive = false;
    if (named.isLost || hadEnded) return;
    named.isSafe(named.tree);
    if (lastSnapshot) named.last = { id: lastSnapshot.id, tree: named.tree };
  });
}

function goBack(named: Named, { id, tree }: { id: string; tree: Tree }): Intention {
  return intend(named, 'update', { currentSnapshotId: id }, (answer: Workspace) => {
    handedOut(named, answer);
    named.isSafe(tree);
  });
}

/** One of the forks may fail for itself: who asks again with the key gets those that there are, and the others. */
function fork(round: Round, named: Named, key: string): Intention {
  const options = { newName: `${named.name}-${key}`, count: 2, copyEnv: true, idempotencyKey: key };
  const made = new Map<string, string>();
  const stays = ({ forks }: ForkedWorkspaces) => forks.map(({ name, value }) => [name, value?.sandboxId]);
  const forked = intend(named, 'fork', options, ({ forks }: ForkedWorkspaces) => {
    for (const { name, value } of forks) {
      if (!value) continue;
      round.same(
        value.sandboxId,
        made.get(name) ?? value.sandboxId,
        `the second answer for the fork ${name}`,
      );
      made.set(name, value.sandboxId);
    }
    if (forks.some(({ value }) => !value)) return false;
    for (const { name, value } of forks) {
      const copy = new Named(name, named.secret);
      copy.isMadeFrom(named);
      handedOut(copy, value!);
      round.named.push(copy);
    }
    return true;
  });
  // The forks are the same, and told of as they are by then.
  return { ...forked, stays };
}

function remove(named: Named): Intention {
  named.mayBeGone = true;
  return intend(named, 'delete', {}, () => {
    named.isGone = true;
  });
}

/** Does something with a workspace, when nobody else does. What is not known to be done comes first. */
export async function work(round: Round, caller: Caller) {
  const { random } = caller;
  const named = random.maybe(round.named.filter(({ mayBeGone }) => !mayBeGone));
  if (!named) return;
  await named.turns.alone(async () => {
    if (named.pending) await attempt(round, caller, named, named.pending);
    if (named.pending || named.mayBeGone) return;
    const what = random.weighted([
      [4, 'write'],
      [3, 'stop'],
      [3, 'start'],
      [1, 'fork'],
      [1, 'goBack'],
      [1, 'remove'],
    ]);
    if (what === 'write') await write(round, caller, named);
    else if (what === 'stop') await attempt(round, caller, named, stop(named));
    else if (what === 'start') await attempt(round, caller, named, start(named));
    else if (what === 'fork' && round.named.length < 4)
      await attempt(round, caller, named, fork(round, named, random.word(4)));
    else if (what === 'goBack' && named.last) await attempt(round, caller, named, goBack(named, named.last));
    else if (what === 'remove') await attempt(round, caller, named, remove(named));
  });
}

async function attempt(round: Round, caller: Caller, named: Named, intention: Intention) {
  await want(round, caller, intention);
  const isKnown = intention.answer !== undefined || intention.refusal !== undefined;
  named.pending = isKnown ? undefined : intention;
  // Where workerd does not run just now, it is learned later.
  if (named.sandboxId !== '') await round.learn(named.sandboxId).catch(() => {});
}

async function write(round: Round, caller: Caller, named: Named) {
  if (named.isLost || !named.isActive) return attempt(round, caller, named, start(named));
  const { tree, command } = named.tree.changed(caller.random);
  // What is written when its container was killed meanwhile is in one that nobody owns.
  const done = await round.execute(named.sandboxId, command);
  if (!done) named.isLost = true;
  named.wrote(tree);
}
