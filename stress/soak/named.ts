// What is done with workspaces that persist by name: made, left, come back to, forked, rolled back, deleted.

import type { Actor } from './actor.ts';
import { SECRETS } from '../secrets.ts';
import { Tree } from '../tree.ts';
import type { ForkedWorkspaces, StartedWorkspace, StoppedWorkspace } from '../../client/src/index.ts';

/** A workspace with a name, as it should be. */
export interface NamedWorkspace {
  name: string;
  isActive: boolean;
  /** Its sandbox. */
  sandboxId: string;
  /** Its files, whether they are in a sandbox or in a snapshot. */
  tree: Tree;
  /** The snapshot that it was stopped with last, and what that holds. */
  last: { id: string; tree: Tree } | undefined;
  /** The value of its secret variable. */
  secret: string;
}

/** The variables and commands of every workspace. What the command prints is a secret too. */
const settings = (secret: string) => ({
  env: { SECRET: secret },
  hooks: { afterStart: { command: `echo ${SECRETS.output}` } },
});

/** Makes one, where the actor has few. */
async function make(actor: Actor) {
  const name = ['one', 'two'].map((suffix) => `${actor.name}-${suffix}`).find((name) => !find(actor, name));
  if (name === undefined) return;
  const secret = `${SECRETS.variable}-${actor.random.word(6)}`;
  const operation = actor.random.of(['workspaces/create', 'workspaces/getOrCreate']);
  const started: StartedWorkspace = await actor.call(operation, { name, ...settings(secret) });
  actor.same([started.how, started.state], ['empty', 'active'], 'a new workspace');
  const workspace = {
    name,
    isActive: true,
    sandboxId: started.sandboxId,
    tree: new Tree(),
    last: undefined,
    secret,
  };
  actor.named.push(workspace);
  actor.known.add(started.sandboxId);
  await actor.refused('NAME_TAKEN', 'workspaces/create', { name });
  await write(actor, workspace);
}

const find = (actor: Actor, name: string) => actor.named.find((workspace) => workspace.name === name);

async function write(actor: Actor, workspace: NamedWorkspace) {
  const { tree, command } = workspace.tree.changed(actor.random);
  await actor.stage.world.exec(workspace.sandboxId, command);
  workspace.tree = tree;
}

/** Leaves one. */
export async function stop(actor: Actor, workspace: NamedWorkspace) {
  const { name } = workspace;
  const stopped: StoppedWorkspace = await actor.call('workspaces/stop', { name });
  actor.same(
    [stopped.state, stopped.hadEnded, stopped.changedDuringCapture],
    ['stopped', false, false],
    'a stop',
  );
  if (workspace.isActive) workspace.last = { id: stopped.lastSnapshot?.id ?? '', tree: workspace.tree };
  actor.same(stopped.lastSnapshot?.id, workspace.last?.id, 'the snapshot of a stop');
  workspace.isActive = false;
}

/** Comes back to one: its files are there, and its variables. */
export async function start(actor: Actor, workspace: NamedWorkspace) {
  const { name } = workspace;
  const calls = Array.from({ length: actor.random.chance(0.3) ? 2 : 1 }, () =>
    actor.call('workspaces/start', { name }),
  );
  for (const started of (await Promise.all(calls)) as StartedWorkspace[])
    if (workspace.isActive) actor.same(started.how, 'running', 'how an active workspace started');
  workspace.isActive = true;
  await compare(actor, workspace);
}

async function compare(actor: Actor, workspace: NamedWorkspace) {
  const files = await actor.stage.files(workspace.sandboxId);
  actor.same(
    files,
    workspace.tree.listing,
    `the files of the workspace ${workspace.name} (${workspace.sandboxId})`,
  );
  const variable = await actor.stage.world.exec(workspace.sandboxId, 'echo "$SECRET"');
  actor.same(variable, `${workspace.secret}\n`, `the variable of ${workspace.name}`);
  actor.compared += 1;
}

/** Makes copies, which have its files, and lets them go. */
async function fork(actor: Actor, workspace: NamedWorkspace) {
  const options = { name: workspace.name, newName: `${workspace.name}-fork`, count: 2, copyEnv: true };
  const { forks }: ForkedWorkspaces = await actor.call('workspaces/fork', options);
  if (!workspace.isActive) actor.same(forks.length, 2, 'how many forks there are');
  for (const { name, value, error } of forks) {
    if (!value) {
      actor.violation(`The fork ${name} failed: ${error?.message}`);
      continue;
    }
    actor.known.add(value.sandboxId);
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

/** Goes back to where it was stopped last. */
async function goBack(actor: Actor, workspace: NamedWorkspace) {
  const { name, last } = workspace;
  if (!last) return;
  const { sandboxId, state } = await actor.call('workspaces/update', { name, currentSnapshotId: last.id });
  Object.assign(workspace, { sandboxId, tree: last.tree, isActive: state === 'active' });
  actor.known.add(sandboxId);
  if (!workspace.isActive) await start(actor, workspace);
  else await compare(actor, workspace);
  // What it has from now on is in none of its own snapshots.
  await stop(actor, workspace);
}

/** Deletes one, with its snapshots. */
export async function remove(actor: Actor, workspace: NamedWorkspace) {
  const { name } = workspace;
  const { removed, kept } = await actor.call('workspaces/delete', { name });
  actor.same([removed, kept], [true, []], 'the deletion of a workspace');
  actor.named = actor.named.filter((each) => each !== workspace);
  await actor.refused('WORKSPACE_NOT_FOUND', 'workspaces/getByName', { name });
}

/** The list has every workspace that there is, and soon no other. */
async function list(actor: Actor) {
  await actor.eventually(`that the list of workspaces begins with ${actor.name} as it should`, async () => {
    const { workspaces } = await actor.call('workspaces/list', { prefix: `${actor.name}-`, limit: 1000 });
    const listed = workspaces.map(({ name, state }: { name: string; state: string }) => `${name} ${state}`);
    const expected = actor.named.map(({ name, isActive }) => `${name} ${isActive ? 'active' : 'stopped'}`);
    return listed.join() === expected.sort().join();
  });
}

/** Does something with one of them. */
export async function named(actor: Actor) {
  const workspace = actor.random.maybe(actor.named);
  if (!workspace || (actor.named.length < 2 && actor.random.chance(0.3))) return make(actor);
  const what = actor.random.weighted([
    [4, 'write'],
    [3, 'stop'],
    [3, 'start'],
    [1, 'fork'],
    [1, 'goBack'],
    [1, 'remove'],
    [1, 'list'],
  ]);
  if (what === 'write') {
    if (!workspace.isActive) await start(actor, workspace);
    await write(actor, workspace);
  } else if (what === 'stop') await stop(actor, workspace);
  else if (what === 'start') await start(actor, workspace);
  else if (what === 'fork') await fork(actor, workspace);
  else if (what === 'goBack') await goBack(actor, workspace);
  else if (what === 'remove') await remove(actor, workspace);
  else await list(actor);
}
