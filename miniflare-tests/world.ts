// What the tests work with: the built Worker in workerd, the published Sandbox class, R2, and a Durable Object that calls.

import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import {
  modeOfRun,
  SNAPSHOTTER,
  startLocal,
  type Local,
  type LocalWorker,
  type Mode,
} from '../scripts/local.ts';
import type { Call, EngineOptions } from '../local-engine/index.ts';
import type { Page, SnapshotRef, Summary, TakenSnapshot, WorkspaceRef } from '../client/src/index.ts';
import type { Answer, Step, Thrown } from './caller/steps.ts';
import { Named } from './workspaces/named.ts';

const CALLER = fileURLToPath(new URL('./caller/wrangler.toml', import.meta.url));
const CALLER_WITH_SANDBOXES = fileURLToPath(new URL('./caller/with-sandboxes.toml', import.meta.url));
const ANOTHER_SNAPSHOTTER = fileURLToPath(new URL('./caller/another-snapshotter.toml', import.meta.url));

/** The snapshotter's main module with a clock that {@link World.elapse} puts forward. */
const WITH_CLOCK = fileURLToPath(new URL('./caller/clock.mjs', import.meta.url));

/** The token that the HTTP API is opened with. */
export const TOKEN = 'a token for tests';

/** How a world differs from the usual one. */
export interface WorldOptions {
  /** Which Worker exports the class of the sandboxes: the snapshotter, or the application that calls it. */
  sandboxesOf?: 'snapshotter' | 'application';
  snapshotter?: Partial<LocalWorker>;
  caller?: Partial<LocalWorker>;
  onCall?: EngineOptions['onCall'];
  /** A folder that outlives the world, for one that comes after it. */
  persist?: string;
  /** Whether the snapshotter's clock can be put forward. The sandboxes are the application's then. */
  clock?: boolean;
  /** How archives travel. Default: that of the run, which the environment variable `SANDBOX_MODE` says. */
  mode?: Mode;
  /** Whether there is another deployment of the snapshotter, with the same sandboxes and the same bucket. */
  another?: boolean;
}

/** Waits until something is so. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await setTimeout(5);
}

/** What a session printed, with the end of the last line, which the SDK drops. */
export function lines(stdout: string): string {
  return stdout === '' ? '' : `${stdout}\n`;
}

/** Whether a call unpacks or mounts a backup, in either mode. */
export function isUnpacking({ method, command }: Pick<Call, 'method' | 'command'>): boolean {
  return method === 'backup.restoreArchive' || (command?.includes('unsquashfs') ?? false);
}

/** Whether a call sends an archive on its way to the bucket, in either mode. */
export function isUploading({ method, command }: Pick<Call, 'method' | 'command'>): boolean {
  return method === 'files.readFileStream' || (command?.includes('curl -sSf -X PUT') ?? false);
}

/** An answer of the HTTP API. */
export interface HttpAnswer {
  status: number;
  headers: Record<string, string>;
  body: any;
}

type Operation = (method: string, options?: unknown, signal?: boolean) => Promise<any>;

/** Workers, sandboxes and a bucket. */
export class World implements AsyncDisposable {
  /** The lines that the Workers logged. */
  readonly log: string[] = [];
  /** How archives travel in it. */
  readonly mode: Mode;
  #local!: Local;

  private constructor(mode: Mode) {
    this.mode = mode;
  }

  static async start(options: WorldOptions = {}): Promise<World> {
    const world = new World(options.mode ?? modeOfRun());
    const { vars, ...snapshotter } = options.snapshotter ?? {};
    const application = options.sandboxesOf === 'application' || options.clock === true;
    const another = { config: ANOTHER_SNAPSHOTTER, vars: { API_TOKEN: TOKEN } };
    world.#local = await startLocal({
      workers: [
        { config: application ? CALLER_WITH_SANDBOXES : CALLER, ...options.caller },
        {
          config: SNAPSHOTTER,
          vars: { API_TOKEN: TOKEN, ...vars },
          ...(application ? { sandboxesOf: 'caller' } : {}),
          ...(options.clock ? { main: WITH_CLOCK } : {}),
          ...snapshotter,
        },
        ...(options.another ? [another] : []),
      ],
      onLog: (line) => world.log.push(line),
      mode: world.mode,
      ...(options.onCall ? { engine: { onCall: options.onCall } } : {}),
      ...(options.persist ? { persist: options.persist } : {}),
    });
    return world;
  }

  async [Symbol.asyncDispose]() {
    await this.#local.close();
  }

  /** Has the caller's Durable Object do something. */
  async perform(step: Step, caller = 'agent'): Promise<Answer> {
    const init = { method: 'POST', body: JSON.stringify(step) };
    const response = await this.#local.miniflare.dispatchFetch(`http://caller/${caller}`, init);
    assert.equal(response.status, 200, 'the caller itself must not fail');
    return (await response.json()) as Answer;
  }

  async #value(step: Step, caller?: string): Promise<any> {
    const { value, error } = await this.perform(step, caller);
    if (error) throw Object.assign(new Error(error.message), error);
    return value;
  }

  /** Calls an operation over RPC. */
  rpc: Operation = (method, options, signal) =>
    this.#value({ do: 'rpc', method, options, ...(signal ? { signal } : {}) });

  /** Calls an operation over the binding's fetch; throws the problem where that is the answer. */
  http: Operation = async (method, options) => {
    const { status, body } = await this.fetch(`/v1/${method}`, { body: JSON.stringify(options) });
    if (status !== 200) throw Object.assign(new Error(body.message), body);
    return body;
  };

  /** Calls an operation of the other deployment. */
  another: Operation = async (method, options) => {
    const worker = await this.#local.miniflare.getWorker('another-snapshotter');
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(options) };
    const response = await worker.fetch(`http://another/v1/${method}`, init);
    const body: any = await response.json();
    if (!response.ok) throw Object.assign(new Error(body.message), body);
    return body;
  };

  /** Sends a request to the HTTP API; a POST of JSON with the token where `init` says nothing else. */
  async fetch(
    path: string,
    init: Extract<Step, { do: 'fetch' }>['init'] = {},
    signal = false,
  ): Promise<HttpAnswer> {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const answer = await this.#value({
      do: 'fetch',
      path,
      init: { method: 'POST', headers, ...init },
      signal,
    });
    return { ...answer, body: JSON.parse(answer.body) };
  }

  snapshot(sandboxId: string, options: object = {}): Promise<TakenSnapshot> {
    return this.rpc('snapshot', { sandboxId, ...options });
  }

  restore(ref: SnapshotRef): Promise<WorkspaceRef> {
    return this.rpc('restore', { ref });
  }

  branch(ref: SnapshotRef): Promise<WorkspaceRef> {
    return this.rpc('branch', { ref });
  }

  /** A page of a sandbox's snapshots. */
  list(sandboxId: string, options: object = {}): Promise<Page> {
    return this.rpc('list', { sandboxId, ...options });
  }

  /** The labels of a sandbox's snapshots, the newest first, as far as a page goes. */
  async labels(sandboxId: string): Promise<string[]> {
    return (await this.list(sandboxId)).snapshots.map(({ label }) => label);
  }

  /** One snapshot, as lists show it. */
  get(ref: SnapshotRef): Promise<Summary> {
    return this.rpc('get', { ref });
  }

  /** The files of a snapshot are what a command prints in a sandbox that is made from it. The sandbox is ended. */
  async restores(ref: SnapshotRef, command: string, printed: string) {
    const { sandboxId } = (await this.restore(ref)).ref;
    assert.equal(await this.exec(sandboxId, command), printed);
    await this.sandbox(sandboxId, 'destroy');
  }

  /** Lets time pass for the snapshotter. The workspace of the sandbox lives through it from alarm to alarm. */
  async elapse(sandboxId: string, seconds: number) {
    await this.rpc('elapse', { sandboxId, seconds });
  }

  /** A workspace by its name, whether it is there or not. */
  workspace(name: string, tenant?: string): Named {
    return new Named(this, name, tenant);
  }

  /** An address of the snapshotter on this machine. It listens where its options have a port, of which 0 is any. */
  async url(path: string): Promise<URL> {
    return new URL(path, await this.#local.miniflare.unsafeGetDirectURL('sandbox-snapshotter'));
  }

  /** Has the cron trigger fire. */
  async cron() {
    const worker = await this.#local.miniflare.getWorker('sandbox-snapshotter');
    assert.equal((await worker.scheduled({ cron: '17 3 * * *' })).outcome, 'ok');
  }

  /** How many backups the sandboxes are making or applying. The caller must be one that counts them. */
  async underway(): Promise<number> {
    const response = await this.#local.miniflare.dispatchFetch('http://caller/underway');
    return (await response.json()) as number;
  }

  /** Kills workerd, and resolves when it runs again. */
  crash(): Promise<void> {
    return this.#local.crash();
  }

  /** The error that a call ends with. */
  async failure(call: Promise<unknown>): Promise<Thrown> {
    try {
      await call;
    } catch (error) {
      return error as Thrown;
    }
    throw new assert.AssertionError({ message: 'the call should have failed' });
  }

  /** Fires the AbortSignal of the caller. */
  async abort() {
    await this.#value({ do: 'abort' });
  }

  /** Runs a command in the default session of a sandbox, and answers the lines that it printed; it must succeed. */
  async exec(id: string, command: string): Promise<string> {
    const { exitCode, stdout, stderr } = await this.sandbox(id, 'exec', command);
    assert.equal(exitCode, 0, stderr);
    return lines(stdout);
  }

  /** Calls a method of the SDK's client. */
  sandbox(id: string, method: string, ...args: unknown[]): Promise<any> {
    return this.#value({ do: 'sandbox', id, method, args });
  }

  /** Runs a command in a session of the application's own, which is made where it is not there; it must succeed. */
  async execIn(id: string, session: string, command: string): Promise<string> {
    const { exitCode, stdout, stderr } = await this.#value({ do: 'session', id, session, command });
    assert.equal(exitCode, 0, stderr);
    return lines(stdout);
  }

  /** A backup that the application makes itself, of /workspace where the options say nothing else. */
  backUp(id: string, options: object = {}): Promise<{ id: string; dir: string }> {
    const ofMode = this.mode === 'local' ? { localBucket: true } : {};
    return this.sandbox(id, 'createBackup', { dir: '/workspace', ...ofMode, ...options });
  }

  /** Kills the container of a sandbox, as a crash would. */
  async kill(id: string) {
    await this.#local.engine.kill(await this.hex(id));
  }

  /** Has a sandbox fall asleep, as it does when nobody uses it for long. */
  async sleep(id: string) {
    const hex = await this.hex(id);
    await this.sandbox(id, 'setSleepAfter', '1s');
    // The SDK looks every three minutes whether that time is over; here at once.
    await this.sandbox(id, 'scheduleNextAlarm', 0);
    await until(() => !this.running().includes(hex));
  }

  /** The Durable Object's id of a sandbox. */
  hex(id: string): Promise<string> {
    return this.#value({ do: 'hex', id });
  }

  /** The Durable Object's ids of the sandboxes that run. */
  running(): string[] {
    return this.#local.engine.running().sort();
  }

  /** Ends the container of a running sandbox, by its Durable Object's id. */
  killHex(hex: string): Promise<void> {
    return this.#local.engine.kill(hex);
  }

  /** The keys in the bucket. */
  objects(): Promise<string[]> {
    return this.#value({ do: 'objects' });
  }

  /** The text of an object. */
  read(key: string): Promise<string | undefined> {
    return this.#value({ do: 'read', key });
  }

  /** Stores an object. */
  async write(key: string, text: string) {
    await this.#value({ do: 'write', key, text });
  }

  /** Deletes a snapshot whose objects somebody has copied, and puts them back: they are nobody's. */
  async orphan(ref: SnapshotRef) {
    const keys = ['data.sqsh', 'meta.json'].map((name) => `backups/${ref.ref.backup.id}/${name}`);
    await this.all(keys.map((key) => ({ do: 'copy', from: key, to: `copies/${key}` })));
    await this.rpc('delete', { ref, force: true });
    await this.all(keys.map((key) => ({ do: 'copy', from: `copies/${key}`, to: key })));
    await this.all(keys.map((key) => ({ do: 'delete', key: `copies/${key}` })));
  }

  /** Deletes an object. */
  async delete(key: string) {
    await this.#value({ do: 'delete', key });
  }

  /** Does many things at the same time. */
  all(steps: Step[]): Promise<any[]> {
    return this.#value({ do: 'all', steps });
  }
}
