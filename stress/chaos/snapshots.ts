// The calls about snapshots during faults.

import { setTimeout } from 'node:timers/promises';

import type { SnapshotRef, Summary, TakenSnapshot, WorkspaceRef } from '../../client/src/index.ts';
import type { Transport } from '../callers.ts';
import type { Random } from '../random.ts';
import { SECRETS } from '../secrets.ts';
import { Origin, type KnownSnapshot } from './model.ts';
import type { RepeatableCall, Round } from './round.ts';

/** The number of repetitions of a call during faults. */
const RETRIES = 2;

/** The maximum time after which a call is canceled, in milliseconds. */
const MAX_CANCEL_MILLIS = 600;

/** A caller: its name, and its source of decisions. */
export interface Caller {
  name: string;
  random: Random;
}

/** Makes a call, sometimes twice at once, and repeats it on failure. Calls with an unknown outcome are repeated after the faults. */
export async function callWithRetries(round: Round, { name, random }: Caller, call: RepeatableCall) {
  round.calls.add(call);
  const transport = (): Transport => random.of(['rpc', 'rpc', 'http']);
  if (random.chance(0.1)) await callAndCancel(round, { name, random }, call);
  const first = transport();
  const attempts = [round.call(call, name, first)];
  if (call.isKeyed && random.chance(0.25)) attempts.push(round.call(call, `${name}-too`, transport()));
  const reasons = await Promise.all(attempts);
  const isUnknown = () => reasons.every((reason) => reason !== undefined);
  for (let retry = 0; retry < RETRIES && isUnknown(); retry += 1)
    reasons.push(await round.call(call, name, first));
}

/** Makes a call and cancels it, before or right after its answer. */
async function callAndCancel(round: Round, { name, random }: Caller, call: RepeatableCall) {
  const caller = `${name}-cancels-${random.word(6)}`;
  const outcome = round.call(call, caller, 'rpc', true);
  await setTimeout(random.next() ** 2 * MAX_CANCEL_MILLIS);
  await round.environment.callers.abort(caller).catch(() => {});
  await outcome;
}

/** Takes a snapshot. */
export async function snapshot(round: Round, caller: Caller) {
  const { random } = caller;
  const origin = random.of(round.allOrigins);
  await origin.lock.read(() => callWithRetries(round, caller, snapshotCall(round, random, origin)));
}

/** Creates a call that takes a snapshot of an origin. */
export function snapshotCall(round: Round, random: Random, origin: Origin): RepeatableCall {
  const first = Math.max(0, origin.versions.length - 1);
  const { downs } = round;
  const wake = origin.wasRewritten;
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
    mayBeDeleted: () => false,
    mayFail: () => origin.isLost || origin.wasRewritten || origin.versions.length === 0,
    onAnswer: ({ capture, ...ref }: TakenSnapshot) => {
      const trees = origin.versions.slice(first);
      const shared = round.snapshots.find((known) => known.ref.ref.snapshotId === ref.ref.snapshotId);
      if (shared) shared.trees = shared.trees.filter((tree) => trees.includes(tree));
      else {
        const isUnknown = wake && downs !== round.downs;
        const isRescue = capture.rescue === true;
        round.snapshots.push({ ref, trees, mayBeDeleted: false, isDeleted: false, isRescue, isUnknown });
      }
    },
  };
}

/** Makes a sandbox from a snapshot. */
export async function restore(round: Round, caller: Caller) {
  const { random } = caller;
  const known = random.maybe(round.snapshots);
  if (known) await callWithRetries(round, caller, restoreCall(round, random, known));
}

/** Creates a call that restores or branches from a snapshot. */
export function restoreCall(round: Round, random: Random, known: KnownSnapshot): RepeatableCall {
  const { ref } = known;
  const selection = random.of([{ ref }, { sandboxId: ref.ref.originId, snapshotId: ref.ref.snapshotId }]);
  return {
    operation: random.of(['restore', 'branch']),
    options: { ...selection, idempotencyKey: random.word(12) },
    isKeyed: true,
    mayBeDeleted: () => known.mayBeDeleted,
    mayFail: () => false,
    onAnswer: ({ ref: { sandboxId } }: WorkspaceRef) => {
      round.sandboxes.push({ id: sandboxId, of: known, at: performance.now() });
      // If workerd does not run at the moment, the id is resolved later.
      void round.resolveObjectId(sandboxId).catch(() => {});
    },
  };
}

/** Makes an origin of a restored sandbox, so that callers change its files. */
export async function useAsOrigin(round: Round, { random }: Caller) {
  const sandbox = random.maybe(round.sandboxes.filter(({ origin, of }) => !origin && of.trees.length === 1));
  if (!sandbox) return;
  const origin = new Origin(sandbox.id);
  sandbox.origin = origin;
  // If workerd does not run at the moment, the state of the container is unknown.
  origin.isLost = await round.isLost(sandbox).catch(() => true);
  origin.versions.push(sandbox.of.trees[0]!);
}

/** Deletes a random snapshot. */
export async function remove(round: Round, caller: Caller) {
  const candidates = round.snapshots.filter(({ mayBeDeleted }) => !mayBeDeleted);
  if (candidates.length < 2) return;
  const known = caller.random.of(candidates);
  known.mayBeDeleted = true;
  const call: RepeatableCall = {
    operation: 'delete',
    options: { ref: known.ref },
    isKeyed: false,
    mayBeDeleted: () => true,
    mayFail: () => true,
    onAnswer: () => {
      known.isDeleted = true;
    },
  };
  await callWithRetries(round, caller, call);
}

/** Changes the label of a snapshot, or pins or unpins it. */
export async function labelOrPin(round: Round, caller: Caller) {
  const { random } = caller;
  const known = random.maybe(round.snapshots);
  if (!known) return;
  const newLabel = `${SECRETS.label} ${random.word(6)}`;
  const [operation, more] = random.of([
    ['label', { newLabel }],
    ['pin', {}],
    ['unpin', {}],
  ] as const);
  await callWithRetries(round, caller, {
    operation,
    options: { ref: known.ref, ...more },
    isKeyed: false,
    mayBeDeleted: () => known.mayBeDeleted,
    mayFail: () => false,
    onAnswer: () => {},
  });
}

/** Reads a list, and checks that it contains all reported snapshots. */
export async function list(round: Round, caller: Caller) {
  const origin = caller.random.of(round.allOrigins);
  const before = round.snapshots.filter(({ ref }) => ref.ref.originId === origin.id);
  await callWithRetries(round, caller, {
    operation: 'list',
    options: { sandboxId: origin.id, limit: 100 },
    isKeyed: false,
    mayBeDeleted: () => false,
    mayFail: () => true,
    onAnswer: ({ snapshots }: { snapshots: Summary[] }) => {
      for (const known of before.filter(({ mayBeDeleted }) => !mayBeDeleted))
        assertListed(round, known.ref, snapshots);
    },
  });
}

/** Checks that a reported snapshot is listed, and is not listed as unrestorable. */
export function assertListed(round: Round, { ref }: SnapshotRef, rows: Summary[]) {
  const row = rows.find(({ snapshotId }) => snapshotId === ref.snapshotId);
  if (!row) round.violation(`The reported snapshot ${ref.snapshotId} of ${ref.originId} is not listed`);
  else if (row.restorable === 'no')
    round.violation(`${ref.snapshotId} is listed as not restorable: ${row.why}`);
}

/** Changes the files of an origin while no call captures it. */
export async function write(round: Round, caller: Caller) {
  const origin = caller.random.of(round.allOrigins);
  await origin.lock.write(async () => {
    // A backup of a failed call may still run.
    await round.environment.waitForBackups().catch(() => {});
    await round.write(origin, caller.random);
  });
}
