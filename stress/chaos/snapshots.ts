// What callers want of snapshots, while things break.

import { setTimeout } from 'node:timers/promises';

import type { SnapshotRef, Summary, TakenSnapshot, WorkspaceRef } from '../../client/src/index.ts';
import type { Way } from '../callers.ts';
import type { Random } from '../random.ts';
import { SECRETS } from '../secrets.ts';
import { Origin, type Known } from './model.ts';
import type { Intention, Round } from './round.ts';

/** How often a caller asks again while things break. */
const PATIENCE = 2;

/** After how many milliseconds at most a caller leaves that does not wait. */
const LEAVES_MILLIS = 600;

/** Who wants something, by whom it is asked, and what decides. */
export interface Caller {
  name: string;
  random: Random;
}

/** Asks for something, at times twice at once; what does not come is asked for again when nothing breaks any more. */
export async function want(round: Round, { name, random }: Caller, intention: Intention) {
  round.intentions.add(intention);
  const way = (): Way => random.of(['rpc', 'rpc', 'http']);
  if (random.chance(0.1)) await leave(round, { name, random }, intention);
  const first = way();
  const calls = [round.ask(intention, name, first)];
  if (intention.isKeyed && random.chance(0.25)) calls.push(round.ask(intention, `${name}-too`, way()));
  const outcomes = await Promise.all(calls);
  const isOpen = () => outcomes.every((why) => why !== undefined);
  for (let times = 0; times < PATIENCE && isOpen(); times += 1)
    outcomes.push(await round.ask(intention, name, first));
}

/** Asks for something, and leaves before there is an answer, or right after. */
async function leave(round: Round, { name, random }: Caller, intention: Intention) {
  const caller = `${name}-leaves-${random.word(6)}`;
  const call = round.ask(intention, caller, 'rpc', true);
  await setTimeout(random.next() ** 2 * LEAVES_MILLIS);
  await round.stage.callers.abort(caller).catch(() => {});
  await call;
}

/** Takes a snapshot. */
export async function snapshot(round: Round, caller: Caller) {
  const { random } = caller;
  const origin = random.of(round.places);
  await origin.turns.shared(() => want(round, caller, capture(round, random, origin)));
}

/** The intention to have a snapshot of what an origin holds from now on. */
export function capture(round: Round, random: Random, origin: Origin): Intention {
  const first = Math.max(0, origin.versions.length - 1);
  const { downs } = round;
  const wake = origin.wasRevived;
  const options = {
    sandboxId: origin.id,
    idempotencyKey: random.word(12),
    ...(wake ? { wake } : {}),
    ...(random.chance(0.3) ? { label: `${SECRETS.label} ${random.word(6)}` } : {}),
    ...(random.chance(0.3) ? { fresh: true } : {}),
  };
  return {
    operation: 'snapshot',
    options,
    isKeyed: true,
    mayBeGone: () => false,
    mayFail: () => origin.isLost || origin.wasRevived || origin.versions.length === 0,
    got: ({ capture: _, ...ref }: TakenSnapshot) => {
      const trees = origin.versions.slice(first);
      const shared = round.snapshots.find((known) => known.ref.ref.snapshotId === ref.ref.snapshotId);
      if (shared) shared.trees = shared.trees.filter((tree) => trees.includes(tree));
      else {
        const isWild = wake && downs !== round.downs;
        round.snapshots.push({ ref, trees, mayBeGone: false, isGone: false, isWild });
      }
    },
  };
}

/** Makes a sandbox from a snapshot. */
export async function restore(round: Round, caller: Caller) {
  const { random } = caller;
  const known = random.maybe(round.snapshots);
  if (known) await want(round, caller, remake(round, random, known));
}

/** The intention to have a sandbox that is made from a snapshot. */
export function remake(round: Round, random: Random, known: Known): Intention {
  const { ref } = known;
  const selection = random.of([{ ref }, { sandboxId: ref.ref.originId, snapshotId: ref.ref.snapshotId }]);
  return {
    operation: random.of(['restore', 'branch']),
    options: { ...selection, idempotencyKey: random.word(12) },
    isKeyed: true,
    mayBeGone: () => known.mayBeGone,
    mayFail: () => false,
    got: ({ ref: { sandboxId } }: WorkspaceRef) => {
      round.sandboxes.push({ id: sandboxId, of: known, at: performance.now() });
      // Where workerd does not run just now, it is learned later.
      void round.learn(sandboxId).catch(() => {});
    },
  };
}

/** Works on in a sandbox that was made from a snapshot: it is an origin, too. */
export async function moveIn(round: Round, { random }: Caller) {
  const got = random.maybe(round.sandboxes.filter(({ place, of }) => !place && of.trees.length === 1));
  if (!got) return;
  const place = new Origin(got.id);
  got.place = place;
  // Where workerd does not run just now, nothing is known of it.
  place.isLost = await round.isLost(got).catch(() => true);
  place.versions.push(got.of.trees[0]!);
}

/** Deletes a snapshot that nobody needs, as far as is known. */
export async function remove(round: Round, caller: Caller) {
  const candidates = round.snapshots.filter(({ mayBeGone }) => !mayBeGone);
  if (candidates.length < 2) return;
  const known = caller.random.of(candidates);
  known.mayBeGone = true;
  const intention: Intention = {
    operation: 'delete',
    options: { ref: known.ref },
    isKeyed: false,
    mayBeGone: () => true,
    mayFail: () => true,
    got: () => {
      known.isGone = true;
    },
  };
  await want(round, caller, intention);
}

/** Gives a snapshot another label, or a pin. */
export async function mark(round: Round, caller: Caller) {
  const { random } = caller;
  const known = random.maybe(round.snapshots);
  if (!known) return;
  const newLabel = `${SECRETS.label} ${random.word(6)}`;
  const [operation, more] = random.of([
    ['label', { newLabel }],
    ['pin', {}],
    ['unpin', {}],
  ] as const);
  await want(round, caller, {
    operation,
    options: { ref: known.ref, ...more },
    isKeyed: false,
    mayBeGone: () => known.mayBeGone,
    mayFail: () => false,
    got: () => {},
  });
}

/** Looks at the list: what was reported is on it, and is not said to be gone. */
export async function list(round: Round, caller: Caller) {
  const origin = caller.random.of(round.places);
  const before = round.snapshots.filter(({ ref }) => ref.ref.originId === origin.id);
  await want(round, caller, {
    operation: 'list',
    options: { sandboxId: origin.id, limit: 100 },
    isKeyed: false,
    mayBeGone: () => false,
    mayFail: () => true,
    got: ({ snapshots }: { snapshots: Summary[] }) => {
      for (const known of before.filter(({ mayBeGone }) => !mayBeGone)) isListed(round, known.ref, snapshots);
    },
  });
}

/** A snapshot that was reported is on a list, and can be restored as far as is known. */
export function isListed(round: Round, { ref }: SnapshotRef, rows: Summary[]) {
  const row = rows.find(({ snapshotId }) => snapshotId === ref.snapshotId);
  if (!row)
    round.violation(`The snapshot ${ref.snapshotId} of ${ref.originId} was reported, and is not listed`);
  else if (row.restorable === 'no')
    round.violation(`${ref.snapshotId} is said not to be restorable: ${row.why}`);
}

/** Changes the files of an origin, when nothing captures it. */
export async function write(round: Round, caller: Caller) {
  const origin = caller.random.of(round.places);
  await origin.turns.alone(async () => {
    // What a call has left that failed may still go on.
    await round.stage.quiet().catch(() => {});
    await round.write(origin, caller.random);
  });
}
