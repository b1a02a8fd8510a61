// The chaos test: rounds with injected faults, each with its own seed.

import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { Environment, type EnvironmentOptions } from '../environment.ts';
import { Tree } from '../tree.ts';
import { Violations } from '../violations.ts';
import { Named, Origin } from './model.ts';
import * as workspaces from './named.ts';
import { recover, repeatCalls } from './recovery.ts';
import { Round } from './round.ts';
import { check, forEach } from './rules.ts';
import * as snapshots from './snapshots.ts';

/** The number of rounds in one environment, unless a round has a violation. */
const ROUNDS_PER_ENVIRONMENT = 12;

/** The time limit of a round in milliseconds, many times its duration on a slow machine. */
const LIMIT_MILLIS = 600_000;

const CALLERS = 3;

const OPERATIONS: readonly (readonly [
  weight: number,
  operation: (round: Round, caller: snapshots.Caller) => Promise<void>,
])[] = [
  [4, snapshots.snapshot],
  [4, snapshots.restore],
  [2, snapshots.write],
  [2, snapshots.useAsOrigin],
  [1, snapshots.remove],
  [1, snapshots.labelOrPin],
  [1, snapshots.list],
  [5 * workspaces.STORAGES.length, workspaces.useWorkspace],
];

/** The options of a chaos test. */
export interface ChaosOptions extends EnvironmentOptions {
  rounds: number;
  /** The seed of the first round. Each further round has the next number. */
  seed: number;
  /** Prints a line. */
  print?: (line: string) => void;
}

/** The result of a chaos test. */
export interface ChaosOutcome {
  rounds: number;
  operations: number;
  /** The number of injected faults, by name. */
  faults: Record<string, number>;
  violations: string[];
}

/** Runs a chaos test. */
export async function chaos({
  rounds,
  seed,
  print = () => {},
  ...options
}: ChaosOptions): Promise<ChaosOutcome> {
  const violations = new Violations((violation) => print(`VIOLATION ${violation}`));
  const outcome: ChaosOutcome = { rounds, operations: 0, faults: {}, violations: violations.list };
  for (let done = 0; done < rounds;) {
    let round: Round | undefined;
    await using environment = await Environment.start(violations, {
      ...options,
      onCall: (call) => round?.faults.onCall(call),
    });
    const before = violations.list.length;
    for (let times = 0; times < ROUNDS_PER_ENVIRONMENT && done < rounds; times += 1, done += 1) {
      round = new Round(seed + done, environment, violations);
      const began = performance.now();
      try {
        await withTimeout(runRound(round));
      } catch (error) {
        round.violation(`The round failed: ${(error as Error).stack}`);
      }
      const faults = [...round.faults.injected, ...round.faultyCalls.map(() => 'a call goes wrong')];
      for (const fault of faults) outcome.faults[fault] = (outcome.faults[fault] ?? 0) + 1;
      violations.checkAllLogged(faults.length > 0);
      print(summary(round, performance.now() - began));
      // A new environment isolates the next round from the violation.
      if (violations.list.length > before) {
        print(`  calls, answers and log lines: ${await writeLog(round)}`);
        done += 1;
        break;
      }
    }
    outcome.operations += environment.callers.operations;
  }
  return outcome;
}

/** Fails if a round does not end within its time limit. */
async function withTimeout(round: Promise<void>) {
  const timeout = new AbortController();
  const late = setTimeout(LIMIT_MILLIS, undefined, { signal: timeout.signal }).then(() => {
    throw new Error(`The round did not end within ${LIMIT_MILLIS / 1000} s`);
  });
  try {
    await Promise.race([round, late]);
  } finally {
    timeout.abort();
    late.catch(() => {});
  }
}

async function runRound(round: Round) {
  const { world } = round.environment;
  round.before = { running: world.running(), objects: await world.objects() };
  await prepare(round);
  const callers = Array.from({ length: CALLERS }, (_, index) => ({
    name: `${round.prefix}caller-${index}`,
    random: round.random.fork(),
  }));
  await round.faults.begin();
  await Promise.all(callers.map((caller) => work(round, caller)));
  await round.faults.end();
  await round.environment.waitForBackups();
  const isAlarmFirst = round.random.chance(0.5);
  if (isAlarmFirst) await recover(round);
  await repeatCalls(round);
  await recover(round);
  await check(round);
  await clear(round);
}

/** Prepares two sandboxes with files, a snapshot of the first, and a named workspace with each storage. */
async function prepare(round: Round) {
  const { random } = round;
  for (const name of ['a', 'b']) {
    const origin = new Origin(`${round.prefix}${name}`);
    round.origins.push(origin);
    await round.resolveObjectId(origin.id);
    await round.write(origin, random);
  }
  const first = snapshots.snapshotCall(round, random, round.origins[0]!);
  round.calls.add(first);
  await round.repeatUntilKnown(first);
  for (const storage of workspaces.STORAGES) {
    const named = new Named(`${round.prefix}${storage}`, round.secret(), storage);
    round.named.push(named);
    await round.repeatUntilKnown(workspaces.create(named));
    await round.resolveObjectId(named.sandboxId);
    const { tree, command } = new Tree().changed(random);
    await world(round).exec(named.sandboxId, command);
    named.recordWrite(tree);
  }
}

const world = (round: Round) => round.environment.world;

async function work(round: Round, caller: snapshots.Caller) {
  for (let left = 3 + workspaces.STORAGES.length + caller.random.below(4); left > 0; left -= 1)
    await caller.random.weighted(OPERATIONS)(round, caller);
}

/** Deletes all objects of the round, and checks that the state is the same as before the round. */
async function clear(round: Round) {
  const { environment, named } = round;
  for (const { name } of named) await environment.world.rpc('workspaces/delete', { name });
  const ids = [...new Set([...round.origins, ...round.sandboxes].map(({ id }) => id))];
  await forEach(ids, async (id) => void (await environment.world.sandbox(id, 'destroy')));
  for (const known of round.snapshots) await environment.world.rpc('delete', { ref: known.ref, force: true });
  await recover(round);
  round.readLog();
  round.equal(environment.world.running(), round.before.running, 'the running sandboxes after the round');
  const keys = (await environment.world.objects()).filter((key) => !round.before.objects.includes(key));
  const withMetadata = keys.filter((key) => keys.includes(key.replace('data.sqsh', 'meta.json')));
  round.equal(withMetadata, [], 'the objects in R2 after the round');
}

/** Writes the log of a round to a file, and returns its path. */
async function writeLog(round: Round): Promise<string> {
  round.readLog();
  const file = join(tmpdir(), `chaos-round-${round.seed}.log`);
  await writeFile(file, round.lines.join('\n'));
  return file;
}

function summary(round: Round, millis: number): string {
  const answered = [...round.calls].filter(({ answer }) => answer !== undefined).length;
  const faults = [...round.faults.injected, ...round.faultyCalls];
  return (
    `round ${round.seed}: ${(millis / 1000).toFixed(1)} s, ${round.calls.size} calls, ${answered} answered, ` +
    `${faults.length} faults: ${faults.join(', ')}`
  );
}
