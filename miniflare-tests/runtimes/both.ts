// A deployment with the sandboxes of both runtimes.

import { fileURLToPath } from 'node:url';

import { World, type WorldOptions } from '../world.ts';

/** A runtime of sandboxes. */
export type Runtime = 'sdk-0.12' | 'container';

const CONFIG = fileURLToPath(new URL('./both.toml', import.meta.url));

/** Starts the deployment. The caller has both bindings. */
export function startBoth(options: Partial<WorldOptions> = {}): Promise<World> {
  return World.start({
    ...options,
    snapshotter: { config: CONFIG },
    caller: {
      bindings: {
        SnapshotSandbox: {
          type: 'durable-object',
          worker: 'sandbox-snapshotter',
          exportName: 'SnapshotSandbox',
        },
      },
    },
  });
}

/** Runs a command in the sandbox with this id in a runtime. The command must succeed. */
export async function exec(world: World, runtime: Runtime, id: string, command: string): Promise<string> {
  if (runtime === 'sdk-0.12') return world.exec(id, command);
  const { exitCode, stdout, stderr } = await world.container(id, 'exec', command);
  if (exitCode !== 0) throw new Error(stderr);
  return stdout;
}
