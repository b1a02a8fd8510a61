// Where it plays: workerd with the snapshotter, sandboxes, and callers, kept in a folder that outlives a crash.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { EngineOptions } from '../local-engine/index.ts';
import { until, World } from '../miniflare-tests/world.ts';
import { Callers } from './callers.ts';
import type { Judge } from './judge.ts';
import { LISTING } from './tree.ts';

/** The path of a main module of these tests. */
export const worker = (name: string) => fileURLToPath(new URL(`./workers/${name}`, import.meta.url));

/** How a stage differs from the usual one. */
export interface StageOptions {
  /** The main module of the snapshotter, one with a clock. */
  snapshotter?: string;
  /** The main module of the Worker that has the sandboxes and the callers. */
  sandboxes?: string;
  onCall?: EngineOptions['onCall'];
}

/** A world, and who calls in it. */
export class Stage implements AsyncDisposable {
  readonly world: World;
  readonly callers: Callers;
  /** The folder that Durable Objects and buckets are kept in. */
  readonly folder: string;
  readonly judge: Judge;

  private constructor(world: World, folder: string, judge: Judge) {
    this.world = world;
    this.folder = folder;
    this.judge = judge;
    this.callers = new Callers(world, judge);
  }

  static async start(judge: Judge, options: StageOptions = {}): Promise<Stage> {
    const folder = await mkdtemp(join(tmpdir(), 'stress-'));
    const world = await World.start({
      clock: true,
      persist: folder,
      caller: { main: options.sandboxes ?? worker('sandboxes.mjs') },
      snapshotter: { main: options.snapshotter ?? worker('faulty.mjs') },
      ...(options.onCall ? { onCall: options.onCall } : {}),
    });
    return new Stage(world, folder, judge);
  }

  async [Symbol.asyncDispose]() {
    this.readLog();
    await this.world[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Has the lines judged that were logged since the last time, and forgets them. */
  readLog(look: (line: string) => void = () => {}) {
    for (const line of this.world.log.splice(0)) {
      this.judge.line(line);
      look(line);
    }
  }

  /** What the files of a sandbox are, in the terms of a tree. */
  files(sandboxId: string): Promise<string> {
    return this.world.exec(sandboxId, LISTING);
  }

  /** Waits until no sandbox makes or applies a backup. */
  async quiet(): Promise<void> {
    await until(async () => (await this.world.underway()) === 0);
  }
}
