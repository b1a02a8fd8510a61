// The calls about named workspaces during faults.

import { PUBLISHED_CLASS } from '../../miniflare-tests/world.ts';
import type {
  ForkedWorkspaces,
  StartedWorkspace,
  StoppedWorkspace,
  Workspace,
} from '../../client/src/index.ts';
import { SECRETS } from '../secrets.ts';
import type { Tree } from '../tree.ts';
import { Named, type Storage } from './model.ts';
import type { RepeatableCall, Round } from './round.ts';
import { callWithRetries, type Caller } from './snapshots.ts';

/** Settings without time limits, which would stop the workspace when the round advances the clock. */
const SETTINGS = {
  expiry: { idleSeconds: 0, maxSeconds: 0 },
  hooks: { afterStart: { command: `echo ${SECRETS.output}` } },
};

/** The storages of workspaces. The published class has no platform snapshots. */
export const STORAGES: Storage[] = PUBLISHED_CLASS ? ['archive'] : ['archive', 'both', 'platform'];

/** Creates a call about a workspace. */
function callOn(
  named: Named,
  operation: string,
  options: object,
  onAnswer: RepeatableCall['onAnswer'],
): RepeatableCall {
  return {
    operation: `workspaces/${operation}`,
    options: { name: named.name, ...options },
    isKeyed: false,
    mayBeDeleted: () => named.mayBeDeleted,
    // The files may be in a platform snapshot that is gone or of another image, or that the operation can't use. A stop whose
    // answer was lost may have stored them there.
    mayFail: () => named.isLost || named.usedPlatform,
    onAnswer,
  };
}

/** Creates a workspace. */
export function create(named: Named): RepeatableCall {
  const settings = { ...SETTINGS, ...storedIn(named.storage), env: { SECRET: named.secret } };
  return callOn(named, 'getOrCreate', settings, (answer: Workspace) => recordAnswer(named, answer));
}

/** The settings of a storage. */
const storedIn = (storage: Storage) => ({ storage, durable: storage !== 'platform' });

function recordAnswer(named: Named, { sandboxId, state, mayHaveLost }: Workspace) {
  named.sandboxId = sandboxId;
  named.isActive = state === 'active';
  if (mayHaveLost) named.isLossReported = true;
}

/** Starts a workspace. Discards files that were written into a cold-started container. */
export function start(named: Named): RepeatableCall {
  const allowEmpty = named.isLost && !named.isSaved;
  return callOn(named, 'start', { onDiverged: 'discard', allowEmpty }, (answer: StartedWorkspace) =>
    recordAnswer(named, answer),
  );
}

function stop(named: Named): RepeatableCall {
  const { disappeared } = named;
  return callOn(named, 'stop', {}, (answer: StoppedWorkspace) => {
    const wasActive = named.isActive;
    recordAnswer(named, answer);
    const { lastSnapshot, hadEnded } = answer;
    if (hadEnded) named.isLossReported = true;
    if (named.isLost || hadEnded || !wasActive) return;
    if (named.storage === 'platform') return named.recordSavedOnPlatform(named.tree, disappeared);
    named.recordSaved(named.tree);
    if (lastSnapshot) named.last = { id: lastSnapshot.id, tree: named.tree };
  });
}

function changeStorage(named: Named, storage: Storage): RepeatableCall {
  return callOn(named, 'update', storedIn(storage), (answer: Workspace) => {
    recordAnswer(named, answer);
    named.storage = storage;
    named.usedPlatform ||= storage === 'platform';
  });
}

function revert(named: Named, { id, tree }: { id: string; tree: Tree }): RepeatableCall {
  return callOn(named, 'update', { currentSnapshotId: id }, (answer: Workspace) => {
    recordAnswer(named, answer);
    named.recordSaved(tree);
  });
}

/** Forks a workspace. Single forks may fail; a repeated call with the key returns the existing forks and creates the others. */
function fork(round: Round, named: Named, key: string): RepeatableCall {
  const options = { newName: `${named.name}-${key}`, count: 2, copyEnv: true, idempotencyKey: key };
  const created = new Map<string, string>();
  const stablePart = ({ forks }: ForkedWorkspaces) =>
    forks.map(({ name, value }) => [name, value?.sandboxId]);
  const forked = callOn(named, 'fork', options, ({ forks }: ForkedWorkspaces) => {
    for (const { name, value } of forks) {
      if (!value) continue;
      round.equal(
        value.sandboxId,
        created.get(name) ?? value.sandboxId,
        `the second answer for the fork ${name}`,
      );
      created.set(name, value.sandboxId);
    }
    if (forks.some(({ value }) => !value)) return false;
    for (const { name, value } of forks) {
      const copy = new Named(name, named.secret, named.storage);
      copy.recordForkOf(named);
      recordAnswer(copy, value!);
      round.named.push(copy);
    }
    return true;
  });
  // A repeated call returns the same forks, with their current states.
  return { ...forked, stablePart };
}

function remove(named: Named): RepeatableCall {
  named.mayBeDeleted = true;
  return callOn(named, 'delete', {}, () => {
    named.isDeleted = true;
  });
}

/** Runs a random operation on a workspace, exclusively. Repeats a call with an unknown outcome first. */
export async function useWorkspace(round: Round, caller: Caller) {
  const { random } = caller;
  const named = random.maybe(round.named.filter(({ mayBeDeleted }) => !mayBeDeleted));
  if (!named) return;
  await named.lock.write(async () => {
    if (named.pending) await attempt(round, caller, named, named.pending);
    if (named.pending || named.mayBeDeleted) return;
    const what = random.weighted([
      [4, 'write'],
      [3, 'stop'],
      [3, 'start'],
      [1, 'fork'],
      [1, 'revert'],
      [1, 'remove'],
      [PUBLISHED_CLASS ? 0 : 1, 'changeStorage'],
    ]);
    if (what === 'write') await write(round, caller, named);
    else if (what === 'stop') await attempt(round, caller, named, stop(named));
    else if (what === 'start') await startAndCompare(round, caller, named);
    else if (what === 'changeStorage')
      await attempt(round, caller, named, changeStorage(named, random.of(STORAGES)));
    else if (what === 'fork' && round.named.length < STORAGES.length + 3)
      await attempt(round, caller, named, fork(round, named, random.word(4)));
    else if (what === 'revert' && named.last) await attempt(round, caller, named, revert(named, named.last));
    else if (what === 'remove') await attempt(round, caller, named, remove(named));
  });
}

async function attempt(round: Round, caller: Caller, named: Named, call: RepeatableCall) {
  await callWithRetries(round, caller, call);
  const isKnown = call.answer !== undefined || call.refusal !== undefined;
  named.pending = isKnown ? undefined : call;
  // If workerd does not run at the moment, the id is resolved later.
  if (named.sandboxId !== '') await round.resolveObjectId(named.sandboxId).catch(() => {});
}

/** Starts a workspace, and compares its files unless its container is killed meanwhile. */
async function startAndCompare(round: Round, caller: Caller, named: Named) {
  const call = start(named);
  await attempt(round, caller, named, call);
  if (call.answer === undefined) return;
  const files = await round.environment.files(named.sandboxId).catch(() => undefined);
  if (files !== undefined && !named.isLost)
    round.equal(files, named.tree.listing, `the files of the started workspace ${named.name}`);
}

async function write(round: Round, caller: Caller, named: Named) {
  if (named.isLost || !named.isActive) return attempt(round, caller, named, start(named));
  const { tree, command } = named.tree.changed(caller.random);
  // If the container was killed meanwhile, the files were written into a container that belongs to no workspace.
  const done = await round.execute(named.sandboxId, command);
  if (!done) named.isLost = true;
  named.recordWrite(tree);
}
