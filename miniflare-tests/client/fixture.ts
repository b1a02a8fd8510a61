// The fixture of the client tests: the built Worker in workerd, and a visitor, a Worker that calls it through the client.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';

import { http, SnapshotterClient, SnapshotterError } from '../../client/src/index.ts';
import type { EngineOptions } from '../../local-engine/index.ts';
import { SNAPSHOTTER, startLocal, type Local, type LocalWorker } from '../../scripts/local.ts';
import type { Outcome, Route, Step } from './visitor/steps.ts';

const at = (name: string) => fileURLToPath(new URL(`./visitor/${name}`, import.meta.url));

/** The token of the HTTP API. */
export const TOKEN = 'a token for tests';

/** The options of the fixture. */
export interface FixtureOptions {
  /** The compatibility date of the visitor. */
  date?: string;
  /** Whether the platform passes signals over RPC; true if absent. */
  signals?: boolean;
  snapshotter?: Partial<LocalWorker>;
  onCall?: EngineOptions['onCall'];
}

/** A visitor, and the Workers that it calls. */
export class ClientFixture implements AsyncDisposable {
  /** A client over HTTP, in this process. */
  readonly overHttp: SnapshotterClient;
  readonly #local: Local;

  private constructor(local: Local, url: URL) {
    this.#local = local;
    this.overHttp = new SnapshotterClient(http({ url: url.href, token: TOKEN }));
  }

  static async start({
    date,
    signals = true,
    snapshotter,
    onCall,
  }: FixtureOptions = {}): Promise<ClientFixture> {
    const visitor = at(signals ? 'wrangler.toml' : 'without-signals.toml');
    const local = await startLocal({
      workers: [
        { config: SNAPSHOTTER, vars: { API_TOKEN: TOKEN }, ...snapshotter },
        { config: visitor, ...(date === undefined ? {} : { compatibilityDate: date }) },
        { config: at('proxy.toml') },
        { config: at('failing.toml') },
      ],
      ...(onCall ? { engine: { onCall } } : {}),
    });
    return new ClientFixture(local, await local.miniflare.ready);
  }

  async [Symbol.asyncDispose]() {
    await this.#local.close();
  }

  /** Runs a step in the Durable Object of the visitor, or in the Worker itself, and returns its value. */
  async do(step: Step, from: 'object' | 'worker' = 'object'): Promise<any> {
    const { value, error } = await this.outcome(step, from);
    if (error) throw Object.assign(new Error(error.text), error);
    return value;
  }

  /** Runs a step, and returns its outcome. */
  async outcome(step: Step, from: 'object' | 'worker' = 'object'): Promise<Outcome> {
    const worker = await this.#local.miniflare.getWorker('visitor');
    const response = await worker.fetch(`http://visitor/${from}`, {
      method: 'POST',
      body: JSON.stringify(step),
    });
    assert.equal(response.status, 200, 'the visitor itself must not fail');
    return (await response.json()) as Outcome;
  }

  /** Calls an operation from the Durable Object. */
  call(operation: string, options: object, route: Route = {}): Promise<any> {
    return this.do({ do: 'call', operation, options, route });
  }

  /** Returns the error of a call that must fail. */
  async failure(operation: string, options: object, route: Route = {}, from?: 'object' | 'worker') {
    const { error } = await this.outcome({ do: 'call', operation, options, route }, from);
    assert.ok(error, 'the call should have failed');
    return error;
  }

  /** Runs a command in a sandbox, and returns its output. */
  exec(sandboxId: string, command: string): Promise<string> {
    return this.do({ do: 'exec', sandboxId, command });
  }

  /** Returns the Durable Object ids of the running sandboxes. */
  running(): string[] {
    return this.#local.engine.running();
  }
}

/** Returns the error of a call of this process that must fail. */
export async function failure(call: Promise<unknown>): Promise<SnapshotterError> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof SnapshotterError, String(error));
  return error;
}
