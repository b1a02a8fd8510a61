// The measures, and what they are run on.

import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';

import { modeOfRun, type Mode } from '../scripts/local.ts';
import type { Extent, Measure, Task } from './measure.ts';
import { archives } from './measures/archives.ts';
import { billing } from './measures/billing.ts';
import { checkpoints } from './measures/checkpoints.ts';
import { fork } from './measures/fork.ts';
import { growth } from './measures/growth.ts';
import { list } from './measures/list.ts';
import { size } from './measures/size.ts';
import { start } from './measures/start.ts';
import { trees } from './measures/trees.ts';
import type { Outcome, Row } from './results.ts';
import { World, type Kind } from './world.ts';

/** What can be measured, by the names that `--only` takes. */
export const MEASURES: Record<string, Measure> = {
  billing,
  snapshot: archives,
  list,
  size,
  start,
  fork,
  growth,
  checkpoints,
  trees,
};

/** What is written to results.json. */
export interface Results {
  machine: { cpu: string; cpus: number; memoryGB: number; system: string };
  /** How archives travelled. */
  mode?: Mode;
  versions: Record<string, string>;
  /** When the measures were begun. With `--only`, those that were not chosen are of an earlier time. */
  date: string;
  /** Small sizes and few runs: such figures mean nothing. */
  quick: boolean;
  rows: Row[];
  /** Figures of a measure in another form, by its name. */
  details: Record<string, unknown>;
}

/** Measures, and tells of each measure as soon as it is done: of its rows, and of all results until then. */
export async function bench(
  names: string[],
  extent: Extent,
  told: (rows: Row[], results: Results) => Promise<void> | void,
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
    const tell = async (rows: Row[]) => {
      results.rows.push(...rows);
      await told(rows, results);
    };
    const { rows, details } = await done(MEASURES[name]!, { ...extent, tell }, shared);
    if (details !== undefined) results.details[name] = details;
    if (rows.length > 0) await tell(rows);
  }
  return results;
}

/** Does a measure, in Workers of its own; quickly in those of the others, since to start them is most of the time then. */
async function done(measure: Measure, extent: Omit<Task, 'world'>, shared: Worlds): Promise<Outcome> {
  if (extent.quick)
    return measure({ ...extent, world: (kind) => shared.of(kind === 'plain' ? 'filled' : kind) });
  await using worlds = new Worlds();
  return await measure({ ...extent, world: (kind) => worlds.of(kind) });
}

/** Those that were started, one of each kind. */
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
  const known = cpus();
  const system = `${process.platform} ${process.arch}`;
  return {
    cpu: known[0]?.model.trim() ?? 'unknown',
    cpus: known.length,
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
