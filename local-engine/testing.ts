/** Starts an engine, and workerd with the published Sandbox class on it, for the tests. */
import { join } from 'node:path';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { startEngine, type Engine, type EngineOptions } from './index.ts';
import type { Ask } from './testing-worker.ts';

/** An error of the SDK, as the test Worker saw it. */
export interface SdkError extends Error {
  code?: string;
}

/** A sandbox, reached through the test Worker. */
export interface TestSandbox {
  /** Calls a method of the SDK's client. */
  call(method: string, ...args: unknown[]): Promise<any>;
  /** The Durable Object's id, in hex. */
  id(): Promise<string>;
}

/** What the tests work with. */
export interface TestWorld extends AsyncDisposable {
  engine: Engine;
  sandbox(name: string, options?: Ask['options']): TestSandbox;
}

const COMPATIBILITY = { compatibilityDate: '2026-06-01', compatibilityFlags: ['nodejs_compat'] };

/** Starts all that a test needs. */
export async function startWorld(options: EngineOptions = {}): Promise<TestWorld> {
  const bundle = await build({
    entryPoints: [join(import.meta.dirname, 'testing-worker.ts')],
    bundle: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    write: false,
    logLevel: 'error',
  });
  const script = bundle.outputFiles[0]!.text;
  const manifest = {
    mainModule: 'worker.mjs',
    modules: { 'worker.mjs': { type: 'esm' as const, contents: script } },
  };
  const engine = await startEngine(options);
  const Sandbox = { type: 'durable-object' as const, worker: 'sandboxes', exportName: 'Sandbox' };
  const miniflare = new Miniflare({
    cf: false,
    enableDevRegistry: false, // keeps Workers of other processes out
    handleStructuredLogs: () => {}, // the SDK logs every call
    containerEngine: engine.address,
    workers: [
      { config: { name: 'caller', ...COMPATIBILITY, manifest, env: { Sandbox } } },
      {
        config: {
          name: 'sandboxes',
          ...COMPATIBILITY,
          manifest,
          env: {
            Sandbox,
            BACKUP_BUCKET: { type: 'r2', name: 'backups' },
            SANDBOX_TRANSPORT: { type: 'text', value: 'rpc' },
          },
          exports: {
            Sandbox: { type: 'durable-object', storage: 'sqlite', container: { imageName: 'any' } },
          },
        },
      },
    ],
  });
  await miniflare.ready.catch(async (error) => {
    await engine.close();
    throw error;
  });

  const send = async (sandbox: string, method: string, args: unknown[], options?: Ask['options']) => {
    const body = JSON.stringify({ sandbox, method, args, options } satisfies Ask);
    const response = await miniflare.dispatchFetch('http://test/', { method: 'POST', body });
    const answer = (await response.json()) as { result: unknown; error?: SdkError };
    if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error);
    return answer.result;
  };
  return {
    engine,
    sandbox: (name, client) => ({
      call: (method, ...args) => send(name, method, args, client),
      id: () => send(name, 'id', []) as Promise<string>,
    }),
    async [Symbol.asyncDispose]() {
      await miniflare.dispose();
      await engine.close();
    },
  };
}
