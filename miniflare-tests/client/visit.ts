// What the tests of the client work with: the built Worker in workerd, and a Worker that calls it through the client.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';

import { http, SnapshotterClient, SnapshotterError } from '../../client/src/index.ts';
import type { EngineOptions } from '../../local-engine/index.ts';
import { SNAPSHOTTER, startLocal, type Local, type LocalWorker } from '../../scripts/local.ts';
import type { Outcome, Step, Way } from './visitor/steps.ts';

const at = (name: string) => fileURLToPath(new URL(`./visitor/${name}`, import.meta.url));

/** The token that the HTTP API is opened with. */
export const TOKEN = 'a token for tests';

/** How a visit differs from the usual one. */
export interface VisitOptions {
  /** The compatibility date of the visitor. */
  date?: string;
  /** Whether signals pass over RPC: yes where absent. */
  signals?: boolean;
  snapshotter?: Partial<LocalWorker>;
  onCall?: EngineOptions['onCall'];
}

/** A visitor, and what it visits. */
export class Visit implements AsyncDisposable {
  /** A client over HTTP, in this process. */
  readonly outside: SnapshotterClient;
  readonly #local: Local;

  private constructor(local: Local, url: URL) {
    this.#local = local;
    this.outside = new SnapshotterClient(http({ url: url.href, token: TOKEN }));
  }

  static async start({ date, signals = true, snapshotter, onCall }: VisitOptions = {}): Promise<Visit> {
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
    return new Visit(local, await local.miniflare.ready);
  }

  async [Symbol.asyncDispose]() {
    await this.#local.close();
  }

  /** Has the visitor do something: its Durable Object, or the Worker itself. */
  async do(step: Step, from: 'object' | 'worker' = 'object'): Promise<any> {
    const { value, error } = await this.outcome(step, from);
    if (error) throw Object.assign(new Error(error.text), error);
    return value;
  }

  /** What comes of that. */
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
  call(operation: string, options: object, way: Way = {}): Promise<any> {
    return this.do({ do: 'call', operation, options, way });
  }

  /** The error that a call ends with. */
  async failure(operation: string, options: object, way: Way = {}, from?: 'object' | 'worker') {
    const { error } = await this.outcome({ do: 'call', operation, options, way }, from);
    assert.ok(error, 'the call should have failed');
    return error;
  }

  /** Runs a command in a sandbox, and answers what it printed. */
  exec(sandboxId: string, command: string): Promise<string> {
    return this.do({ do: 'exec', sandboxId, command });
  }

  /** The Durable Object's ids of the sandboxes that run. */
  running(): string[] {
    return this.#local.engine.running();
  }
}

/** The error that a call of this process ends with. */
export async function failure(call: Promise<unknown>): Promise<SnapshotterError> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof SnapshotterError, String(error));
  return error;
}
