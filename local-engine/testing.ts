/** The fixture of the tests: an engine, and workerd with the published Sandbox class on it. */
import { join } from 'node:path';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { startEngine, startS3, type Engine, type EngineOptions } from './index.ts';
import { CREDENTIALS, network, signing, THROUGH_NETWORK } from './production.ts';
import type { SandboxCall } from './testing-worker.ts';

/** An error of the SDK, as the test Worker received it. */
export interface SdkError extends Error {
  code?: string;
}

/** A sandbox that is called through the test Worker. */
export interface TestSandbox {
  /** Calls a method of the SDK's client. */
  call(method: string, ...args: unknown[]): Promise<any>;
  /** Returns the id of the Durable Object, in hex. */
  id(): Promise<string>;
}

/** A running engine, and the sandboxes on it. */
export interface TestFixture extends AsyncDisposable {
  engine: Engine;
  sandbox(name: string, options?: SandboxCall['options']): TestSandbox;
}

const COMPATIBILITY = { compatibilityDate: '2026-06-01', compatibilityFlags: ['nodejs_compat'] };

const BUCKET = 'backups';

/** Starts an engine and Miniflare. In production mode, sandboxes can also make backups by signed URLs. */
export async function startFixture(
  options: EngineOptions = {},
  mode: 'local' | 'production' = 'local',
): Promise<TestFixture> {
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
  let miniflare: Miniflare | undefined;
  const s3 = mode === 'production' ? await startS3(CREDENTIALS, () => miniflare?.ready) : undefined;
  const engine = await startEngine({ ...options, ...(s3 && { certificate: s3.certificate }) });
  const vars = Object.entries({ SANDBOX_TRANSPORT: 'rpc', ...(s3 && signing(s3, BUCKET)) });
  const Sandbox = { type: 'durable-object' as const, worker: 'sandboxes', exportName: 'Sandbox' };
  miniflare = new Miniflare({
    cf: false,
    enableDevRegistry: false, // excludes the Workers of other processes
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
            BACKUP_BUCKET: { type: 'r2', name: BUCKET, dev: { experimentalS3Credentials: CREDENTIALS } },
            ...Object.fromEntries(vars.map(([key, value]) => [key, { type: 'text' as const, value }])),
          },
          exports: {
            Sandbox: { type: 'durable-object', storage: 'sqlite', container: { imageName: 'any' } },
          },
        },
        ...(s3 && { dev: THROUGH_NETWORK }),
      },
      ...(s3 ? [network(s3)] : []),
    ],
  });
  const close = async () => {
    await miniflare?.dispose();
    await engine.close();
    s3?.close();
  };
  await miniflare.ready.catch(async (error) => {
    await close();
    throw error;
  });

  const send = async (sandbox: string, method: string, args: unknown[], options?: SandboxCall['options']) => {
    const body = JSON.stringify({ sandbox, method, args, options } satisfies SandboxCall);
    const response = await miniflare!.dispatchFetch('http://test/', { method: 'POST', body });
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
    [Symbol.asyncDispose]: close,
  };
}
