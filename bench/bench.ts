// The list of measures, and the run of a selection of them.

import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';

import { modeOfRun, type Mode } from '../scripts/local.ts';
import type { Extent, Measure, Task } from './measure.ts';
import { archives } from './measures/archives.ts';
import { billing } from './measures/billing.ts';
import { checkpoints } from './measures/checkpoints.ts';
import { deltas } from './measures/deltas.ts';
import { exec } from './measures/exec.ts';
import { fork } from './measures/fork.ts';
import { growth } from './measures/growth.ts';
import { list } from './measures/list.ts';
import { size } from './measures/size.ts';
import { start } from './measures/start.ts';
import { trees } from './measures/trees.ts';
import type { Outcome, Row } from './results.ts';
import { World, type Kind } from './world.ts';

/** All measures, by the names that `--only` accepts. */
export const MEASURES: Record<string, Measure> = {
  billing,
  snapshot: archives,
  list,
  exec,
  size,
  start,
  fork,
  growth,
  checkpoints,
  trees,
  deltas,
};

/** The content of results.json. */
export interface Results {
  machine: { cpu: string; cpus: number; memoryGB: number; system: string };
  /** The mode of the snapshotter: how archives were transferred. */
  mode?: Mode;
  versions: Record<string, string>;
  /** The start of the run. With `--only`, the rows of the other measures are older. */
  date: string;
  /** Whether sizes are small and runs are few, so that the figures are meaningless. */
  quick: boolean;
  rows: Row[];
  /** Figures of a measure that are not rows, by the name of the measure. */
  details: Record<string, unknown>;
}

/** Runs measures. Passes the rows of each measure to `report` when they are complete, with all results so far. */
export async function bench(
  names: string[],
  extent: Extent,
  report: (rows: Row[], results: Results) => Promise<void> | void,
): Promise<Results> {
  const results: Results = {
    machine: machine(),
    mode: modeOfRun(),
    versions: versions(),
    date: new Date().toISOString(),
    quick: extent.quick,
    rows: [],
    details: {},
  };
  await using shared = new Worlds();
  for (const name of names) {
    const addRows = async (rows: Row[]) => {
      results.rows.push(...rows);
      await report(rows, results);
    };
    const { rows, details } = await runMeasure(MEASURES[name]!, { ...extent, report: addRows }, shared);
    if (details !== undefined) results.details[name] = details;
    if (rows.length > 0) await addRows(rows);
  }
  return results;
}

/** Runs a measure in its own Workers. A quick run shares the Workers of all measures, because most of its time is their start. */
async function runMeasure(measure: Measure, extent: Omit<Task, 'world'>, shared: Worlds): Promise<Outcome> {
  if (extent.quick)
    return measure({ ...extent, world: (kind) => shared.of(kind === 'plain' ? 'filled' : kind) });
  await using worlds = new Worlds();
  return await measure({ ...extent, world: (kind) => worlds.of(kind) });
}

/** The started worlds, one of each kind. */
class Worlds implements AsyncDisposable {
  #started = new Map<Kind, World>();

  async of(kind: Kind): Promise<World> {
    const world = this.#started.get(kind) ?? (await World.start(kind));
    this.#started.set(kind, world);
    return world;
  }

  async [Symbol.asyncDispose]() {
    for (const world of this.#started.values()) await world[Symbol.asyncDispose]();
  }
}

function machine(): Results['machine'] {
  const cores = cpus();
  const system = `${process.platform} ${process.arch}`;
  return {
    cpu: cores[0]?.model.trim() ?? 'unknown',
    cpus: cores.length,
    memoryGB: Math.round(totalmem() / 1e9),
    system,
  };
}

function versions(): Record<string, string> {
  const version = (name: string): string => {
    const path = fileURLToPath(new URL(`../node_modules/${name}/package.json`, import.meta.url));
    return JSON.parse(readFileSync(path, 'utf8')).version;
  };
  const packages = ['@cloudflare/sandbox', 'miniflare', 'workerd', 'wrangler', 'esbuild'];
  const own = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
  return {
    'sandbox-snapshotter': own,
    node: process.versions.node,
    ...Object.fromEntries(packages.map((name) => [name, version(name)])),
  };
}
