// The operations on sandboxes: restore, write, compare, destroy, and the tools for language models.

import type { Actor } from './actor.ts';
import { Sandbox, Snapshot } from './model.ts';
import { remove } from './snapshots.ts';
import type { WorkspaceRef } from '../../client/src/index.ts';

/** The maximum number of derived sandboxes of an actor. */
const MAX_DERIVED = 3;

/** Changes the files of a random sandbox. */
export async function write(actor: Actor) {
  await actor.write(actor.random.of(actor.sandboxes));
}

/** Makes sandboxes from a snapshot, and compares their files. */
export async function restore(actor: Actor) {
  const { random } = actor;
  const snapshot = random.chance(0.15) ? actor.template : random.maybe(actor.snapshots);
  if (!snapshot) return;
  const method = random.of(['restore', 'branch']);
  const keyed = random.chance(0.5) ? { idempotencyKey: random.word(12) } : {};
  const options = { ref: snapshot.ref, ...keyed };
  const answers: WorkspaceRef[] = [];
  if ('idempotencyKey' in keyed) {
    const [answer, again] = await Promise.all([actor.call(method, options), actor.call(method, options)]);
    actor.equal(again, answer, `the second answer of ${method} to one key`);
    answers.push(answer);
  } else {
    const calls = Array.from({ length: random.chance(0.2) ? 2 : 1 }, () => actor.call(method, options));
    answers.push(...(await Promise.all(calls)));
  }
  const kind = method === 'restore' ? 'restored' : 'branch';
  for (const { ref } of answers) {
    if (!ref.sandboxId.includes(`-${kind}-`)) actor.violation(`${method} made ${ref.sandboxId}`);
    actor.equal(ref.rootId, snapshot.ref.ref.rootId, 'the root of a new sandbox');
    await addDerived(actor, new Sandbox(ref.sandboxId, snapshot.tree, snapshot));
  }
  while (actor.derived.length > MAX_DERIVED) await destroy(actor, actor.derived[0]!);
}

async function addDerived(actor: Actor, sandbox: Sandbox) {
  actor.derived.push(sandbox);
  actor.sandboxIds.add(sandbox.id);
  await actor.compare(sandbox, 'a restored sandbox');
  actor.compared += 1;
}

/** Checks that the files of a sandbox have not changed. */
export async function compare(actor: Actor) {
  await actor.compare(actor.random.of(actor.sandboxes), 'an unchanged sandbox');
}

/** Deletes all snapshots of a sandbox, and destroys it. */
export async function destroy(actor: Actor, sandbox: Sandbox) {
  if (sandbox.needs === actor.template) {
    // The template is shared, so it must not keep a destroyed sandbox as a dependent.
    const { capture, ...ref } = await actor.call('snapshot', { sandboxId: sandbox.id });
    new Snapshot(sandbox, ref, capture.label);
    sandbox.needs = undefined;
    await actor.eventually(`${sandbox.id} is not a dependent of the template`, async () => {
      const { dependents } = await actor.call('get', { ref: actor.template.ref });
      return !dependents.includes(sandbox.id);
    });
    actor.template.dependents.delete(sandbox.id);
  }
  for (const snapshot of [...sandbox.snapshots]) await remove(actor, snapshot);
  await actor.environment.world.sandbox(sandbox.id, 'destroy');
  actor.derived = actor.derived.filter((other) => other !== sandbox);
  await actor.expectRefusal('SANDBOX_NOT_RUNNING', 'snapshot', { sandboxId: sandbox.id });
}

/** Takes a snapshot and makes a branch from it with the tools of a language model, over MCP. */
export async function tools(actor: Actor) {
  const sandbox = actor.root;
  const workspaces = [{ name: 'code', snapshot: true, sandboxId: sandbox.id }];
  const tool = (operation: string, args: object) =>
    actor.environment.callers.tool(actor.caller, workspaces, `workspace__code__${operation}`, args);
  const { ref } = await tool('snapshot', {});
  const { label } = await actor.call('get', { ref });
  const snapshot = new Snapshot(sandbox, ref, label);
  const { sandboxId } = (await tool('branch', { ref })).ref.ref;
  await addDerived(actor, new Sandbox(sandboxId, snapshot.tree, snapshot));
  while (actor.derived.length > MAX_DERIVED) await destroy(actor, actor.derived[0]!);
}
