// Calls that must be refused, and calls about the whole deployment.

import { FORGERIES } from '../forgeries.ts';
import type { Actor } from './actor.ts';

/** Passes a forged ref. */
export async function useForgedRef(actor: Actor) {
  const snapshot = actor.random.maybe(actor.snapshots);
  if (!snapshot) return;
  const [code, forgery] = FORGERIES[actor.random.of(Object.keys(FORGERIES))]!;
  const operation = actor.random.of(['restore', 'branch', 'delete', 'label', 'get']);
  const more = operation === 'label' ? { newLabel: 'x' } : {};
  await actor.expectRefusal(code, operation, { ref: forgery(snapshot.ref), ...more });
}

/** Calls with the scope of another lineage. */
export async function crossLineage(actor: Actor) {
  const snapshot = actor.random.maybe(actor.root.snapshots);
  const lineageScope = actor.template.origin.id;
  if (snapshot) await actor.expectRefusal('CROSS_LINEAGE', 'restore', { ref: snapshot.ref, lineageScope });
  await actor.expectRefusal('CROSS_LINEAGE', 'list', { sandboxId: actor.root.id, lineageScope });
}

/** Calls about objects that do not exist. */
export async function useMissing(actor: Actor) {
  const sandboxId = actor.root.id;
  await actor.expectRefusal('SNAPSHOT_NOT_FOUND', 'restore', { sandboxId, label: 'never taken' });
  await actor.expectRefusal('SANDBOX_NOT_RUNNING', 'snapshot', { sandboxId: `${sandboxId}-never-ran` });
  await actor.expectRefusal('INVALID_DIRECTORY', 'snapshot', { sandboxId, dir: '/workspace/missing' });
  await actor.expectRefusal('WORKSPACE_NOT_FOUND', 'workspaces/start', { name: `${actor.name}-missing` });
}

/** Sweeps the bucket, which must find nothing to delete. */
export async function sweep(actor: Actor) {
  const { deleted, failed } = await actor.call('sweep', {
    graceSeconds: 0,
    dryRun: actor.random.chance(0.5),
  });
  actor.equal([deleted, failed], [0, 0], 'the result of a sweep');
}

/** Checks the health of the deployment. */
export async function health(actor: Actor) {
  const { ok, checks } = await actor.call('health', {});
  actor.equal(ok, true, `health: ${JSON.stringify(checks)}`);
}
