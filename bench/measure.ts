// What all measures have in common.

import type { Outcome, Row, Samples } from './results.ts';
import type { Kind, World } from './world.ts';
import type { SideName } from './workers/steps.ts';

/** How much is measured. */
export interface Extent {
  /** How often each side is run. */
  runs: number;
  /** Whether sizes are small: to see that everything works, and not how fast. */
  quick: boolean;
}

/** What a measure is given. */
export interface Task extends Extent {
  /** Where it is done. Whoever asks does not end it, and may find what other measures left in it. */
  world: (kind: Kind) => Promise<World>;
  /** Tells of rows before the measure is done: for measures that take long. These are not part of its outcome. */
  tell: (rows: Row[]) => Promise<void>;
}

/** Measures something. */
export type Measure = (task: Task) => Promise<Outcome>;

/** Runs sides in turns, each as often as the first one in a round, after a round that does not count. */
export async function alternate<S extends string>(
  sides: readonly S[],
  runs: number,
  run: (side: S, round: number) => Promise<Record<string, number>>,
): Promise<Record<string, Record<S, number[]>>> {
  const samples: Record<string, Record<S, number[]>> = {};
  for (let round = 0; round <= runs; round++) {
    if (process.stderr.isTTY) process.stderr.write(`\rround ${round} of ${runs} `);
    const first = round % sides.length;
    for (const side of [...sides.slice(first), ...sides.slice(0, first)]) {
      const figures = await run(side, round);
      if (round === 0) continue;
      for (const [what, figure] of Object.entries(figures)) {
        const known = (samples[what] ??= Object.fromEntries(
          sides.map((one) => [one, [] as number[]]),
        ) as Record<S, number[]>);
        known[side].push(figure);
      }
    }
  }
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  return samples;
}

/** The samples of the snapshotter, and those of another side. */
export function against<S extends string>(samples: Record<S, number[]>, ours: S, baseline: S): Samples {
  return { ours: samples[ours], baseline: samples[baseline] };
}

/** Files of random bytes. */
export interface Files {
  name: string;
  count: number;
  /** How long each is on average. */
  bytes: number;
  /** How many are in a directory: 100, where nothing is said, or 10 000. */
  each?: 100 | 10_000;
}

/** The mean length of a line of random bytes. */
const LINE = 256;

/** Has a sandbox hold files, and answers their digest. */
export async function fill(world: World, id: string, { count, bytes, each = 100 }: Files): Promise<string> {
  // Random lines are dealt out in each directory, since a process for each file would take minutes. They differ in length:
  // mksquashfs compares every file with all others of its length.
  const [directories, lines] = [Math.ceil(count / each), Math.max(1, Math.round(bytes / LINE))];
  await world.exec(
    id,
    `cd /workspace && for d in $(seq ${directories}); do
       mkdir d$d && head -n ${Math.min(count, each) * lines} /dev/urandom | split -a 6 -d -l ${lines} - d$d/f || exit 1
     done`,
  );
  return world.digest(id);
}

/** Who takes snapshots. */
export const SIDES = ['ours', 'direct', 'typescript'] as const satisfies SideName[];

/** What the others are called in the results. */
export const NAMES = {
  direct: 'the SDK called directly',
  typescript: 'a snapshotter in TypeScript',
} as const;
