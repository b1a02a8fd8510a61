// Runs Workers in workerd, as their wrangler.toml describes them, with local sandboxes instead of containers.

import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';
import { Miniflare, type MiniflareOptions } from 'miniflare';

import {
  checkHost,
  keptBundle,
  startEngine,
  startS3,
  type Engine,
  type EngineOptions,
  type S3,
} from '../local-engine/index.ts';
import { CREDENTIALS, network, signing, THROUGH_NETWORK } from '../local-engine/production.ts';
import { bindingsOf, developmentVars, varBindings, type Env } from './bindings.ts';
import { at } from './setup.mjs';
import { readConfig, type Config } from './wrangler-config.ts';

/** The path of the snapshotter's wrangler.toml. */
export const SNAPSHOTTER = fileURLToPath(new URL('../wrangler.toml', import.meta.url));

/** The path of the wrangler.toml in which the snapshotter exports the class of the runtime `container`. */
export const SNAPSHOTTER_WITH_CONTAINERS = fileURLToPath(
  new URL('../wrangler.container.toml', import.meta.url),
);

/** The snapshotter's module, which `npm run build` builds. */
const BUILT = fileURLToPath(new URL('../build/index.js', import.meta.url));

/** The module that replaces `@cloudflare/sandbox` in the mode `container`. */
const CONTAINERS = fileURLToPath(new URL('../miniflare-tests/caller/containers.ts', import.meta.url));

/**
 * The class of the sandboxes, and how archives travel. With the published class, `local` transfers them through the R2
 * binding and extracts them; `production` transfers them over signed URLs and mounts them as overlays. `container` runs the
 * class of the client over `ctx.container`.
 */
export type Mode = 'local' | 'production' | 'container';

/** Returns the mode in the environment variable `SANDBOX_MODE`. */
export function modeOfRun(): Mode {
  const { SANDBOX_MODE: mode = 'local' } = process.env;
  if (mode === 'local' || mode === 'production' || mode === 'container') return mode;
  throw new Error(`SANDBOX_MODE must be local, production or container, got ${JSON.stringify(mode)}.`);
}

/** A Worker to run, with overrides of its wrangler.toml. */
export interface LocalWorker {
  /** The path of its wrangler.toml. */
  config: string;
  /** The path of the main module. Default: that of the file. */
  main?: string;
  /** Vars and secrets. They override those of the file. */
  vars?: Record<string, string>;
  /** Bindings in addition to those of the file, or instead of them. */
  bindings?: Env;
  /** Whether the Worker has the vars and secrets of `.dev.vars` in its folder. Default: false. */
  developmentVars?: boolean;
  /** The names of bindings to remove. */
  without?: string[];
  /** The compatibility date. Default: that of the file. */
  compatibilityDate?: string;
  /** An additional port on 127.0.0.1 for this Worker only. */
  port?: number;
  /** The Worker that exports the class of the sandboxes. Default: as in the file. */
  sandboxesOf?: string;
  /** The name of that class in `sandboxesOf`. Default: `Sandbox`. */
  sandboxClass?: string;
  /** The image that its containers have here. Default: {@link localImageOf} of each. */
  localImage?: LocalImage;
}

/** The options of {@link startLocal}. */
export interface LocalOptions {
  /** The Workers. The first one receives the requests to Miniflare. */
  workers: LocalWorker[];
  /** The port on 127.0.0.1. Default: any free port. */
  port?: number;
  /** The folder that stores Durable Objects and buckets. Without it, they are lost when the process ends. */
  persist?: string;
  /** The registry in which `wrangler dev` of other projects finds these Workers. Without it, the run is isolated. */
  registry?: string;
  /** Receives each line that the Workers log. Default: the lines are discarded. */
  onLog?: (line: string) => void;
  /** Options of the local engine. */
  engine?: EngineOptions;
  /** Default: {@link modeOfRun}. Except in production mode, Workers have the var `LOCAL_BUCKET`, unless `vars` override it. */
  mode?: Mode;
}

/** Running Workers. */
export interface Local extends AsyncDisposable {
  /** The Miniflare instance that runs workerd. */
  readonly miniflare: Miniflare;
  /** The local engine that runs the sandboxes. */
  readonly engine: Engine;
  /**
   * Kills workerd, as in a crash, and resolves when it runs again. Work in progress is lost, stored data remains, and the
   * sandboxes continue to run.
   */
  crash(): Promise<void>;
  /** Ends workerd and the sandboxes. */
  close(): Promise<void>;
}

/** The environment variable that identifies this workerd among the processes of the machine. */
const ID_VARIABLE = 'LOCAL_WORKERD';

type Worker = MiniflareOptions['workers'][number];

/** Starts the Workers, and the local engine for their sandboxes. */
export async function startLocal(options: LocalOptions): Promise<Local> {
  const mode = options.mode ?? modeOfRun();
  const missing = checkHost(mode === 'production' ? mode : 'local');
  if (missing.length > 0) throw new Error(missing.join('\n'));
  const snapshotters = [SNAPSHOTTER, SNAPSHOTTER_WITH_CONTAINERS];
  if (!existsSync(BUILT) && options.workers.some(({ config }) => snapshotters.includes(config)))
    throw new Error('The Worker is not built. Run `npm run build`.');
  let miniflare: Miniflare | undefined;
  const s3 = mode === 'production' ? await startS3(CREDENTIALS, () => miniflare?.ready) : undefined;
  const workers = await Promise.all(options.workers.map((worker) => toMiniflareWorker(worker, mode, s3)));
  if (s3 !== undefined) workers.push(network(s3));
  const engine = await startEngine({ ...options.engine, ...(s3 && { certificate: s3.certificate }) });
  const workerdId = randomUUID();
  let restarted = Promise.withResolvers<void>();
  miniflare = new Miniflare({
    cf: false,
    enableDevRegistry: options.registry !== undefined,
    ...(options.registry === undefined ? {} : { unsafeDevRegistryPath: options.registry }),
    host: '127.0.0.1',
    port: options.port ?? 0,
    containerEngine: engine.address,
    handleStructuredLogs: ({ message }: { message: string }) => options.onLog?.(message),
    ...(options.persist === undefined ? {} : { resourcePersistencePath: options.persist }),
    unsafeRuntimeEnv: { [ID_VARIABLE]: workerdId },
    unsafeHandleRuntimeRestart: () => restarted.resolve(), // Miniflare restarts workerd after a crash.
    workers,
  });
  const crash = async () => {
    restarted = Promise.withResolvers();
    process.kill(await pidOf(`${ID_VARIABLE}=${workerdId}`), 'SIGKILL');
    await restarted.promise;
  };
  const close = async () => {
    await miniflare?.dispose();
    await engine.close();
    s3?.close();
  };
  try {
    await miniflare.ready;
  } catch (error) {
    await close();
    throw error;
  }
  return { miniflare, engine, crash, close, [Symbol.asyncDispose]: close };
}

/** Returns the process with an entry in its environment. */
async function pidOf(entry: string): Promise<number> {
  for (const pid of await readdir('/proc')) {
    // The environment of other users' processes, and of processes that just ended, is not readable.
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
    if (environment.split('\0').includes(entry)) return Number(pid);
  }
  throw new Error(`No process has ${entry} in its environment.`);
}

/** Converts a Worker to Miniflare's options. */
async function toMiniflareWorker(worker: LocalWorker, mode: Mode, s3: S3 | undefined): Promise<Worker> {
  const config = await readConfig(worker.config);
  const name = config.name ?? 'worker';
  const classes: string[] = config.migrations.flatMap(
    (migration: { new_sqlite_classes?: string[] }) => migration.new_sqlite_classes ?? [],
  );
  const exportsSandbox = classes.includes('Sandbox') && (worker.sandboxesOf ?? name) === name;
  const env = bindingsOf(config, { dev: { experimentalS3Credentials: CREDENTIALS } });
  for (const binding of config.durable_objects.bindings) {
    const isSandbox = binding.class_name === 'Sandbox';
    const owner = isSandbox ? (worker.sandboxesOf ?? binding.script_name) : binding.script_name;
    const exportName = isSandbox ? (worker.sandboxClass ?? 'Sandbox') : binding.class_name;
    env[binding.name] = { type: 'durable-object', worker: owner ?? name, exportName };
  }
  const bucket = env.BACKUP_BUCKET?.type === 'r2' ? (env.BACKUP_BUCKET.name ?? '') : '';
  const { LOCAL_BUCKET: _, ...vars } = worker.developmentVars ? await developmentVars(config) : config.vars;
  const modeVars = s3 === undefined ? { LOCAL_BUCKET: 'true' } : exportsSandbox ? signing(s3, bucket) : {};
  Object.assign(env, varBindings({ ...vars, ...modeVars, ...worker.vars }), worker.bindings);
  for (const binding of worker.without ?? []) delete env[binding];

  const exports = Object.fromEntries(
    classes.map((className) => [
      className,
      {
        type: 'durable-object' as const,
        storage: 'sqlite' as const,
        ...containerOf(config, className, imageOf(mode, worker.localImage)),
      },
    ]),
  );
  return {
    config: {
      name,
      compatibilityDate: worker.compatibilityDate ?? config.compatibility_date ?? '',
      compatibilityFlags: config.compatibility_flags,
      manifest: await bundle(worker.main ?? config.main ?? '', config.minify ?? false, mode),
      env,
      exports,
    },
    dev: {
      ...(worker.port === undefined
        ? {}
        : { unsafeDirectSockets: [{ host: '127.0.0.1', port: worker.port }] }),
      ...(s3 !== undefined && exportsSandbox ? THROUGH_NETWORK : {}),
    },
  };
}

/** An image of the local engine: with the server of SDK 0.12, or without. The tag of the former is a version of the SDK. */
export type LocalImage = 'local' | 'debian' | `local:${string}` | `debian:${string}`;

/** Returns the image of the containers in a mode. Those of the mode `container` have no server. */
function imageOf(mode: Mode, image: LocalImage | undefined): LocalImage | undefined {
  return mode !== 'container' || image?.startsWith('debian') ? image : 'debian';
}

/** Returns the container of a class. */
function containerOf(config: Config, className: string, localImage: LocalImage | undefined) {
  const container = containersOf(config).find(({ class_name }) => class_name === className);
  if (container === undefined) return {};
  const named = Object.entries(container.images);
  const images = named.map(([name, image]) => {
    const own = localImage ?? localImageOf(image);
    // Several images differ, as on the platform.
    return { name, image: own === 'debian' && named.length > 1 ? `debian:${name}` : own };
  });
  const imageName = localImage ?? localImageOf(container.image);
  return { container: images.length > 0 ? { images } : { imageName } };
}

/** Returns the image of the local engine for an image, or for the path of its Dockerfile. */
export function localImageOf(image: string): LocalImage {
  const text = existsSync(image) ? readFileSync(image, 'utf8') : image;
  return /cloudflare\/sandbox\b/.test(text) ? 'local' : 'debian';
}

/** A container in a wrangler.toml. */
export interface ContainerConfig {
  class_name: string;
  /** Its image, or the path of the Dockerfile. */
  image: string;
  /** Its images by name, if its object selects one of them. */
  images: Record<string, string>;
}

/** Returns the containers in a wrangler.toml. */
export function containersOf(config: Config): ContainerConfig[] {
  return (config.containers ?? []).map(({ class_name = '', image = '', images = {} }) => ({
    class_name,
    image,
    images: Object.fromEntries(
      Object.entries(images).map(([name, it]) => [name, 'dockerfile' in it ? it.dockerfile : it.image]),
    ),
  }));
}

/** A bundle: the code of its main module, and the paths of the WebAssembly that it imports, by name. */
interface Bundle {
  main: string;
  wasm: [name: string, path: string][];
}

/** The bundles that this process has built, by their arguments. */
const bundles = new Map<string, ReturnType<typeof modules>>();

/** Returns the modules of an entry point. They are made once for each: a test file starts the same Workers many times. */
function bundle(...entry: Parameters<typeof buildBundle>): ReturnType<typeof modules> {
  const key = JSON.stringify(entry);
  const built = bundles.get(key) ?? modules(key, ...entry);
  bundles.set(key, built);
  return built;
}

async function modules(key: string, ...entry: Parameters<typeof buildBundle>) {
  const build = () => buildBundle(...entry);
  // Tests change the sources of applications outside this project.
  const { main, wasm } = await (entry[0].startsWith(at('/')) ? keptBundle(key, build) : build());
  const read = async ([name, path]: [string, string]) =>
    [name, { type: 'wasm' as const, contents: new Uint8Array(await readFile(path)) }] as const;
  return {
    mainModule: 'worker.mjs',
    modules: {
      'worker.mjs': { type: 'esm' as const, contents: main },
      ...Object.fromEntries(await Promise.all(wasm.map(read))),
    },
  };
}

/** Bundles an entry point into one module, and collects the WebAssembly that it imports. */
async function buildBundle(entry: string, minify: boolean, mode: Mode): Promise<Bundle> {
  const wasm = new Map<string, string>();
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify,
    keepNames: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    plugins: [
      {
        name: 'sandboxes',
        setup({ onResolve }) {
          if (mode !== 'container') return;
          onResolve({ filter: /^@cloudflare\/sandbox$/ }, ({ importer }) =>
            importer === CONTAINERS ? undefined : { path: CONTAINERS },
          );
        },
      },
      {
        name: 'wasm',
        setup({ onResolve }) {
          onResolve({ filter: /\.wasm$/ }, ({ path, resolveDir }) => {
            const name = path.slice(path.lastIndexOf('/') + 1);
            wasm.set(name, join(resolveDir, path));
            return { path: `./${name}`, external: true };
          });
        },
      },
    ],
  });
  return { main: outputFiles[0]?.text ?? '', wasm: [...wasm] };
}
