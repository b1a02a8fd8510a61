// The parts that all measures share.

import { modeOfRun } from '../scripts/local.ts';
import type { Outcome, Row, Samples } from './results.ts';
import type { Kind, World } from './world.ts';
import type { SideName } from './workers/steps.ts';

/** The extent of a run. */
export interface Extent {
  /** The number of runs of each side. */
  runs: number;
  /** Whether sizes are small, as a smoke test. */
  quick: boolean;
  /** The maximum number of files of a tree. Default: no limit. */
  maxFiles?: number;
}

/** The input of a measure. */
export interface Task extends Extent {
  /** Returns the world to measure in. The measure must not close it, and it may contain data of other measures. */
  world: (kind: Kind) => Promise<World>;
  /** Reports rows before the measure is complete, for measures that take long. They are not part of its outcome. */
  report: (rows: Row[]) => Promise<void>;
}

/** Runs one measure. */
export type Measure = (task: Task) => Promise<Outcome>;

/** Runs the sides alternately. Each round starts with another side. The first round is a warm-up and is not recorded. */
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
        const bySide = (samples[what] ??= Object.fromEntries(
          sides.map((name) => [name, [] as number[]]),
        ) as Record<S, number[]>);
        bySide[side].push(figure);
      }
    }
  }
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  return samples;
}

/** Returns the samples of the snapshotter and of its baseline. */
export function against<S extends string>(samples: Record<S, number[]>, ours: S, baseline: S): Samples {
  return { ours: samples[ours], baseline: samples[baseline] };
}

/** Files of random bytes. */
export interface Files {
  name: string;
  count: number;
  /** The mean size in bytes. */
  bytes: number;
  /** The number of files in a directory. The default is 100. */
  each?: 100 | 10_000;
}

/** The mean length of a line of random bytes, in bytes. */
const LINE = 256;

/** Writes files into a sandbox, and returns their digest. */
export async function fill(world: World, id: string, { count, bytes, each = 100 }: Files): Promise<string> {
  // `split` distributes random lines over the files of a directory, because a process for each file would take minutes. The
  // lengths differ, because mksquashfs compares every file with all others of the same length.
  const [directories, lines] = [Math.ceil(count / each), Math.max(1, Math.round(bytes / LINE))];
  await world.exec(
    id,
    `cd /workspace && for d in $(seq ${directories}); do
       mkdir d$d && head -n ${Math.min(count, each) * lines} /dev/urandom | split -a 6 -d -l ${lines} - d$d/f || exit 1
     done`,
  );
  return world.digest(id);
}

/** The implementations that take snapshots. */
export const SIDES = ['ours', 'direct', 'typescript'] as const satisfies SideName[];

/** The names of the baselines in the results. */
export const NAMES = {
  /** Direct calls of the class of the sandboxes. */
  get direct() {
    return modeOfRun() === 'container' ? 'direct calls of the class' : 'direct SDK calls';
  },
  raw: 'plain calls of ctx.container',
  typescript: 'TypeScript snapshotter',
};
