// The rules that are checked at the end of a round. The numbers are those of docs/stress.md.

import { FORGERIES } from '../forgeries.ts';
import { Refusal } from '../callers.ts';
import type {
  Manifest,
  Page,
  StartedWorkspace,
  Summary,
  Workspace,
  WorkspacePage,
} from '../../client/src/index.ts';
import type { KnownSnapshot, Named } from './model.ts';
import { start } from './named.ts';
import { workspaces } from './recovery.ts';
import type { Round } from './round.ts';
import { assertListed, restoreCall } from './snapshots.ts';

/** The maximum number of concurrent checks of containers. */
const CONCURRENCY = 4;

/** Checks all rules. */
export async function check(round: Round) {
  const rows = await readLedgers(round);
  await checkOrigins(round);
  await checkRestoredSandboxes(round);
  await checkLists(round, rows);
  await checkDependents(round);
  await checkWorkspaceList(round);
  await checkRestores(round);
  await checkRunning(round);
  await checkStored(round, rows);
  await checkForgeries(round);
  await checkProtection(round, rows);
}

/** Returns the snapshots that each ledger lists. */
async function readLedgers(round: Round): Promise<Map<string, Summary[]>> {
  const rows = new Map<string, Summary[]>();
  for (const sandboxId of workspaces(round)) {
    const page: Page = await round.environment.world.rpc('list', { sandboxId, limit: 100 });
    rows.set(sandboxId, page.snapshots);
    for (const { snapshotId, state } of page.snapshots)
      if (state !== 'ready') round.violation(`${snapshotId} of ${sandboxId} stays in the state ${state}`);
  }
  return rows;
}

/** Rule 2: an origin has the files that its callers wrote. */
async function checkOrigins(round: Round) {
  for (const origin of round.allOrigins.filter(({ isLost }) => !isLost))
    round.equal(
      await round.environment.files(origin.id),
      origin.tree.listing,
      `the files of the origin ${origin.id}`,
    );
}

/** Rules 3 and 5: a restored sandbox has the files of its snapshot, unless its container was killed. */
async function checkRestoredSandboxes(round: Round) {
  await forEach(round.sandboxes, async (sandbox) => {
    if (!sandbox.origin && !(await round.isLost(sandbox))) await checkFiles(round, sandbox.id, sandbox.of);
  });
}

async function checkFiles(round: Round, sandboxId: string, known: KnownSnapshot) {
  const files = await round.environment.files(sandboxId);
  const index = known.trees.findIndex(({ listing }) => listing === files);
  const what = `the files of ${sandboxId} (${await round.resolveObjectId(sandboxId)}), made from ${known.ref.ref.snapshotId}`;
  if (index < 0 && !known.isUnknown)
    round.equal(files, known.trees.map(({ listing }) => listing).join(' or '), what);
  // From now on the content of the snapshot is known, and all its sandboxes must have it.
  if (index >= 0) known.trees = [known.trees[index]!];
}

/** Rules 1 and 7: the lists contain exactly the reported snapshots. All were reported, because every snapshot call has a key. */
async function checkLists(round: Round, ledgers: Map<string, Summary[]>) {
  for (const origin of round.allOrigins) {
    const rows = ledgers.get(origin.id) ?? [];
    const known = round.snapshots.filter(({ ref }) => ref.ref.originId === origin.id);
    for (const { ref, isDeleted, mayBeDeleted } of known) {
      if (!mayBeDeleted) assertListed(round, ref, rows);
      if (isDeleted && rows.some(({ snapshotId }) => snapshotId === ref.ref.snapshotId))
        round.violation(`${ref.ref.snapshotId} is listed after its deletion`);
    }
    const unknown = rows.filter(
      ({ snapshotId }) => !known.some(({ ref }) => ref.ref.snapshotId === snapshotId),
    );
    round.equal(
      unknown.map(({ snapshotId }) => snapshotId),
      [],
      `the unreported snapshots of ${origin.id}`,
    );
  }
}

/** Rules 3, 4 and 6: callers got all sandboxes of a snapshot. Each is a dependent until it has its own snapshot. */
async function checkDependents(round: Round) {
  const ids = (sandboxes: { id: string }[]) => sandboxes.map(({ id }) => id).sort();
  const hasOwn = (id: string) =>
    round.snapshots.some(({ ref, isRescue }) => ref.ref.originId === id && !isRescue);
  await forEach(present(round), async (known) => {
    const { derived, dependents }: Manifest = await round.environment.world.rpc('manifest', {
      ref: known.ref,
    });
    const restored = round.sandboxes.filter(({ of }) => of === known);
    const what = known.ref.ref.snapshotId;
    round.equal(
      derived.map(({ sandboxId }) => sandboxId).sort(),
      ids(restored),
      `the sandboxes that were made from ${what}`,
    );
    round.equal(
      dependents.toSorted(),
      ids(restored.filter(({ id }) => !hasOwn(id))),
      `the dependents of ${what}`,
    );
    const { ok, checks } = await round.environment.world.rpc('verify', { ref: known.ref });
    round.equal(ok, true, `the result of verify for ${what}: ${JSON.stringify(checks)}`);
  });
}

/** The snapshots whose deletion was not requested. */
const present = (round: Round) => round.snapshots.filter(({ mayBeDeleted }) => !mayBeDeleted);

/** Checks that the list of workspaces contains exactly the existing ones, with their states. */
async function checkWorkspaceList(round: Round) {
  const { workspaces }: WorkspacePage = await round.environment.world.rpc('workspaces/list', {
    prefix: round.prefix,
  });
  for (const { name, state } of workspaces) {
    const known = round.named.find((named) => named.name === name);
    const actual = await round.environment.world.rpc('workspaces/getByName', { name }).catch(() => undefined);
    round.equal(state, actual?.state, `the state of ${name} on the list`);
    if (known?.isDeleted) round.violation(`The workspace ${name} is listed after its deletion`);
  }
  for (const { name, isDeleted, mayBeDeleted } of round.named)
    if (!isDeleted && !mayBeDeleted && !workspaces.some((entry) => entry.name === name))
      round.violation(`The workspace ${name} is not listed`);
}

/** Rules 1 and 5: each snapshot can be restored with exactly its files. */
async function checkRestores(round: Round) {
  await forEach(present(round), async (known) => {
    const call = restoreCall(round, round.random, known);
    await round.repeatUntilKnown(call);
    const restored = round.sandboxes.findLast(({ of }) => of === known);
    if (call.answer !== undefined && restored) await checkFiles(round, restored.id, known);
  });
  for (const named of round.named.filter(({ isDeleted, mayBeDeleted }) => !isDeleted && !mayBeDeleted))
    await checkWorkspace(round, named);
}

/** Checks that a workspace starts with its newest files. After a kill of its container, it may have the saved files or newer ones. */
async function checkWorkspace(round: Round, named: Named) {
  const { trees, isLost, isSaved } = named;
  let call = start(named);
  await round.repeatUntilKnown(call);
  if (!call.answer && named.usedPlatform && (await deployFormerImage(round, named))) {
    call = start(named);
    await round.repeatUntilKnown(call);
  }
  const answer = call.answer as StartedWorkspace | undefined;
  if (!answer) {
    const code = call.refusal?.code;
    const isExpected = named.isPlatformLost || (isLost && !isSaved && code === 'NOTHING_RESTORABLE');
    if (!isExpected) round.violation(`The workspace ${named.name} does not start: ${code}`);
    return;
  }
  const files = await round.environment.files(answer.sandboxId);
  const isAllowed = trees.some(({ listing }) => listing === files) || (isLost && !isSaved && files === '');
  if (!isAllowed)
    round.equal(
      files,
      trees.map(({ listing }) => listing).join(' or '),
      `the files of the workspace ${named.name}`,
    );
  // Without saved files, the caller allowed an empty start.
  else if (isSaved && files !== named.tree.listing && !named.isLossReported)
    round.violation(`No answer reports the lost files of the workspace ${named.name}`);
}

/** Deploys the image of a workspace's platform snapshot. Returns false if it is deployed already. */
async function deployFormerImage(round: Round, { name }: Named): Promise<boolean> {
  const { platformSnapshot }: Workspace = await round.environment.world.rpc('workspaces/getByName', { name });
  if (!platformSnapshot || platformSnapshot.image === round.image) return false;
  round.image = platformSnapshot.image;
  await round.faults.disarm();
  return true;
}

/** Rule 4: all running sandboxes belong to a caller, and all origins run unless their containers were killed. */
async function checkRunning(round: Round) {
  const { world } = round.environment;
  const owned = [
    ...round.origins.map(({ id }) => id),
    ...round.sandboxes.map(({ id }) => id),
    ...round.named.filter(({ isDeleted }) => !isDeleted).map(({ sandboxId }) => sandboxId),
  ];
  const objectIds = new Set(
    await Promise.all(owned.filter((id) => id !== '').map((id) => round.resolveObjectId(id))),
  );
  for (const objectId of world.running())
    if (!objectIds.has(objectId) && !round.before.running.includes(objectId))
      round.violation(`A running sandbox belongs to no caller: ${round.sandboxIdOf(objectId) ?? objectId}`);
  for (const { id, isLost } of round.allOrigins)
    if (!isLost && !world.running().includes(await round.resolveObjectId(id)))
      round.violation(`The origin ${id} does not run`);
}

/** Rule 4: the ledgers list all objects in R2, except archives without metadata: their sandbox ended before it stored the metadata. */
async function checkStored(round: Round, ledgers: Map<string, Summary[]>) {
  const { world } = round.environment;
  const owned = new Set(
    [...ledgers.values()].flat().flatMap(({ ref }) => (ref ? objectsOf(ref.ref.backup.id) : [])),
  );
  const keys = (await world.objects()).filter((key) => !round.before.objects.includes(key));
  const withMetadata = keys.filter((key) => keys.includes(key.replace('data.sqsh', 'meta.json')));
  const unlisted = withMetadata.filter((key) => !owned.has(key));
  // A workspace may have been stopped after the ledgers were read, so they are read again.
  const stillUnlisted = unlisted.length > 0 ? await withoutOwner(round, unlisted) : [];
  round.equal(stillUnlisted, [], 'the objects in R2 that no ledger lists');
  const { deleted, failed } = await world.rpc('sweep', { graceSeconds: 0, dryRun: true });
  round.equal([deleted, failed], [0, 0], 'the result of a dry-run sweep');
}

async function withoutOwner(round: Round, keys: string[]): Promise<string[]> {
  const rows = [...(await readLedgers(round)).values()].flat();
  const owned = new Set(rows.flatMap(({ ref }) => (ref ? objectsOf(ref.ref.backup.id) : [])));
  return keys.filter((key) => !owned.has(key));
}

const objectsOf = (backup: string) => ['data.sqsh', 'meta.json'].map((name) => `backups/${backup}/${name}`);

/** Rule 8: forged refs and calls with the scope of another lineage are refused. */
async function checkForgeries(round: Round) {
  const known = round.random.maybe(round.snapshots);
  if (!known) return;
  for (const [what, [code, forgery]] of Object.entries(FORGERIES))
    round.equal(
      await codeOf(round, 'restore', { ref: forgery(known.ref) }),
      code,
      `the outcome of a ref with ${what}`,
    );
  const { ref } = known;
  round.equal(
    await codeOf(round, 'restore', { ref, lineageScope: 'other-lineage' }),
    'CROSS_LINEAGE',
    'the outcome of a restore with another lineage scope',
  );
}

/** Rule 6: a snapshot with dependents can't be deleted, and no policy removes it. */
async function checkProtection(round: Round, rows: Map<string, Summary[]>) {
  const protectedRow = [...rows.values()]
    .flat()
    .find(({ dependents, ref }) => dependents.length > 0 && ref !== undefined);
  if (!protectedRow?.ref) return;
  const { ref } = protectedRow;
  const { dependents }: Summary = await round.environment.world.rpc('get', { ref });
  if (dependents.length === 0) return;
  round.equal(
    await codeOf(round, 'delete', { ref }),
    'SNAPSHOT_HAS_DEPENDENTS',
    'the outcome of a deletion of a snapshot with dependents',
  );
  const { decisions } = await round.environment.world.rpc('setRetention', {
    sandboxId: ref.ref.originId,
    policy: { keepLast: { count: 1 } },
    dryRun: true,
  });
  const decision = decisions.find(({ snapshotId }: Summary) => snapshotId === ref.ref.snapshotId);
  round.equal(decision?.keep, true, 'the decision of a policy about a snapshot with dependents');
}

async function codeOf(round: Round, operation: string, options: object): Promise<string> {
  try {
    await round.environment.callers.call(`${round.prefix}-forger`, 'rpc', operation, options);
    return 'an answer';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

/** Runs `work` for each value, with limited concurrency. */
export async function forEach<T>(values: readonly T[], work: (value: T) => Promise<void>) {
  const remaining = [...values];
  const worker = async () => {
    for (let value = remaining.shift(); value !== undefined; value = remaining.shift()) await work(value);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}
