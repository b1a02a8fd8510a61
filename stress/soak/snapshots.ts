// What is done to snapshots: taken, looked at, labelled, pinned, let go.

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

/** Keeps in the model what was taken. The sandbox needs the snapshot no more that it was made from. */
async function taken(actor: Actor, sandbox: Sandbox, { capture, ...ref }: TakenSnapshot, tree?: Tree) {
  const snapshot = new Snapshot(sandbox, ref, capture.label, tree);
  await released(actor, sandbox);
  return snapshot;
}

async function released(actor: Actor, sandbox: Sandbox) {
  const parent = sandbox.needs;
  if (!parent) return;
  sandbox.needs = undefined;
  await actor.eventually(`that ${sandbox.id} needs ${parent.id} no more`, async () => {
    const { dependents }: Summary = await actor.call('get', by(parent));
    return !dependents.includes(sandbox.id);
  });
  parent.dependents.delete(sandbox.id);
}

const newLabel = (actor: Actor) => `${SECRETS.label} ${actor.random.word(8)}`;

/** Takes one, in one of the ways in which that is possible. */
export async function take(actor: Actor) {
  const { random } = actor;
  const sandbox = random.of(actor.sandboxes);
  const sandboxId = sandbox.id;
  if (random.chance(0.7)) await actor.write(sandbox);
  const way = random.weighted([
    [3, 'plain'],
    [3, 'once'],
    [2, 'labelled'],
    [2, 'replacing'],
    [1, 'without'],
    [1, 'lasting'],
    [2, 'together'],
  ]);
  if (way === 'plain') {
    await taken(actor, sandbox, await actor.call('snapshot', { sandboxId, fresh: random.chance(0.5) }));
  } else if (way === 'once') {
    const options = { sandboxId, idempotencyKey: random.word(12) };
    const answer = await actor.call('snapshot', options);
    await taken(actor, sandbox, answer);
    actor.same(await actor.call('snapshot', options), answer, 'the second answer to one key');
    await actor.refused('IDEMPOTENCY_CONFLICT', 'snapshot', { ...options, fresh: true });
  } else if (way === 'labelled') {
    const options = { sandboxId, label: newLabel(actor) };
    const snapshot = await taken(actor, sandbox, await actor.call('snapshot', options));
    actor.same(snapshot.label, options.label, 'the label');
    await actor.refused('LABEL_TAKEN', 'snapshot', { ...options, fresh: true });
  } else if (way === 'replacing') {
    const old = random.maybe(sandbox.snapshots);
    const label = old?.label ?? newLabel(actor);
    const snapshot = await taken(
      actor,
      sandbox,
      await actor.call('snapshot', { sandboxId, label, replace: true }),
    );
    actor.same(snapshot.label, label, 'the label that was taken from another');
    if (old) old.label = (await actor.call('get', by(old))).label;
  } else if (way === 'without') {
    const options = {
      sandboxId,
      excludes: ['logs'],
      compression: { format: random.of(['gzip', 'lz4', 'zstd']) },
    };
    await taken(actor, sandbox, await actor.call('snapshot', options), sandbox.tree.without('logs'));
  } else if (way === 'lasting') {
    const options = { sandboxId, expirationSeconds: random.of([0, 3600]) };
    const snapshot = await taken(actor, sandbox, await actor.call('snapshot', options));
    snapshot.lasting = options.expirationSeconds === 0;
  } else {
    const calls = Array.from({ length: 3 }, () => actor.call('snapshot', { sandboxId }));
    const answers: TakenSnapshot[] = await Promise.all(calls);
    const distinct = new Map(answers.map((answer) => [answer.ref.snapshotId, answer]));
    for (const answer of distinct.values()) await taken(actor, sandbox, answer);
  }
  await actor.compare(sandbox, 'an origin after a snapshot');
}

/** Takes in a backup that was made without the snapshotter. */
export async function takeIn(actor: Actor) {
  const { id: sandboxId } = actor.home;
  const backup = await actor.stage.world.backUp(sandboxId);
  actor.backups.push(backup.id);
  const snapshot = await taken(actor, actor.home, await actor.call('import', { sandboxId, backup }));
  snapshot.imported = true;
}

/** Goes through the list, and compares each row. */
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
  actor.same(
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
  actor.same(
    page.snapshots.map(({ snapshotId }) => snapshotId),
    expected.filter(({ label }) => label.startsWith(prefix)).map(({ id }) => id),
    `the list of ${sandbox.id} by a prefix`,
  );
}

/** Looks at one: all that is known, and whether R2 has it. */
export async function look(actor: Actor) {
  const snapshot = actor.random.maybe(actor.snapshots);
  if (!snapshot) return;
  const manifest: Manifest = await actor.call('manifest', by(snapshot));
  actor.same(
    [manifest.snapshotId, manifest.originId, manifest.label, manifest.pinned, manifest.imported],
    [snapshot.id, snapshot.origin.id, snapshot.label, snapshot.pinned, snapshot.imported],
    'the manifest',
  );
  const { ok, checks } = await actor.call('verify', by(snapshot));
  actor.same(ok, true, `what verify finds: ${JSON.stringify(checks)}`);
  const selection = { sandboxId: snapshot.origin.id, label: snapshot.label };
  actor.same((await actor.call('get', selection)).snapshotId, snapshot.id, 'the snapshot of a label');
}

/** Gives one another label, or tries to give it one that is taken. */
export async function relabel(actor: Actor) {
  const snapshot = actor.random.maybe(actor.snapshots);
  if (!snapshot) return;
  const other = actor.random.maybe(snapshot.origin.snapshots.filter((each) => each !== snapshot));
  if (other) await actor.refused('LABEL_TAKEN', 'label', { ...by(snapshot), newLabel: other.label });
  const label = newLabel(actor);
  await actor.call('label', { ...by(snapshot), newLabel: label });
  snapshot.label = label;
}

/** Pins one, or unpins it. */
export async function pin(actor: Actor) {
  const snapshot = actor.random.maybe(actor.snapshots);
  if (!snapshot) return;
  const { pinned } = await actor.call(snapshot.pinned ? 'unpin' : 'pin', by(snapshot));
  actor.same(pinned, !snapshot.pinned, 'the pin');
  snapshot.pinned = pinned;
}

/** Deletes one, by force where somebody needs it, which is refused first. */
export async function remove(actor: Actor, chosen?: Snapshot) {
  const snapshot = chosen ?? actor.random.maybe(actor.snapshots);
  if (!snapshot) return;
  if (snapshot.isProtected) {
    const message = await actor.refused('SNAPSHOT_HAS_DEPENDENTS', 'delete', by(snapshot));
    for (const dependent of snapshot.dependents)
      actor.same(message.includes(`"${dependent}"`), true, `that the refusal names ${dependent}: ${message}`);
  }
  const gone = { snapshotId: snapshot.id, removed: true };
  actor.same(
    await actor.call('delete', { ...by(snapshot), force: snapshot.isProtected }),
    gone,
    'a deletion',
  );
  snapshot.forget();
  for (const sandbox of actor.sandboxes) if (sandbox.needs === snapshot) sandbox.needs = undefined;
  actor.same(await actor.call('delete', by(snapshot)), { ...gone, removed: false }, 'a second deletion');
  if (actor.random.chance(0.3)) await actor.refused('SNAPSHOT_NOT_FOUND', 'restore', by(snapshot));
}

/** Lets a policy go through the home's snapshots, and takes it away again. */
export async function thin(actor: Actor) {
  const { home } = actor;
  const sandboxId = home.id;
  const count = 1 + actor.random.below(4);
  const policy = { keepLast: { count } };
  const stays = new Set(
    home.newestFirst.filter((each, index) => each.isProtected || index < count).map(({ id }) => id),
  );
  const kept = ({ decisions }: Retention) =>
    decisions.filter(({ keep }) => keep).map(({ snapshotId }) => snapshotId);
  const expected = home.newestFirst.map(({ id }) => id).filter((id) => stays.has(id));
  actor.same(kept(await actor.call('setRetention', { sandboxId, policy, dryRun: true })), expected, 'a plan');
  actor.same(kept(await actor.call('setRetention', { sandboxId, policy })), expected, 'what a policy keeps');
  for (const snapshot of [...home.snapshots]) if (!stays.has(snapshot.id)) snapshot.forget();
  await actor.call('setRetention', { sandboxId, policy: DEFAULT_POLICY });
  await list(actor);
}

/** Looks at the tree: every sandbox is where it came from. */
export async function lineage(actor: Actor) {
  const tree: Lineage = await actor.call('lineage', { sandboxId: actor.random.of(actor.sandboxes).id });
  const places = new Map<string, string[]>();
  const walk = (sandbox: TreeSandbox) => {
    if (sandbox.problem !== undefined)
      actor.violation(`The tree lacks something at ${sandbox.sandboxId}: ${sandbox.problem}`);
    places.set(
      sandbox.sandboxId,
      sandbox.snapshots.map(({ snapshotId }) => snapshotId),
    );
    for (const { derived } of sandbox.snapshots) derived.forEach(walk);
  };
  walk(tree.root);
  if (tree.truncated) return;
  const isTemplates = tree.root.sandboxId === actor.template.origin.id;
  for (const sandbox of actor.sandboxes.filter(
    ({ id }) => id.startsWith(actor.template.origin.id) === isTemplates,
  )) {
    const listed = places.get(sandbox.id);
    if (!listed) actor.violation(`${sandbox.id} is not in the tree that begins with ${tree.root.sandboxId}`);
    const missing = sandbox.snapshots.filter(({ id }) => !listed?.includes(id));
    actor.same(
      missing.map(({ id }) => id),
      [],
      `the snapshots of ${sandbox.id} that the tree lacks`,
    );
  }
}

/** Has another key sign the refs. The old ones are still accepted; then they are asked for anew. */
export async function rotate(actor: Actor) {
  const sandbox = actor.random.of(actor.sandboxes);
  await actor.call('rotateKey', { sandboxId: sandbox.id });
  const old = actor.random.maybe(sandbox.snapshots);
  if (old)
    actor.same((await actor.call('get', by(old))).snapshotId, old.id, 'what a ref of the former key names');
  for (const snapshot of sandbox.snapshots)
    snapshot.ref = (await actor.call('get', { sandboxId: sandbox.id, snapshotId: snapshot.id })).ref;
}
