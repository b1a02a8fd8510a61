/** The fixture of the container tests: an engine, and workerd with a Durable Object class over `ctx.container`. */
import { join } from 'node:path';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { startEngine, type Engine, type EngineOptions } from './index.ts';

type Method =
  | 'start'
  | 'run'
  | 'count'
  | 'feed'
  | 'interrupt'
  | 'terminal'
  | 'monitor'
  | 'destroy'
  | 'signal'
  | 'inspect'
  | 'snapshot'
  | 'running'
  | 'objectId';

/** A Durable Object of the test Worker: the methods of its class. */
export type TestContainer = Record<Method, (...args: unknown[]) => Promise<any>>;

/** A running engine, and the containers on it. */
export interface ContainersFixture extends AsyncDisposable {
  engine: Engine;
  container(name: string): TestContainer;
}

/** Starts an engine and Miniflare. */
export async function startContainers(options: EngineOptions = {}): Promise<ContainersFixture> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'worker', 'containers.ts')],
    bundle: true,
    format: 'esm',
    target: 'es2024',
    external: ['cloudflare:*'],
    write: false,
    logLevel: 'error',
  });
  const contents = outputFiles[0]!.text;
  const engine = await startEngine(options);
  const miniflare = new Miniflare({
    cf: false,
    enableDevRegistry: false, // excludes the Workers of other processes
    containerEngine: engine.address,
    workers: [
      {
        config: {
          name: 'application',
          compatibilityDate: '2026-10-01',
          manifest: { mainModule: 'worker.mjs', modules: { 'worker.mjs': { type: 'esm', contents } } },
          env: { Box: { type: 'durable-object', worker: 'application', exportName: 'Box' } },
          exports: { Box: { type: 'durable-object', storage: 'sqlite', container: { imageName: 'debian' } } },
        },
      },
    ],
  });
  const close = async () => {
    await miniflare.dispose();
    await engine.close();
  };
  await miniflare.ready.catch(async (error) => {
    await close();
    throw error;
  });
  const send = async (call: [name: string, method: string, args: unknown[]]) => {
    const response = await miniflare.dispatchFetch('http://test/', {
      method: 'POST',
      body: JSON.stringify(call),
    });
    const { result, error } = (await response.json()) as { result: unknown; error?: string };
    if (error !== undefined) throw new Error(error);
    return result;
  };
  const container = (name: string) =>
    new Proxy({} as TestContainer, {
      get:
        (_, method: string) =>
        (...args: unknown[]) =>
          send([name, method, args]),
    });
  return { engine, container, [Symbol.asyncDispose]: close };
}
