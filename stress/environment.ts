// The test environment: workerd with the snapshotter, sandboxes and callers, and a folder that survives crashes.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { EngineOptions } from '../local-engine/index.ts';
import { PUBLISHED_CLASS, until, World } from '../miniflare-tests/world.ts';
import { Callers } from './callers.ts';
import { LISTING } from './tree.ts';
import type { Violations } from './violations.ts';

/** Returns the path of a main module of these tests. */
export const worker = (name: string) => fileURLToPath(new URL(`./workers/${name}`, import.meta.url));

/** The caller and the sandboxes: of the published class, or over `ctx.container` in an application that selects their images. */
const SANDBOXES = PUBLISHED_CLASS
  ? { main: worker('sandboxes.mjs') }
  : {
      main: worker('containers.mjs'),
      config: fileURLToPath(new URL('../miniflare-tests/caller/with-images.toml', import.meta.url)),
    };

/** The options of an environment. */
export interface EnvironmentOptions {
  /** The main module of the snapshotter. It must have an adjustable clock. */
  snapshotter?: string;
  /** The main module of the Worker with the sandboxes and the callers. */
  sandboxes?: string;
  onCall?: EngineOptions['onCall'];
}

/** A world with callers. */
export class Environment implements AsyncDisposable {
  readonly world: World;
  readonly callers: Callers;
  /** The folder of the storage of Durable Objects and buckets. */
  readonly folder: string;
  readonly violations: Violations;

  private constructor(world: World, folder: string, violations: Violations) {
    this.world = world;
    this.folder = folder;
    this.violations = violations;
    this.callers = new Callers(world, violations);
  }

  static async start(violations: Violations, options: EnvironmentOptions = {}): Promise<Environment> {
    const folder = await mkdtemp(join(tmpdir(), 'stress-'));
    const world = await World.start({
      clock: true,
      persist: folder,
      caller: { ...SANDBOXES, ...(options.sandboxes ? { main: options.sandboxes } : {}) },
      snapshotter: { main: options.snapshotter ?? worker('faulty.mjs') },
      ...(options.onCall ? { onCall: options.onCall } : {}),
    });
    return new Environment(world, folder, violations);
  }

  async [Symbol.asyncDispose]() {
    this.readLog();
    await this.world[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Checks the log lines since the last call, and passes each to `onLine`. */
  readLog(onLine: (line: string) => void = () => {}) {
    for (const line of this.world.log.splice(0)) {
      this.violations.checkLine(line);
      onLine(line);
    }
  }

  /** Lists the files of a sandbox, in the format of {@link Tree.listing}. */
  files(sandboxId: string): Promise<string> {
    return this.world.exec(sandboxId, LISTING);
  }

  /** Waits until no sandbox creates or restores a backup. */
  async waitForBackups(): Promise<void> {
    await until(async () => (await this.world.activeBackups()) === 0);
  }
}
