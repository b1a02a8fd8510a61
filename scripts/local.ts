// Runs Workers as their wrangler.toml describes them, in workerd, with local sandboxes in the place of containers.

import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';
import { Miniflare, type MiniflareOptions } from 'miniflare';
import { unstable_readConfig as readConfig } from 'wrangler';

import {
  checkHost,
  startEngine,
  startS3,
  type Engine,
  type EngineOptions,
  type S3,
} from '../local-engine/index.ts';
import { CREDENTIALS, network, signing, THROUGH_NETWORK } from '../local-engine/production.ts';

/** The snapshotter's own wrangler.toml. */
export const SNAPSHOTTER = fileURLToPath(new URL('../wrangler.toml', import.meta.url));

/** The example agent's. */
export const AGENT = fileURLToPath(new URL('../examples/agent/wrangler.toml', import.meta.url));

/**
 * How archives travel: `local`, through the R2 binding and unpacked, or `production`, by signed URLs and mounted as
 * overlays.
 */
export type Mode = 'local' | 'production';

/** The mode of this run, from the environment variable `SANDBOX_MODE`. */
export function modeOfRun(): Mode {
  const { SANDBOX_MODE: mode = 'local' } = process.env;
  if (mode === 'local' || mode === 'production') return mode;
  throw new Error(`SANDBOX_MODE must be local or production, got ${JSON.stringify(mode)}.`);
}

/** A Worker to run, and how it differs from its wrangler.toml. */
export interface LocalWorker {
  /** The path of its wrangler.toml. */
  config: string;
  /** The path of its main module, in place of the file's. */
  main?: string;
  /** Vars and secrets, over those of the file. */
  vars?: Record<string, string>;
  /** Bindings beside those of the file. */
  bindings?: Env;
  /** Names of bindings to leave out. */
  without?: string[];
  /** In place of the file's. */
  compatibilityDate?: string;
  /** A port of its own on 127.0.0.1. */
  port?: number;
  /** The Worker that the class `Sandbox` is taken from, where it is not this one. */
  sandboxesOf?: string;
}

/** How Workers are run. */
export interface LocalOptions {
  /** The first one receives the requests. */
  workers: LocalWorker[];
  /** The port on 127.0.0.1; any free one where absent. */
  port?: number;
  /** A folder that Durable Objects and buckets are kept in; where absent they end with the process. */
  persist?: string;
  /** Receives what the Workers log, a line at a time; where absent it is dropped. */
  onLog?: (line: string) => void;
  /** Options of the engine. */
  engine?: EngineOptions;
  /** Default: {@link modeOfRun}. In local mode every Worker has the var `LOCAL_BUCKET`, unless its `vars` say otherwise. */
  mode?: Mode;
}

/** Workers that run. */
export interface Local extends AsyncDisposable {
  /** workerd. */
  readonly miniflare: Miniflare;
  /** What the sandboxes run on. */
  readonly engine: Engine;
  /**
   * Kills workerd, as a crash would, and resolves when it runs again. What it was doing is lost, what is stored is there,
   * and the sandboxes run on.
   */
  crash(): Promise<void>;
  /** Ends everything. */
  close(): Promise<void>;
}

/** The variable in workerd's environment by which its process is told from those of others. */
const MARK = 'LOCAL_WORKERD';

type Worker = MiniflareOptions['workers'][number];
type Env = NonNullable<NonNullable<Worker['config']>['env']>;
type Json = Extract<Env[string], { type: 'json' }>['value'];

/** Starts Workers and the engine of their sandboxes. */
export async function startLocal(options: LocalOptions): Promise<Local> {
  const mode = options.mode ?? modeOfRun();
  const missing = checkHost(mode);
  if (missing.length > 0) throw new Error(missing.join('\n'));
  let miniflare: Miniflare | undefined;
  const s3 = mode === 'production' ? await startS3(CREDENTIALS, () => miniflare?.ready) : undefined;
  const workers = await Promise.all(options.workers.map((worker) => describe(worker, s3)));
  if (s3 !== undefined) workers.push(network(s3));
  const engine = await startEngine({ ...options.engine, ...(s3 && { certificate: s3.certificate }) });
  const mark = randomUUID();
  let restarted = Promise.withResolvers<void>();
  miniflare = new Miniflare({
    cf: false,
    enableDevRegistry: false, // Workers of other runs stay out of this one.
    host: '127.0.0.1',
    port: options.port ?? 0,
    containerEngine: engine.address,
    handleStructuredLogs: ({ message }: { message: string }) => options.onLog?.(message),
    ...(options.persist === undefined ? {} : { resourcePersistencePath: options.persist }),
    unsafeRuntimeEnv: { [MARK]: mark },
    unsafeHandleRuntimeRestart: () => restarted.resolve(), // Miniflare starts a workerd again that ended unasked.
    workers,
  });
  const crash = async () => {
    restarted = Promise.withResolvers();
    process.kill(await pidOf(`${MARK}=${mark}`), 'SIGKILL');
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

/** The process with an entry in its environment. */
async function pidOf(entry: string): Promise<number> {
  for (const pid of await readdir('/proc')) {
    // Other people's processes, and those that have just ended, can't be read.
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
    if (environment.split('\0').includes(entry)) return Number(pid);
  }
  throw new Error(`No process has ${entry} in its environment.`);
}

/** A Worker in Miniflare's terms. */
async function describe(worker: LocalWorker, s3: S3 | undefined): Promise<Worker> {
  const config = readConfig({ config: worker.config }, { hideWarnings: true });
  const name = config.name ?? 'worker';
  const classes = config.migrations.flatMap(
    (migration: { new_sqlite_classes?: string[] }) => migration.new_sqlite_classes ?? [],
  );
  const exportsSandbox = classes.includes('Sandbox') && (worker.sandboxesOf ?? name) === name;
  const env: Env = { ...worker.bindings };
  for (const binding of config.durable_objects.bindings) {
    const owner =
      binding.class_name === 'Sandbox' ? (worker.sandboxesOf ?? binding.script_name) : binding.script_name;
    env[binding.name] = { type: 'durable-object', worker: owner ?? name, exportName: binding.class_name };
  }
  for (const { binding, bucket_name } of config.r2_buckets)
    env[binding] = {
      type: 'r2',
      name: bucket_name ?? binding,
      dev: { experimentalS3Credentials: CREDENTIALS },
    };
  for (const { binding, dataset } of config.analytics_engine_datasets)
    env[binding] = { type: 'analytics-engine-dataset', name: dataset ?? binding };
  for (const { binding, service } of config.services ?? [])
    env[binding] = { type: 'worker', worker: service };
  const bucket =
    config.r2_buckets.find(({ binding }: { binding: string }) => binding === 'BACKUP_BUCKET')?.bucket_name ??
    '';
  const { LOCAL_BUCKET: _, ...vars } = config.vars as Record<string, unknown>;
  const ofMode = s3 === undefined ? { LOCAL_BUCKET: 'true' } : exportsSandbox ? signing(s3, bucket) : {};
  for (const [key, value] of Object.entries({ ...vars, ...ofMode, ...worker.vars })) {
    env[key] = typeof value === 'string' ? { type: 'text', value } : { type: 'json', value: value as Json };
  }
  for (const binding of worker.without ?? []) delete env[binding];

  const exports = Object.fromEntries(
    classes.map((className: string) => [
      className,
      {
        type: 'durable-object' as const,
        storage: 'sqlite' as const,
        ...(className === 'Sandbox' ? { container: { imageName: 'local' } } : {}),
      },
    ]),
  );
  return {
    config: {
      name,
      compatibilityDate: worker.compatibilityDate ?? config.compatibility_date ?? '',
      compatibilityFlags: config.compatibility_flags,
      manifest: await bundle(worker.main ?? config.main ?? '', config.minify ?? false),
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

/** One module, and the WebAssembly that it imports. */
async function bundle(entry: string, minify: boolean) {
  const wasm = new Map<string, Uint8Array<ArrayBuffer>>();
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
        name: 'wasm',
        setup({ onResolve }) {
          onResolve({ filter: /\.wasm$/ }, async ({ path, resolveDir }) => {
            const contents = await readFile(join(resolveDir, path));
            const name = path.slice(path.lastIndexOf('/') + 1);
            wasm.set(name, new Uint8Array(contents));
            return { path: `./${name}`, external: true };
          });
        },
      },
    ],
  });
  const main = outputFiles[0]?.text ?? '';
  const modules = [...wasm].map(([name, contents]) => [name, { type: 'wasm' as const, contents }] as const);
  return {
    mainModule: 'worker.mjs',
    modules: { 'worker.mjs': { type: 'esm' as const, contents: main }, ...Object.fromEntries(modules) },
  };
}
