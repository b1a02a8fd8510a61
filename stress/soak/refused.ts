// What must be refused, and what is asked of the deployment as a whole.

import { FORGERIES } from '../forgeries.ts';
import type { Actor } from './actor.ts';

/** Gives a forged ref to an operation that would do harm. */
export async function forge(actor: Actor) {
  const snapshot = actor.random.maybe(actor.snapshots);
  if (!snapshot) return;
  const [code, forgery] = FORGERIES[actor.random.of(Object.keys(FORGERIES))]!;
  const operation = actor.random.of(['restore', 'branch', 'delete', 'label', 'get']);
  const more = operation === 'label' ? { newLabel: 'x' } : {};
  await actor.refused(code, operation, { ref: forgery(snapshot.ref), ...more });
}

/** Asks for what belongs to another lineage. */
export async function trespass(actor: Actor) {
  const snapshot = actor.random.maybe(actor.home.snapshots);
  const lineageScope = actor.template.origin.id;
  if (snapshot) await actor.refused('CROSS_LINEAGE', 'restore', { ref: snapshot.ref, lineageScope });
  await actor.refused('CROSS_LINEAGE', 'list', { sandboxId: actor.home.id, lineageScope });
}

/** Asks for what is not there. */
export async function miss(actor: Actor) {
  const sandboxId = actor.home.id;
  await actor.refused('SNAPSHOT_NOT_FOUND', 'restore', { sandboxId, label: 'never taken' });
  await actor.refused('SANDBOX_NOT_RUNNING', 'snapshot', { sandboxId: `${sandboxId}-never-ran` });
  await actor.refused('INVALID_DIRECTORY', 'snapshot', { sandboxId, dir: '/workspace/nowhere' });
  await actor.refused('WORKSPACE_NOT_FOUND', 'workspaces/start', { name: `${actor.name}-nobody` });
}

/** Sweeps the bucket: there is nothing in it that nobody owns. */
export async function sweep(actor: Actor) {
  const { deleted, failed } = await actor.call('sweep', {
    graceSeconds: 0,
    dryRun: actor.random.chance(0.5),
  });
  actor.same([deleted, failed], [0, 0], 'what a sweep came to');
}

/** Asks whether the deployment is well. */
export async function health(actor: Actor) {
  const { ok, checks } = await actor.call('health', {});
  actor.same(ok, true, `health: ${JSON.stringify(checks)}`);
}
