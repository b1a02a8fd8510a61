// Runs Workers as their wrangler.toml describes them, in workerd, with local sandboxes in the place of containers.

import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';
import { Miniflare, type MiniflareOptions } from 'miniflare';
import { unstable_readConfig as readConfig } from 'wrangler';

import { checkHost, startEngine, type Engine, type EngineOptions } from '../local-engine/index.ts';

/** The snapshotter's own wrangler.toml. */
export const SNAPSHOTTER = fileURLToPath(new URL('../wrangler.toml', import.meta.url));

/** The example agent's. */
export const AGENT = fileURLToPath(new URL('../examples/agent/wrangler.toml', import.meta.url));

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
  const missing = checkHost();
  if (missing.length > 0) throw new Error(missing.join('\n'));
  const workers = await Promise.all(options.workers.map(describe));
  const engine = await startEngine(options.engine);
  const mark = randomUUID();
  let restarted = Promise.withResolvers<void>();
  const miniflare = new Miniflare({
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
    await miniflare.dispose();
    await engine.close();
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
async function describe(worker: LocalWorker): Promise<Worker> {
  const config = readConfig({ config: worker.config }, { hideWarnings: true });
  const name = config.name ?? 'worker';
  const env: Env = { ...worker.bindings };
  for (const binding of config.durable_objects.bindings) {
    const owner =
      binding.class_name === 'Sandbox' ? (worker.sandboxesOf ?? binding.script_name) : binding.script_name;
    env[binding.name] = { type: 'durable-object', worker: owner ?? name, exportName: binding.class_name };
  }
  for (const { binding, bucket_name } of config.r2_buckets)
    env[binding] = { type: 'r2', name: bucket_name ?? binding };
  for (const { binding, dataset } of config.analytics_engine_datasets)
    env[binding] = { type: 'analytics-engine-dataset', name: dataset ?? binding };
  for (const { binding, service } of config.services ?? [])
    env[binding] = { type: 'worker', worker: service };
  for (const [key, value] of Object.entries({ ...config.vars, ...worker.vars })) {
    env[key] = typeof value === 'string' ? { type: 'text', value } : { type: 'json', value: value as Json };
  }
  for (const binding of worker.without ?? []) delete env[binding];

  const classes = config.migrations.flatMap(
    (migration: { new_sqlite_classes?: string[] }) => migration.new_sqlite_classes ?? [],
  );
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
    ...(worker.port === undefined
      ? {}
      : { dev: { unsafeDirectSockets: [{ host: '127.0.0.1', port: worker.port }] } }),
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
