// The chaos: rounds in which things break, each from a seed of its own.

import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { Judge } from '../judge.ts';
import { Stage, type StageOptions } from '../stage.ts';
import { Named, Origin } from './model.ts';
import * as workspaces from './named.ts';
import { askAgain, recover } from './recovery.ts';
import { Round } from './round.ts';
import { check, each } from './rules.ts';
import * as snapshots from './snapshots.ts';
import { Tree } from '../tree.ts';

/** How many rounds one world lives through, unless something is wrong. */
const ROUNDS_OF_A_WORLD = 12;

/** How long a round may take, in milliseconds: many times what it takes on a slow machine. */
const LIMIT_MILLIS = 600_000;

const CALLERS = 3;

const WANTS: readonly (readonly [
  weight: number,
  want: (round: Round, caller: snapshots.Caller) => Promise<void>,
])[] = [
  [4, snapshots.snapshot],
  [4, snapshots.restore],
  [2, snapshots.write],
  [2, snapshots.moveIn],
  [1, snapshots.remove],
  [1, snapshots.mark],
  [1, snapshots.list],
  [5, workspaces.work],
];

/** How chaos goes. */
export interface ChaosOptions extends StageOptions {
  rounds: number;
  /** The seed of the first round; each has the next one. */
  seed: number;
  /** Receives lines for people. */
  say?: (line: string) => void;
}

/** What came of it. */
export interface ChaosOutcome {
  rounds: number;
  operations: number;
  /** What broke, by its name. */
  faults: Record<string, number>;
  violations: string[];
}

/** Runs rounds. */
export async function chaos({
  rounds,
  seed,
  say = () => {},
  ...options
}: ChaosOptions): Promise<ChaosOutcome> {
  const judge = new Judge((violation) => say(`VIOLATION ${violation}`));
  const outcome: ChaosOutcome = { rounds, operations: 0, faults: {}, violations: judge.violations };
  for (let done = 0; done < rounds;) {
    let round: Round | undefined;
    await using stage = await Stage.start(judge, {
      ...options,
      onCall: (call) => round?.faults.onCall(call),
    });
    const before = judge.violations.length;
    for (let times = 0; times < ROUNDS_OF_A_WORLD && done < rounds; times += 1, done += 1) {
      round = new Round(seed + done, stage, judge);
      const begun = performance.now();
      try {
        await inTime(play(round));
      } catch (error) {
        round.violation(`It could not be played to its end: ${(error as Error).stack}`);
      }
      const broken = [...round.faults.happened, ...round.meddled.map(() => 'a call goes wrong')];
      for (const fault of broken) outcome.faults[fault] = (outcome.faults[fault] ?? 0) + 1;
      judge.allAreLogged(broken.length > 0);
      say(told(round, performance.now() - begun));
      // What is wrong in one round must not be in the next.
      if (judge.violations.length > before) {
        say(`  what was asked, answered and logged: ${await keep(round)}`);
        done += 1;
        break;
      }
    }
    outcome.operations += stage.callers.operations;
  }
  return outcome;
}

/** Whoever waits for ever is found out. */
async function inTime(playing: Promise<void>) {
  const timeout = new AbortController();
  const late = setTimeout(LIMIT_MILLIS, undefined, { signal: timeout.signal }).then(() => {
    throw new Error(`It did not come to its end within ${LIMIT_MILLIS / 1000} s`);
  });
  try {
    await Promise.race([playing, late]);
  } finally {
    timeout.abort();
    late.catch(() => {});
  }
}

async function play(round: Round) {
  const { world } = round.stage;
  round.before = { running: world.running(), objects: await world.objects() };
  await prepare(round);
  const callers = Array.from({ length: CALLERS }, (_, index) => ({
    name: `${round.prefix}caller-${index}`,
    random: round.random.fork(),
  }));
  await round.faults.begin();
  await Promise.all(callers.map((caller) => work(round, caller)));
  await round.faults.end();
  await round.stage.quiet();
  const isAlarmFirst = round.random.chance(0.5);
  if (isAlarmFirst) await recover(round);
  await askAgain(round);
  await recover(round);
  await check(round);
  await clear(round);
}

/** Two sandboxes with files, of which one has a snapshot, and a workspace with a name. */
async function prepare(round: Round) {
  const { random } = round;
  for (const name of ['a', 'b']) {
    const origin = new Origin(`${round.prefix}${name}`);
    round.origins.push(origin);
    await round.learn(origin.id);
    await round.write(origin, random);
  }
  const first = snapshots.capture(round, random, round.origins[0]!);
  round.intentions.add(first);
  await round.insist(first);
  const named = new Named(`${round.prefix}named`, round.secret());
  round.named.push(named);
  await round.insist(workspaces.make(named));
  await round.learn(named.sandboxId);
  const { tree, command } = new Tree().changed(random);
  await world(round).exec(named.sandboxId, command);
  named.wrote(tree);
}

const world = (round: Round) => round.stage.world;

async function work(round: Round, caller: snapshots.Caller) {
  for (let left = 4 + caller.random.below(4); left > 0; left -= 1)
    await caller.random.weighted(WANTS)(round, caller);
}

/** Lets go of everything; then there is what there was before. */
async function clear(round: Round) {
  const { stage, named } = round;
  for (const { name } of named) await stage.world.rpc('workspaces/delete', { name });
  const ids = [...new Set([...round.origins, ...round.sandboxes].map(({ id }) => id))];
  await each(ids, async (id) => void (await stage.world.sandbox(id, 'destroy')));
  for (const known of round.snapshots) await stage.world.rpc('delete', { ref: known.ref, force: true });
  await recover(round);
  round.readLog();
  round.same(stage.world.running(), round.before.running, 'what runs when all of it is deleted');
  const there = (await stage.world.objects()).filter((key) => !round.before.objects.includes(key));
  const marked = there.filter((key) => there.includes(key.replace('data.sqsh', 'meta.json')));
  round.same(marked, [], 'what is in R2 when all of it is deleted');
}

/** Writes down what there is to read of a round; answers where. */
async function keep(round: Round): Promise<string> {
  round.readLog();
  const file = join(tmpdir(), `chaos-round-${round.seed}.log`);
  await writeFile(file, round.lines.join('\n'));
  return file;
}

function told(round: Round, millis: number): string {
  const answered = [...round.intentions].filter(({ answer }) => answer !== undefined).length;
  return (
    `round ${round.seed}: ${(millis / 1000).toFixed(1)} s, ${round.intentions.size} intentions, ${answered} answered, ` +
    `${round.faults.happened.length + round.meddled.length} faults: ${[...round.faults.happened, ...round.meddled].join(', ')}`
  );
}
