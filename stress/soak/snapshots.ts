// The operations on snapshots: take, import, list, read, label, pin, delete, retention, lineage, key rotation.

import type { Actor } from './actor.ts';
import { Snapshot, type Sandbox } from './model.ts';
import { SECRETS } from '../secrets.ts';
import type { Tree } from '../tree.ts';
import type {
  Manifest,
  Page,
  Retention,
  Summary,
  TakenSnapshot,
  Tree as Lineage,
  TreeSandbox,
} from '../../client/src/index.ts';

const by = (snapshot: Snapshot) => ({ ref: snapshot.ref });
const DEFAULT_POLICY = { expirationSeconds: 30 * 24 * 3600 };

/** Adds a snapshot to the model. The sandbox is no longer a dependent of the snapshot that it was made from. */
async function addSnapshot(actor: Actor, sandbox: Sandbox, { capture, ...ref }: TakenSnapshot, tree?: Tree) {
  const snapshot = new Snapshot(sandbox, ref, capture.label, tree);
  await releaseParent(actor, sandbox);
  return snapshot;
}

async function releaseParent(actor: Actor, sandbox: Sandbox) {
  const parent = sandbox.needs;
  if (!parent) return;
  sandbox.needs = undefined;
  await actor.eventually(`${sandbox.id} is not a dependent of ${parent.id}`, async () => {
    const { dependents }: Summary = await actor.call('get', by(parent));
    return !dependents.includes(sandbox.id);
  });
  parent.dependents.delete(sandbox.id);
}

const newLabel = (actor: Actor) => `${SECRETS.label} ${actor.random.word(8)}`;

/** Takes a snapshot with random options. */
export async function take(actor: Actor) {
  const { random } = actor;
  const sandbox = random.of(actor.sandboxes);
  const sandboxId = sandbox.id;
  if (random.chance(0.7)) await actor.write(sandbox);
  const variant = random.weighted([
    [3, 'plain'],
    [3, 'idempotent'],
    [2, 'labelled'],
    [2, 'replacing'],
    [1, 'excluding'],
    [1, 'expiring'],
    [2, 'concurrent'],
  ]);
  if (variant === 'plain') {
    await addSnapshot(actor, sandbox, await actor.call('snapshot', { sandboxId, fresh: random.chance(0.5) }));
  } else if (variant === 'idempotent') {
    const options = { sandboxId, idempotencyKey: random.word(12) };
    const answer = await actor.call('snapshot', options);
    await addSnapshot(actor, sandbox, answer);
    actor.equal(await actor.call('snapshot', options), answer, 'the second answer to one key');
    await actor.expectRefusal('IDEMPOTENCY_CONFLICT', 'snapshot', { ...options, fresh: true });
  } else if (variant === 'labelled') {
    const options = { sandboxId, label: newLabel(actor) };
    const snapshot = await addSnapshot(actor, sandbox, await actor.call('snapshot', options));
    actor.equal(snapshot.label, options.label, 'the label');
    await actor.expectRefusal('LABEL_TAKEN', 'snapshot', { ...options, fresh: true });
  } else if (variant === 'replacing') {
    const old = random.maybe(sandbox.snapshots);
    const label = old?.label ?? newLabel(actor);
    const snapshot = await addSnapshot(
      actor,
      sandbox,
      await actor.call('snapshot', { sandboxId, label, replace: true }),
    );
    actor.equal(snapshot.label, label, 'the label that was taken from another snapshot');
    if (old) old.label = (await actor.call('get', by(old))).label;
  } else if (variant === 'excluding') {
    const options = {
      sandboxId,
      excludes: ['logs'],
      compression: { format: random.of(['gzip', 'lz4', 'zstd']) },
    };
    await addSnapshot(actor, sandbox, await actor.call('snapshot', options), sandbox.tree.without('logs'));
  } else if (variant === 'expiring') {
    const options = { sandboxId, expirationSeconds: random.of([0, 3600]) };
    const snapshot = await addSnapshot(actor, sandbox, await actor.call('snapshot', options));
    snapshot.neverExpires = options.expirationSeconds === 0;
  } else {
    const calls = Array.from({ length: 3 }, () => actor.call('snapshot', { sandboxId }));
    const answers: TakenSnapshot[] = await Promise.all(calls);
    const distinct = new Map(answers.map((answer) => [answer.ref.snapshotId, answer]));
    for (const answer of distinct.values()) await addSnapshot(actor, sandbox, answer);
  }
  await actor.compare(sandbox, 'an origin after a snapshot');
}

/** Imports a backup that was made without the snapshotter. */
export async function importBackup(actor: Actor) {
  const { id: sandboxId } = actor.root;
  const backup = await actor.environment.world.backUp(sandboxId);
  actor.backups.push(backup.id);
  const snapshot = await addSnapshot(actor, actor.root, await actor.call('import', { sandboxId, backup }));
  snapshot.imported = true;
}

/** Reads the list of a sandbox, and compares it with the model. */
export async function list(actor: Actor) {
  const sandbox = actor.random.of(actor.sandboxes);
  const limit = 1 + actor.random.below(20);
  const rows: Summary[] = [];
  let cursor: string | undefined;
  do {
    const options = { sandboxId: sandbox.id, limit, ...(cursor === undefined ? {} : { cursor }) };
    const page: Page = await actor.call('list', options);
    rows.push(...page.snapshots);
    cursor = page.cursor;
  } while (cursor !== undefined);
  const expected = sandbox.newestFirst;
  actor.equal(
    rows.map(({ snapshotId, label, pinned, dependents, state, restorable }) => ({
      ...{ snapshotId, label, pinned, dependents, state, restorable },
    })),
    expected.map(({ id, label, pinned, dependents }) => ({
      ...{ snapshotId: id, label, pinned, dependents: [...dependents].sort() },
      ...{ state: 'ready', restorable: 'yes' },
    })),
    `the list of ${sandbox.id}`,
  );
  const prefix = actor.random.maybe(expected)?.label.slice(0, 19);
  if (prefix === undefined) return;
  const page: Page = await actor.call('list', {
    sandboxId: sandbox.id,
    labelPrefix: prefix,
    limit: 100,
    check: false,
  });
  actor.equal(
    page.snapshots.map(({ snapshotId }) => snapshotId),
    expected.filter(({ label }) => label.startsWith(prefix)).map(({ id }) => id),
    `the list of ${sandbox.id} by a prefix`,
  );
}

/** Reads and verifies a snapshot. */
export async function read(actor: Actor) {
  const snapshot = actor.random.maybe(actor.snapshots);
  if (!snapshot) return;
  const manifest: Manifest = await actor.call('manifest', by(snapshot));
  actor.equal(
    [manifest.snapshotId, manifest.originId, manifest.label, manifest.pinned, manifest.imported],
    [snapshot.id, snapshot.origin.id, snapshot.label, snapshot.pinned, snapshot.imported],
    'the manifest',
  );
  const { ok, checks } = await actor.call('verify', by(snapshot));
  actor.equal(ok, true, `the result of verify: ${JSON.stringify(checks)}`);
  const selection = { sandboxId: snapshot.origin.id, label: snapshot.label };
  actor.equal((await actor.call('get', selection)).snapshotId, snapshot.id, 'the snapshot of a label');
}

/** Changes the label of a snapshot, after an attempt with a label that is taken. */
export async function relabel(actor: Actor) {
  const snapshot = actor.random.maybe(actor.snapshots);
  if (!snapshot) return;
  const other = actor.random.maybe(snapshot.origin.snapshots.filter((candidate) => candidate !== snapshot));
  if (other) await actor.expectRefusal('LABEL_TAKEN', 'label', { ...by(snapshot), newLabel: other.label });
  const label = newLabel(actor);
  await actor.call('label', { ...by(snapshot), newLabel: label });
  snapshot.label = label;
}

/** Pins or unpins a snapshot. */
export async function pin(actor: Actor) {
  const snapshot = actor.random.maybe(actor.snapshots);
  if (!snapshot) return;
  const { pinned } = await actor.call(snapshot.pinned ? 'unpin' : 'pin', by(snapshot));
  actor.equal(pinned, !snapshot.pinned, 'the pin');
  snapshot.pinned = pinned;
}

/** Deletes a snapshot. A protected one must be refused first, and is deleted with `force`. */
export async function remove(actor: Actor, chosen?: Snapshot) {
  const snapshot = chosen ?? actor.random.maybe(actor.snapshots);
  if (!snapshot) return;
  if (snapshot.isProtected) {
    const message = await actor.expectRefusal('SNAPSHOT_HAS_DEPENDENTS', 'delete', by(snapshot));
    for (const dependent of snapshot.dependents)
      actor.equal(
        message.includes(`"${dependent}"`),
        true,
        `whether the refusal names ${dependent}: ${message}`,
      );
  }
  const deletion = { snapshotId: snapshot.id, removed: true };
  actor.equal(
    await actor.call('delete', { ...by(snapshot), force: snapshot.isProtected }),
    deletion,
    'a deletion',
  );
  snapshot.remove();
  for (const sandbox of actor.sandboxes) if (sandbox.needs === snapshot) sandbox.needs = undefined;
  actor.equal(await actor.call('delete', by(snapshot)), { ...deletion, removed: false }, 'a second deletion');
  if (actor.random.chance(0.3)) await actor.expectRefusal('SNAPSHOT_NOT_FOUND', 'restore', by(snapshot));
}

/** Applies a policy to the snapshots of the root sandbox, and resets it. */
export async function applyPolicy(actor: Actor) {
  const { root } = actor;
  const sandboxId = root.id;
  const count = 1 + actor.random.below(4);
  const policy = { keepLast: { count } };
  const remaining = new Set(
    root.newestFirst.filter((other, index) => other.isProtected || index < count).map(({ id }) => id),
  );
  const kept = ({ decisions }: Retention) =>
    decisions.filter(({ keep }) => keep).map(({ snapshotId }) => snapshotId);
  const expected = root.newestFirst.map(({ id }) => id).filter((id) => remaining.has(id));
  actor.equal(
    kept(await actor.call('setRetention', { sandboxId, policy, dryRun: true })),
    expected,
    'the plan of a policy',
  );
  actor.equal(
    kept(await actor.call('setRetention', { sandboxId, policy })),
    expected,
    'the snapshots that a policy keeps',
  );
  for (const snapshot of [...root.snapshots]) if (!remaining.has(snapshot.id)) snapshot.remove();
  await actor.call('setRetention', { sandboxId, policy: DEFAULT_POLICY });
  await list(actor);
}

/** Reads the tree of a lineage, and checks that it contains every sandbox and snapshot of the model. */
export async function lineage(actor: Actor) {
  const tree: Lineage = await actor.call('lineage', { sandboxId: actor.random.of(actor.sandboxes).id });
  const listedSnapshots = new Map<string, string[]>();
  const walk = (sandbox: TreeSandbox) => {
    if (sandbox.problem !== undefined)
      actor.violation(`The tree is incomplete at ${sandbox.sandboxId}: ${sandbox.problem}`);
    listedSnapshots.set(
      sandbox.sandboxId,
      sandbox.snapshots.map(({ snapshotId }) => snapshotId),
    );
    for (const { derived } of sandbox.snapshots) derived.forEach(walk);
  };
  walk(tree.root);
  if (tree.truncated) return;
  const isOfTemplate = tree.root.sandboxId === actor.template.origin.id;
  for (const sandbox of actor.sandboxes.filter(
    ({ id }) => id.startsWith(actor.template.origin.id) === isOfTemplate,
  )) {
    const listed = listedSnapshots.get(sandbox.id);
    if (!listed) actor.violation(`${sandbox.id} is missing in the tree of ${tree.root.sandboxId}`);
    const missing = sandbox.snapshots.filter(({ id }) => !listed?.includes(id));
    actor.equal(
      missing.map(({ id }) => id),
      [],
      `the snapshots of ${sandbox.id} that are missing in the tree`,
    );
  }
}

/** Rotates the key of a sandbox. Old refs must still be accepted; then the model gets new refs. */
export async function rotate(actor: Actor) {
  const sandbox = actor.random.of(actor.sandboxes);
  await actor.call('rotateKey', { sandboxId: sandbox.id });
  const old = actor.random.maybe(sandbox.snapshots);
  if (old)
    actor.equal(
      (await actor.call('get', by(old))).snapshotId,
      old.id,
      'the snapshot of a ref with the former key',
    );
  for (const snapshot of sandbox.snapshots)
    snapshot.ref = (await actor.call('get', { sandboxId: sandbox.id, snapshotId: snapshot.id })).ref;
}
