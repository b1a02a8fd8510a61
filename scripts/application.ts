// An application's own Worker, in place of the example agent of `npm run dev`.

import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { leftOut, missingIn } from './bindings.ts';
import { containersOf, type ContainerConfig, type LocalWorker } from './local.ts';
import { runtimeOf, runtimeOfContainer, type Runtime } from './runtimes.ts';
import { readConfig, type Config } from './wrangler-config.ts';

/** An application's Worker. */
export interface Application {
  name: string;
  worker: LocalWorker;
  /** The runtime of its sandboxes. */
  runtime: Runtime;
  /** The class of the sandboxes, if this Worker exports it. */
  sandboxClass: string | undefined;
  /** The bucket of the snapshots, if the Worker has it. */
  bucket: string | undefined;
  /** What does not run here, and what the Worker lacks. */
  warnings: string[];
  /** What was assumed. */
  notes: string[];
}

/** Loads the Worker of a wrangler.toml, or of the folder that contains it. Fails if it does not run here. */
export async function loadApplication(path: string, runtime: string | undefined): Promise<Application> {
  const file = configIn(fromCaller(path));
  const config = await readConfig(file);
  const { name } = config;
  if (name === undefined) throw new Error(`${file} has no name.`);
  const [sandboxes, ...more] = containersOf(config);
  if (more.length > 0)
    throw new Error(`${file} has several [[containers]]. Only one class of sandboxes is supported here.`);
  const kinds = leftOut(config);
  const note = `These bindings of ${name} do not run here, and are left out: ${kinds.join(', ')}.`;
  const bucket = config.r2_buckets.find(({ binding }: { binding: string }) => binding === 'BACKUP_BUCKET');
  return {
    name,
    worker: {
      config: file,
      developmentVars: true,
      ...(runtime && { localImage: runtime === 'container' ? 'debian' : 'local' }),
    },
    ...(sandboxes ? runtimeOfOwn(sandboxes, runtime) : runtimeWithoutClass(config, runtime)),
    sandboxClass: sandboxes?.class_name,
    bucket: bucket?.bucket_name,
    warnings: [
      ...(kinds.length > 0 ? [note] : []),
      ...missingIn(config).map((what) => `${file} has no ${what}.`),
    ],
  };
}

/** Returns a path that may be relative to the folder in which the caller started npm. */
export function fromCaller(path: string): string {
  return resolve(process.env.INIT_CWD ?? '.', path);
}

/** Returns the configuration at a path, or in a folder, where wrangler prefers JSON. */
function configIn(path: string): string {
  if (!existsSync(path))
    throw new Error(`There is no ${path}. Pass the wrangler.toml of your Worker: --agent <path>`);
  if (!statSync(path).isDirectory()) return path;
  const files = ['wrangler.json', 'wrangler.jsonc', 'wrangler.toml'].map((name) => join(path, name));
  const file = files.find((each) => existsSync(each));
  if (file === undefined)
    throw new Error(`There is no wrangler.toml in ${path}. Pass that of your Worker: --agent <path>`);
  return file;
}

/** Returns the runtime of a class that the application exports: the one that the caller names, or that of its image. */
function runtimeOfOwn(
  sandboxes: ContainerConfig,
  option: string | undefined,
): Pick<Application, 'runtime' | 'notes'> {
  if (option !== undefined) return { runtime: runtimeOf(option), notes: [] };
  const runtime = runtimeOfContainer(sandboxes);
  const other = runtime === 'container' ? 'sdk-0.12' : 'container';
  const note = `The runtime of the class ${sandboxes.class_name} is ${runtime}, according to its image. To select the other one: --runtime ${other}`;
  return { runtime, notes: [note] };
}

/**
 * Returns the runtime of the class that the snapshotter exports: the one that the caller names, that of the class which the
 * application binds, or else `container`.
 */
function runtimeWithoutClass(
  { name, durable_objects: { bindings } }: Config,
  option: string | undefined,
): Pick<Application, 'runtime' | 'notes'> {
  if (option !== undefined) return { runtime: runtimeOf(option), notes: [] };
  const bindsSdkClass = bindings.some(
    ({ class_name, script_name }: { class_name: string; script_name?: string }) =>
      class_name === 'Sandbox' && script_name === 'sandbox-snapshotter',
  );
  const runtime = bindsSdkClass ? 'sdk-0.12' : runtimeOf(undefined);
  const other = runtime === 'container' ? 'sdk-0.12' : 'container';
  const note = `${name} has no [[containers]], so its sandboxes are of the snapshotter, in the runtime ${runtime}. To select the other one: --runtime ${other}`;
  return { runtime, notes: [note] };
}
