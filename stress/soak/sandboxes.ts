// What is done with sandboxes: made from snapshots, worked in, ended. And what tools for language models do with them.

import type { Actor } from './actor.ts';
import { Sandbox, Snapshot } from './model.ts';
import { remove } from './snapshots.ts';
import type { WorkspaceRef } from '../../client/src/index.ts';

/** How many sandboxes that were made from snapshots an actor has at most. */
const MOST = 3;

/** Somebody works in a sandbox. */
export async function write(actor: Actor) {
  await actor.write(actor.random.of(actor.sandboxes));
}

/** Makes sandboxes from a snapshot, and compares what they hold. */
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
    actor.same(again, answer, `the second answer of ${method} to one key`);
    answers.push(answer);
  } else {
    const calls = Array.from({ length: random.chance(0.2) ? 2 : 1 }, () => actor.call(method, options));
    answers.push(...(await Promise.all(calls)));
  }
  const word = method === 'restore' ? 'restored' : 'branch';
  for (const { ref } of answers) {
    if (!ref.sandboxId.includes(`-${word}-`)) actor.violation(`${method} made ${ref.sandboxId}`);
    actor.same(ref.rootId, snapshot.ref.ref.rootId, 'the root of what was made');
    await adopt(actor, new Sandbox(ref.sandboxId, snapshot.tree, snapshot));
  }
  while (actor.derived.length > MOST) await retire(actor, actor.derived[0]!);
}

async function adopt(actor: Actor, sandbox: Sandbox) {
  actor.derived.push(sandbox);
  actor.known.add(sandbox.id);
  await actor.compare(sandbox, 'a restored sandbox');
  actor.compared += 1;
}

/** Looks whether anything in a sandbox has changed that its owner did not change. */
export async function compare(actor: Actor) {
  await actor.compare(actor.random.of(actor.sandboxes), 'a sandbox that nobody touched');
}

/** Ends a sandbox for good, with all of its snapshots. */
export async function retire(actor: Actor, sandbox: Sandbox) {
  if (sandbox.needs === actor.template) {
    // Others use that one: it must not be needed by who is gone.
    const { capture, ...ref } = await actor.call('snapshot', { sandboxId: sandbox.id });
    new Snapshot(sandbox, ref, capture.label);
    sandbox.needs = undefined;
    await actor.eventually(`that ${sandbox.id} needs the template no more`, async () => {
      const { dependents } = await actor.call('get', { ref: actor.template.ref });
      return !dependents.includes(sandbox.id);
    });
    actor.template.dependents.delete(sandbox.id);
  }
  for (const snapshot of [...sandbox.snapshots]) await remove(actor, snapshot);
  await actor.stage.world.sandbox(sandbox.id, 'destroy');
  actor.derived = actor.derived.filter((each) => each !== sandbox);
  await actor.refused('SANDBOX_NOT_RUNNING', 'snapshot', { sandboxId: sandbox.id });
}

/** A language model takes a snapshot and makes a sandbox from it, by its tools over MCP. */
export async function tools(actor: Actor) {
  const sandbox = actor.home;
  const workspaces = [{ name: 'code', snapshot: true, sandboxId: sandbox.id }];
  const tool = (operation: string, args: object) =>
    actor.stage.callers.tool(actor.caller, workspaces, `workspace__code__${operation}`, args);
  const { ref } = await tool('snapshot', {});
  const { label } = await actor.call('get', { ref });
  const snapshot = new Snapshot(sandbox, ref, label);
  const { sandboxId } = (await tool('branch', { ref })).ref.ref;
  await adopt(actor, new Sandbox(sandboxId, snapshot.tree, snapshot));
  while (actor.derived.length > MOST) await retire(actor, actor.derived[0]!);
}
