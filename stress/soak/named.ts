// The operations on named workspaces: create, stop, start, fork, update, delete, list.

import type { Actor } from './actor.ts';
import { SECRETS } from '../secrets.ts';
import { Tree } from '../tree.ts';
import type { ForkedWorkspaces, StartedWorkspace, StoppedWorkspace } from '../../client/src/index.ts';

/** The expected state of a named workspace. */
export interface NamedWorkspace {
  name: string;
  isActive: boolean;
  sandboxId: string;
  /** The files, in the sandbox or in the last snapshot. */
  tree: Tree;
  /** The snapshot of the last stop, and its files. */
  last: { id: string; tree: Tree } | undefined;
  /** The value of the secret environment variable. */
  secret: string;
}

/** The environment variables and hooks of every workspace. The output of the hook is a secret too. */
const settings = (secret: string) => ({
  env: { SECRET: secret },
  hooks: { afterStart: { command: `echo ${SECRETS.output}` } },
});

/** Creates a workspace if the actor has fewer than two. */
async function create(actor: Actor) {
  const name = ['one', 'two'].map((suffix) => `${actor.name}-${suffix}`).find((name) => !find(actor, name));
  if (name === undefined) return;
  const secret = `${SECRETS.variable}-${actor.random.word(6)}`;
  const operation = actor.random.of(['workspaces/create', 'workspaces/getOrCreate']);
  const started: StartedWorkspace = await actor.call(operation, { name, ...settings(secret) });
  actor.equal([started.how, started.state], ['empty', 'active'], 'a new workspace');
  const workspace = {
    name,
    isActive: true,
    sandboxId: started.sandboxId,
    tree: new Tree(),
    last: undefined,
    secret,
  };
  actor.named.push(workspace);
  actor.sandboxIds.add(started.sandboxId);
  await actor.expectRefusal('NAME_TAKEN', 'workspaces/create', { name });
  await write(actor, workspace);
}

const find = (actor: Actor, name: string) => actor.named.find((workspace) => workspace.name === name);

async function write(actor: Actor, workspace: NamedWorkspace) {
  const { tree, command } = workspace.tree.changed(actor.random);
  await actor.environment.world.exec(workspace.sandboxId, command);
  workspace.tree = tree;
}

/** Stops a workspace. */
export async function stop(actor: Actor, workspace: NamedWorkspace) {
  const { name } = workspace;
  const stopped: StoppedWorkspace = await actor.call('workspaces/stop', { name });
  actor.equal(
    [stopped.state, stopped.hadEnded, stopped.changedDuringCapture],
    ['stopped', false, false],
    'a stop',
  );
  if (workspace.isActive) workspace.last = { id: stopped.lastSnapshot?.id ?? '', tree: workspace.tree };
  actor.equal(stopped.lastSnapshot?.id, workspace.last?.id, 'the snapshot of a stop');
  workspace.isActive = false;
}

/** Starts a workspace, and compares its files and its environment variable. */
export async function start(actor: Actor, workspace: NamedWorkspace) {
  const { name } = workspace;
  const calls = Array.from({ length: actor.random.chance(0.3) ? 2 : 1 }, () =>
    actor.call('workspaces/start', { name }),
  );
  for (const started of (await Promise.all(calls)) as StartedWorkspace[])
    if (workspace.isActive)
      actor.equal(started.how, 'running', 'the outcome of a start of an active workspace');
  workspace.isActive = true;
  await compare(actor, workspace);
}

async function compare(actor: Actor, workspace: NamedWorkspace) {
  const files = await actor.environment.files(workspace.sandboxId);
  actor.equal(
    files,
    workspace.tree.listing,
    `the files of the workspace ${workspace.name} (${workspace.sandboxId})`,
  );
  const variable = await actor.environment.world.exec(workspace.sandboxId, 'echo "$SECRET"');
  actor.equal(variable, `${workspace.secret}\n`, `the environment variable of ${workspace.name}`);
  actor.compared += 1;
}

/** Forks a workspace, compares the files of the forks, and deletes them. */
async function fork(actor: Actor, workspace: NamedWorkspace) {
  const options = { name: workspace.name, newName: `${workspace.name}-fork`, count: 2, copyEnv: true };
  const { forks }: ForkedWorkspaces = await actor.call('workspaces/fork', options);
  if (!workspace.isActive) actor.equal(forks.length, 2, 'the number of forks');
  for (const { name, value, error } of forks) {
    if (!value) {
      actor.violation(`The fork ${name} failed: ${error?.message}`);
      continue;
    }
    actor.sandboxIds.add(value.sandboxId);
    const copy: NamedWorkspace = {
      ...workspace,
      name,
      isActive: true,
      sandboxId: value.sandboxId,
      last: undefined,
    };
    await compare(actor, copy);
    await write(actor, copy);
    if (actor.random.chance(0.5)) await stop(actor, copy);
    await actor.call('workspaces/delete', { name });
  }
  if (workspace.isActive) await compare(actor, workspace);
}

/** Reverts a workspace to the snapshot of its last stop. */
async function revert(actor: Actor, workspace: NamedWorkspace) {
  const { name, last } = workspace;
  if (!last) return;
  const { sandboxId, state } = await actor.call('workspaces/update', { name, currentSnapshotId: last.id });
  Object.assign(workspace, { sandboxId, tree: last.tree, isActive: state === 'active' });
  actor.sandboxIds.add(sandboxId);
  if (!workspace.isActive) await start(actor, workspace);
  else await compare(actor, workspace);
  // The reverted files are in no snapshot of the new sandbox yet.
  await stop(actor, workspace);
}

/** Deletes a workspace with its snapshots. */
export async function remove(actor: Actor, workspace: NamedWorkspace) {
  const { name } = workspace;
  const { removed, kept } = await actor.call('workspaces/delete', { name });
  actor.equal([removed, kept], [true, []], 'the deletion of a workspace');
  actor.named = actor.named.filter((other) => other !== workspace);
  await actor.expectRefusal('WORKSPACE_NOT_FOUND', 'workspaces/getByName', { name });
}

/** Checks that the list contains exactly the existing workspaces. It may lag behind for a short time. */
async function list(actor: Actor) {
  await actor.eventually(`the list of the workspaces of ${actor.name} is complete`, async () => {
    const { workspaces } = await actor.call('workspaces/list', { prefix: `${actor.name}-`, limit: 1000 });
    const listed = workspaces.map(({ name, state }: { name: string; state: string }) => `${name} ${state}`);
    const expected = actor.named.map(({ name, isActive }) => `${name} ${isActive ? 'active' : 'stopped'}`);
    return listed.join() === expected.sort().join();
  });
}

/** Runs a random operation on a random workspace. */
export async function named(actor: Actor) {
  const workspace = actor.random.maybe(actor.named);
  if (!workspace || (actor.named.length < 2 && actor.random.chance(0.3))) return create(actor);
  const what = actor.random.weighted([
    [4, 'write'],
    [3, 'stop'],
    [3, 'start'],
    [1, 'fork'],
    [1, 'revert'],
    [1, 'remove'],
    [1, 'list'],
  ]);
  if (what === 'write') {
    if (!workspace.isActive) await start(actor, workspace);
    await write(actor, workspace);
  } else if (what === 'stop') await stop(actor, workspace);
  else if (what === 'start') await start(actor, workspace);
  else if (what === 'fork') await fork(actor, workspace);
  else if (what === 'revert') await revert(actor, workspace);
  else if (what === 'remove') await remove(actor, workspace);
  else await list(actor);
}
