// What must always hold, looked at when a round is over.

import { FORGERIES } from '../forgeries.ts';
import { Refusal } from '../callers.ts';
import type { Manifest, Page, StartedWorkspace, Summary, WorkspacePage } from '../../client/src/index.ts';
import type { Known, Named } from './model.ts';
import { start } from './named.ts';
import { workspaces } from './recovery.ts';
import type { Round } from './round.ts';
import { isListed, remake } from './snapshots.ts';

/** How many containers are looked into at the same time. */
const AT_ONCE = 4;

/** Looks at all of the rules. */
export async function check(round: Round) {
  const rows = await ledgers(round);
  await originsAreUnchanged(round);
  await whatWasGotIsThere(round);
  await whatWasReportedIsListed(round, rows);
  await whatWasMadeWasGot(round);
  await listIsRight(round);
  await snapshotsCanBeRestored(round);
  await nothingElseRuns(round);
  await nothingElseIsStored(round, rows);
  await forgeriesAreRefused(round);
  await whatIsNeededStays(round, rows);
}

/** The snapshots that each ledger lists. */
async function ledgers(round: Round): Promise<Map<string, Summary[]>> {
  const rows = new Map<string, Summary[]>();
  for (const sandboxId of workspaces(round)) {
    const page: Page = await round.stage.world.rpc('list', { sandboxId, limit: 100 });
    rows.set(sandboxId, page.snapshots);
    for (const { snapshotId, state } of page.snapshots)
      if (state !== 'ready') round.violation(`${snapshotId} of ${sandboxId} is ${state} for ever`);
  }
  return rows;
}

/** 2: an origin has the files that its owner gave it. */
async function originsAreUnchanged(round: Round) {
  for (const origin of round.places.filter(({ isLost }) => !isLost))
    round.same(
      await round.stage.files(origin.id),
      origin.tree.listing,
      `the files of the origin ${origin.id}`,
    );
}

/** 3, 5: a sandbox that somebody got has the files of its snapshot, unless it was killed since. */
async function whatWasGotIsThere(round: Round) {
  await each(round.sandboxes, async (got) => {
    if (!got.place && !(await round.isLost(got))) await holdsSnapshot(round, got.id, got.of);
  });
}

async function holdsSnapshot(round: Round, sandboxId: string, known: Known) {
  const files = await round.stage.files(sandboxId);
  const index = known.trees.findIndex(({ listing }) => listing === files);
  const what = `the files of ${sandboxId} (${await round.learn(sandboxId)}), made from ${known.ref.ref.snapshotId}`;
  if (index < 0 && !known.isWild)
    round.same(files, known.trees.map(({ listing }) => listing).join(' or '), what);
  // Now it is known what the snapshot holds, and every other sandbox has the same.
  if (index >= 0) known.trees = [known.trees[index]!];
}

/** 1, 7: what was reported is listed, and what is listed was reported. Every snapshot of an origin has a key. */
async function whatWasReportedIsListed(round: Round, ledgers: Map<string, Summary[]>) {
  for (const origin of round.places) {
    const rows = ledgers.get(origin.id) ?? [];
    const known = round.snapshots.filter(({ ref }) => ref.ref.originId === origin.id);
    for (const { ref, isGone, mayBeGone } of known) {
      if (!mayBeGone) isListed(round, ref, rows);
      if (isGone && rows.some(({ snapshotId }) => snapshotId === ref.ref.snapshotId))
        round.violation(`${ref.ref.snapshotId} was deleted, and is listed`);
    }
    const unknown = rows.filter(
      ({ snapshotId }) => !known.some(({ ref }) => ref.ref.snapshotId === snapshotId),
    );
    round.same(
      unknown.map(({ snapshotId }) => snapshotId),
      [],
      `what nobody has asked for of ${origin.id}`,
    );
  }
}

/** 3, 4, 6: the sandboxes that were made from a snapshot are those that somebody got; each needs it until it has its own. */
async function whatWasMadeWasGot(round: Round) {
  const ids = (gots: { id: string }[]) => gots.map(({ id }) => id).sort();
  const hasOwn = (id: string) => round.snapshots.some(({ ref }) => ref.ref.originId === id);
  await each(present(round), async (known) => {
    const { derived, dependents }: Manifest = await round.stage.world.rpc('manifest', { ref: known.ref });
    const got = round.sandboxes.filter(({ of }) => of === known);
    const what = known.ref.ref.snapshotId;
    round.same(
      derived.map(({ sandboxId }) => sandboxId).sort(),
      ids(got),
      `the sandboxes that were made from ${what}`,
    );
    round.same(dependents.toSorted(), ids(got.filter(({ id }) => !hasOwn(id))), `the dependents of ${what}`);
    const { ok, checks } = await round.stage.world.rpc('verify', { ref: known.ref });
    round.same(ok, true, `what verify finds of ${what}: ${JSON.stringify(checks)}`);
  });
}

/** The snapshots whose deletion nobody has asked for. */
const present = (round: Round) => round.snapshots.filter(({ mayBeGone }) => !mayBeGone);

/** The list of workspaces has those that there are. */
async function listIsRight(round: Round) {
  const { workspaces }: WorkspacePage = await round.stage.world.rpc('workspaces/list', {
    prefix: round.prefix,
  });
  for (const { name, state } of workspaces) {
    const known = round.named.find((named) => named.name === name);
    const there = await round.stage.world.rpc('workspaces/getByName', { name }).catch(() => undefined);
    round.same(state, there?.state, `the state of ${name} on the list`);
    if (known?.isGone) round.violation(`The workspace ${name} was deleted, and is listed`);
  }
  for (const { name, isGone, mayBeGone } of round.named)
    if (!isGone && !mayBeGone && !workspaces.some((entry) => entry.name === name))
      round.violation(`The workspace ${name} is not listed`);
}

/** 1, 5: each snapshot can be restored, with exactly its files. */
async function snapshotsCanBeRestored(round: Round) {
  await each(present(round), async (known) => {
    const intention = remake(round, round.random, known);
    await round.insist(intention);
    const got = round.sandboxes.findLast(({ of }) => of === known);
    if (intention.answer !== undefined && got) await holdsSnapshot(round, got.id, known);
  });
  for (const named of round.named.filter(({ isGone, mayBeGone }) => !isGone && !mayBeGone))
    await workspaceIsWhole(round, named);
}

/** A workspace comes back, with its newest files; where its container was killed, with those that were safe, or newer ones. */
async function workspaceIsWhole(round: Round, named: Named) {
  const { trees, isLost, isSaved } = named;
  const intention = start(named);
  await round.insist(intention);
  const answer = intention.answer as StartedWorkspace | undefined;
  if (!answer) {
    const code = intention.refusal?.code;
    const isTold = isLost && !isSaved && code === 'NOTHING_RESTORABLE';
    if (!isTold) round.violation(`The workspace ${named.name} does not come back: ${code}`);
    return;
  }
  const files = await round.stage.files(answer.sandboxId);
  const isAllowed = trees.some(({ listing }) => listing === files) || (isLost && !isSaved && files === '');
  if (!isAllowed)
    round.same(
      files,
      trees.map(({ listing }) => listing).join(' or '),
      `the files of the workspace ${named.name}`,
    );
}

/** 4: what runs is somebody's; and what is somebody's runs, unless it was killed. */
async function nothingElseRuns(round: Round) {
  const { world } = round.stage;
  const mine = [
    ...round.origins.map(({ id }) => id),
    ...round.sandboxes.map(({ id }) => id),
    ...round.named.filter(({ isGone }) => !isGone).map(({ sandboxId }) => sandboxId),
  ];
  const hexes = new Set(await Promise.all(mine.filter((id) => id !== '').map((id) => round.learn(id))));
  for (const hex of world.running())
    if (!hexes.has(hex) && !round.before.running.includes(hex))
      round.violation(`A sandbox runs that nobody got: ${round.nameOf(hex) ?? hex}`);
  for (const { id, isLost } of round.places)
    if (!isLost && !world.running().includes(await round.learn(id)))
      round.violation(`The origin ${id} was ended`);
}

/** 4: the objects in R2 are those of the ledgers. An archive alone carries no mark: the sandbox died before the rest of it. */
async function nothingElseIsStored(round: Round, ledgers: Map<string, Summary[]>) {
  const { world } = round.stage;
  const owned = new Set(
    [...ledgers.values()].flat().flatMap(({ ref }) => (ref ? objectsOf(ref.ref.backup.id) : [])),
  );
  const there = (await world.objects()).filter((key) => !round.before.objects.includes(key));
  const marked = there.filter((key) => there.includes(key.replace('data.sqsh', 'meta.json')));
  const nobodys = marked.filter((key) => !owned.has(key));
  // A workspace may have been stopped since the ledgers were read.
  const again = nobodys.length > 0 ? await stillNobodys(round, nobodys) : [];
  round.same(again, [], 'the objects in R2 that nobody owns');
  const { deleted, failed } = await world.rpc('sweep', { graceSeconds: 0, dryRun: true });
  round.same([deleted, failed], [0, 0], 'what a sweep would find');
}

async function stillNobodys(round: Round, keys: string[]): Promise<string[]> {
  const rows = [...(await ledgers(round)).values()].flat();
  const owned = new Set(rows.flatMap(({ ref }) => (ref ? objectsOf(ref.ref.backup.id) : [])));
  return keys.filter((key) => !owned.has(key));
}

const objectsOf = (backup: string) => ['data.sqsh', 'meta.json'].map((name) => `backups/${backup}/${name}`);

/** 8: forged refs are refused. */
async function forgeriesAreRefused(round: Round) {
  const known = round.random.maybe(round.snapshots);
  if (!known) return;
  for (const [what, [code, forgery]] of Object.entries(FORGERIES))
    round.same(
      await codeOf(round, 'restore', { ref: forgery(known.ref) }),
      code,
      `the answer to a ref with ${what}`,
    );
  const { ref } = known;
  round.same(
    await codeOf(round, 'restore', { ref, lineageScope: 'elsewhere' }),
    'CROSS_LINEAGE',
    'who asks from elsewhere',
  );
}

/** 6: what somebody needs is not deleted, and no policy lets it go. */
async function whatIsNeededStays(round: Round, rows: Map<string, Summary[]>) {
  const needed = [...rows.values()]
    .flat()
    .find(({ dependents, ref }) => dependents.length > 0 && ref !== undefined);
  if (!needed?.ref) return;
  const { ref } = needed;
  const { dependents }: Summary = await round.stage.world.rpc('get', { ref });
  if (dependents.length === 0) return;
  round.same(await codeOf(round, 'delete', { ref }), 'SNAPSHOT_HAS_DEPENDENTS', 'who deletes what is needed');
  const { decisions } = await round.stage.world.rpc('setRetention', {
    sandboxId: ref.ref.originId,
    policy: { keepLast: { count: 1 } },
    dryRun: true,
  });
  const decision = decisions.find(({ snapshotId }: Summary) => snapshotId === ref.ref.snapshotId);
  round.same(decision?.keep, true, 'what a policy does with what is needed');
}

async function codeOf(round: Round, operation: string, options: object): Promise<string> {
  try {
    await round.stage.callers.call(`${round.prefix}-forger`, 'rpc', operation, options);
    return 'an answer';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

/** Does something for each, a few at a time. */
export async function each<T>(values: readonly T[], work: (value: T) => Promise<void>) {
  const left = [...values];
  const worker = async () => {
    for (let value = left.shift(); value !== undefined; value = left.shift()) await work(value);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
