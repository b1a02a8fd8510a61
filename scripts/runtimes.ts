// The runtimes of sandboxes, each with its example agent.

import { fileURLToPath } from 'node:url';

import {
  localImageOf,
  modeOfRun,
  SNAPSHOTTER,
  type ContainerConfig,
  type LocalWorker,
  type Mode,
} from './local.ts';
import { RUNTIMES } from './options.mjs';

export { RUNTIMES };

/** One of {@link RUNTIMES}. */
export type Runtime = (typeof RUNTIMES)[number];

/** The Workers of a runtime. */
export interface Example {
  /** The agent, which also exports the class of the sandboxes in the runtime `container`. */
  agent: LocalWorker & { name: string };
  snapshotter: LocalWorker;
  mode: Mode;
}

/** Returns the runtime that the option `--runtime` of a command names. Default: that of `SANDBOX_MODE`, or else `container`. */
export function runtimeOf(option: string | undefined): Runtime {
  const fallback = process.env.SANDBOX_MODE === undefined ? 'container' : runtimeOfSnapshotter();
  return RUNTIMES.find((name) => name === option) ?? fallback;
}

/** Returns the runtime of the class that the snapshotter's wrangler.toml exports. */
function runtimeOfSnapshotter(): Runtime {
  return modeOfRun() === 'container' ? 'container' : 'sdk-0.12';
}

/** Returns the runtime of a class with a container: `sdk-0.12` if its image has the server of SDK 0.12. */
export function runtimeOfContainer({ image, images }: ContainerConfig): Runtime {
  if (modeOfRun() === 'container') return 'container';
  const hasServer = [image, ...Object.values(images)].some((each) => localImageOf(each) === 'local');
  return hasServer ? 'sdk-0.12' : 'container';
}

/** Returns the example agent of a runtime, and the snapshotter for it. */
export function exampleOf(runtime: Runtime): Example {
  const at = (name: string) => fileURLToPath(new URL(`../examples/${name}/wrangler.toml`, import.meta.url));
  if (runtime === 'sdk-0.12')
    return {
      agent: { name: 'agent', config: at('agent') },
      snapshotter: { config: SNAPSHOTTER, vars: named(runtime) },
      mode: modeOfRun(),
    };
  const name = 'container-agent';
  return {
    agent: { name, config: at(name) },
    snapshotter: { config: SNAPSHOTTER, sandboxesOf: name, vars: named(runtime) },
    mode: 'container',
  };
}

/** Returns the var that names the runtime of the binding `Sandbox`, so that lists show it. */
export function named(runtime: Runtime): Record<string, string> {
  return { SANDBOXES: JSON.stringify([{ binding: 'Sandbox', runtime }]) };
}
