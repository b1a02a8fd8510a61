// The test environment: the built Worker in workerd, the published Sandbox class, R2, and a Durable Object as the caller.

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
import { named } from '../scripts/runtimes.ts';
import type { Call, EngineOptions, StoredSnapshot } from '../local-engine/index.ts';
import type { Page, SnapshotRef, Summary, TakenSnapshot, WorkspaceRef } from '../client/src/index.ts';
import type { Answer, Step, Thrown } from './caller/steps.ts';
import { NamedWorkspace } from './workspaces/named.ts';

const CALLER = fileURLToPath(new URL('./caller/wrangler.toml', import.meta.url));
const CALLER_WITH_SANDBOXES = fileURLToPath(new URL('./caller/with-sandboxes.toml', import.meta.url));
const ANOTHER_SNAPSHOTTER = fileURLToPath(new URL('./caller/another-snapshotter.toml', import.meta.url));

/** The snapshotter's main module with a clock that {@link World.advanceClock} advances. */
const WITH_CLOCK = fileURLToPath(new URL('./caller/clock.mjs', import.meta.url));

/** The API token of the HTTP API. */
export const TOKEN = 'a token for tests';

/** The options of a test environment. */
export interface WorldOptions {
  /** Which Worker exports the class of the sandboxes: the snapshotter, or the application that calls it. */
  sandboxesOf?: 'snapshotter' | 'application';
  snapshotter?: Partial<LocalWorker>;
  caller?: Partial<LocalWorker>;
  onCall?: EngineOptions['onCall'];
  /** A folder that stores the state, for a later environment. */
  persist?: string;
  /** Whether the snapshotter's clock can be advanced. The application then exports the class of the sandboxes. */
  clock?: boolean;
  /** How archives travel. Default: the value of the environment variable `SANDBOX_MODE`. */
  mode?: Mode;
  /** Whether the files of the sandboxes are on a disk, and not in memory. */
  disk?: boolean;
  /** Whether the deployment does not name the runtime of its sandboxes. Otherwise it does in the mode `container`. */
  isUnnamed?: boolean;
  /** Whether to start a second deployment of the snapshotter, with the same sandboxes and the same bucket. */
  otherDeployment?: boolean;
}

/**
 * Whether the sandboxes are of the published class of the SDK 0.12, and not of the class of the client. Tests of its sessions
 * and defects run only then.
 */
export const PUBLISHED_CLASS = modeOfRun() !== 'container';

/** Waits until a condition is true. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await setTimeout(5);
}

/** Appends the last newline to the output of a session, which the SDK 0.12 removes. */
export function lines(stdout: string, mode = modeOfRun()): string {
  return stdout === '' || mode === 'container' ? stdout : `${stdout}\n`;
}

/** Returns whether a call unpacks or mounts a backup, in every mode. */
export function isUnpacking({ method, command = '' }: Pick<Call, 'method' | 'command'>): boolean {
  // A class over `ctx.container` runs scripts that name the program without using it.
  if (method === 'container.exec') return command.includes('unsquashfs -f');
  return method === 'backup.restoreArchive' || command.includes('unsquashfs');
}

/** Returns whether a call creates an archive, in every mode. */
export function isArchiving({ method, command = '' }: Pick<Call, 'method' | 'command'>): boolean {
  return method === 'container.exec'
    ? command.includes('mksquashfs "$d"')
    : method === 'backup.createArchive';
}

/** Returns whether a call uploads an archive to the bucket, in every mode. */
export function isUploading(call: Pick<Call, 'method' | 'command'>): boolean {
  const { method, command = '' } = call;
  if (method === 'container.exec') return isArchiving(call); // One command archives and uploads.
  return method === 'files.readFileStream' || command.includes('curl -sSf -X PUT');
}

/** Returns whether a call comes after both objects of a backup are in the bucket, and before the answer of the snapshot. */
export function isAfterBackup({ method, command = '' }: Pick<Call, 'method' | 'command'>): boolean {
  // The class over `ctx.container` makes no call after them. The next one is the probe of the snapshotter.
  return method === 'container.exec'
    ? command.includes('echo "$up $start')
    : method === 'utils.deleteSession';
}

/** An answer of the HTTP API. */
export interface HttpAnswer {
  status: number;
  headers: Record<string, string>;
  body: any;
}

type Operation = (method: string, options?: unknown, signal?: boolean) => Promise<any>;

/** A running test environment: Workers, sandboxes and a bucket. */
export class World implements AsyncDisposable {
  /** The lines that the Workers logged. */
  readonly log: string[] = [];
  /** How archives travel. */
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
          vars: {
            API_TOKEN: TOKEN,
            ...(world.mode === 'container' && !options.isUnnamed && named('container')),
            ...vars,
          },
          ...(application ? { sandboxesOf: 'caller' } : {}),
          ...(options.clock ? { main: WITH_CLOCK } : {}),
          ...snapshotter,
        },
        ...(options.otherDeployment ? [another] : []),
      ],
      onLog: (line) => world.log.push(line),
      mode: world.mode,
      engine: { ...(options.onCall && { onCall: options.onCall }), ...(options.disk && { disk: true }) },
      ...(options.persist ? { persist: options.persist } : {}),
    });
    return world;
  }

  async [Symbol.asyncDispose]() {
    await this.#local.close();
  }

  /** Runs a step in the caller's Durable Object. */
  async runStep(step: Step, caller = 'agent'): Promise<Answer> {
    const init = { method: 'POST', body: JSON.stringify(step) };
    const response = await this.#local.miniflare.dispatchFetch(`http://caller/${caller}`, init);
    assert.equal(response.status, 200, 'the caller must not fail');
    return (await response.json()) as Answer;
  }

  async #value(step: Step, caller?: string): Promise<any> {
    const { value, error } = await this.runStep(step, caller);
    if (error) throw Object.assign(new Error(error.message), error);
    return value;
  }

  /** Calls an operation over RPC. */
  rpc: Operation = (method, options, signal) =>
    this.#value({ do: 'rpc', method, options, ...(signal ? { signal } : {}) });

  /** Runs a command over RPC, and returns its events, with their output as text. */
  execStream(options: object, cancel = false): Promise<any[]> {
    return this.#value({ do: 'execStream', options, cancel });
  }

  /** Writes a file over RPC, whose bytes are the numbers from 0 to 250, again and again. */
  writeBytes(options: object, length: number, asStream = false): Promise<any> {
    return this.#value({ do: 'writeBytes', options, length, asStream });
  }

  /** Calls an operation through the `fetch` of the binding. Throws the problem if the call fails. */
  http: Operation = async (method, options) => {
    const { status, body } = await this.fetch(`/v1/${method}`, { body: JSON.stringify(options) });
    if (status !== 200) throw Object.assign(new Error(body.message), body);
    return body;
  };

  /** Calls an operation of the second deployment. */
  callOtherDeployment: Operation = async (method, options) => {
    const worker = await this.#local.miniflare.getWorker('another-snapshotter');
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(options) };
    const response = await worker.fetch(`http://another/v1/${method}`, init);
    const body: any = await response.json();
    if (!response.ok) throw Object.assign(new Error(body.message), body);
    return body;
  };

  /** Sends a request to the HTTP API. By default it is a POST of JSON with the API token. */
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

  /** Returns a page of a sandbox's snapshots. */
  list(sandboxId: string, options: object = {}): Promise<Page> {
    return this.rpc('list', { sandboxId, ...options });
  }

  /** Returns the labels on the first page of a sandbox's snapshots, the newest first. */
  async labels(sandboxId: string): Promise<string[]> {
    return (await this.list(sandboxId)).snapshots.map(({ label }) => label);
  }

  /** Returns one snapshot, in the form of lists. */
  get(ref: SnapshotRef): Promise<Summary> {
    return this.rpc('get', { ref });
  }

  /** Restores a snapshot, asserts the output of a command in the new sandbox, and destroys the sandbox. */
  async assertRestores(ref: SnapshotRef, command: string, printed: string) {
    const { sandboxId } = (await this.restore(ref)).ref;
    assert.equal(await this.exec(sandboxId, command), printed);
    await this.sandbox(sandboxId, 'destroy');
  }

  /** Advances the snapshotter's clock, and runs the alarms of the sandbox's Workspace object that become due. */
  async advanceClock(sandboxId: string, seconds: number) {
    await this.rpc('advanceClock', { sandboxId, seconds });
  }

  /** Returns a named workspace, which need not exist. */
  workspace(name: string, tenant?: string): NamedWorkspace {
    return new NamedWorkspace(this, name, tenant);
  }

  /** Returns an address of the snapshotter on this machine. The environment needs the option `port`; 0 selects any port. */
  async url(path: string): Promise<URL> {
    return new URL(path, await this.#local.miniflare.unsafeGetDirectURL('sandbox-snapshotter'));
  }

  /** Fires the cron trigger. */
  async fireCron() {
    const worker = await this.#local.miniflare.getWorker('sandbox-snapshotter');
    assert.equal((await worker.scheduled({ cron: '17 3 * * *' })).outcome, 'ok');
  }

  /** Returns the number of backups in progress, created or applied. The caller must be `active-backups.ts`. */
  async activeBackups(): Promise<number> {
    const response = await this.#local.miniflare.dispatchFetch('http://caller/active-backups');
    return (await response.json()) as number;
  }

  /** Kills workerd and restarts it. */
  crash(): Promise<void> {
    return this.#local.crash();
  }

  /** Returns the error of a call, which must fail. */
  async failure(call: Promise<unknown>): Promise<Thrown> {
    try {
      await call;
    } catch (error) {
      return error as Thrown;
    }
    throw new assert.AssertionError({ message: 'the call must fail' });
  }

  /** Aborts the AbortSignal of the caller. */
  async abort() {
    await this.#value({ do: 'abort' });
  }

  /** Runs a command in the default session of a sandbox, and returns its output. The command must succeed. */
  async exec(id: string, command: string): Promise<string> {
    const { exitCode, stdout, stderr } = await this.sandbox(id, 'exec', command);
    assert.equal(exitCode, 0, stderr);
    return lines(stdout, this.mode);
  }

  /** Calls a method of the SDK's client. */
  sandbox(id: string, method: string, ...args: unknown[]): Promise<any> {
    return this.#value({ do: 'sandbox', id, method, args });
  }

  /** Calls a method of the class of the client, in a deployment with both runtimes. */
  container(id: string, method: string, ...args: unknown[]): Promise<any> {
    return this.#value({ do: 'container', id, method, args });
  }

  /** Runs a command in a session with an id, which is created if it does not exist. The command must succeed. */
  async execIn(id: string, session: string, command: string): Promise<string> {
    const { exitCode, stdout, stderr } = await this.#value({ do: 'session', id, session, command });
    assert.equal(exitCode, 0, stderr);
    return lines(stdout, this.mode);
  }

  /** Creates a backup with the SDK, as an application does. By default it is of /workspace. */
  backUp(id: string, options: object = {}): Promise<{ id: string; dir: string; format?: string }> {
    const modeOptions = this.mode === 'production' ? {} : { localBucket: true };
    return this.sandbox(id, 'createBackup', { dir: '/workspace', ...modeOptions, ...options });
  }

  /** Kills the container of a sandbox, as a crash does. */
  async kill(id: string) {
    await this.#local.engine.kill(await this.objectId(id));
  }

  /** Returns the platform snapshots, the oldest first. */
  platformSnapshots(): StoredSnapshot[] {
    return this.#local.engine.snapshots();
  }

  /** Deletes a platform snapshot, as the platform does at its expiration. */
  deletePlatformSnapshot(snapshot: StoredSnapshot) {
    this.#local.engine.deleteSnapshot(snapshot);
  }

  /** Ends the container of a sandbox through the SDK's `sleepAfter`, as after a time without calls. */
  async sleep(id: string) {
    // The platform ends a container without a call to its object.
    if (this.mode === 'container') return this.kill(id);
    const hex = await this.objectId(id);
    await this.sandbox(id, 'setSleepAfter', '1s');
    // The SDK checks every three minutes whether that time is over. This alarm makes it check at once.
    await this.sandbox(id, 'scheduleNextAlarm', 0);
    await until(() => !this.running().includes(hex));
  }

  /** Returns the Durable Object's id of a sandbox, in hex. */
  objectId(id: string): Promise<string> {
    return this.#value({ do: 'objectId', id });
  }

  /** Returns the Durable Object's ids of the running sandboxes. */
  running(): string[] {
    return this.#local.engine.running().sort();
  }

  /** Kills the container of a sandbox, by its Durable Object's id. */
  killByObjectId(hex: string): Promise<void> {
    return this.#local.engine.kill(hex);
  }

  /** Returns the keys in the bucket. */
  objects(): Promise<string[]> {
    return this.#value({ do: 'objects' });
  }

  /** Returns the text of an object in the bucket. */
  read(key: string): Promise<string | undefined> {
    return this.#value({ do: 'read', key });
  }

  /** Stores an object in the bucket. */
  async write(key: string, text: string) {
    await this.#value({ do: 'write', key, text });
  }

  /** Deletes a snapshot but keeps its objects in the bucket, where no ledger lists them. */
  async orphanBackup(ref: SnapshotRef) {
    const keys = ['data.sqsh', 'meta.json'].map((name) => `backups/${ref.ref.backup.id}/${name}`);
    await this.all(keys.map((key) => ({ do: 'copy', from: key, to: `copies/${key}` })));
    await this.rpc('delete', { ref, force: true });
    await this.all(keys.map((key) => ({ do: 'copy', from: `copies/${key}`, to: key })));
    await this.all(keys.map((key) => ({ do: 'delete', key: `copies/${key}` })));
  }

  /** Deletes an object of the bucket. */
  async delete(key: string) {
    await this.#value({ do: 'delete', key });
  }

  /** Runs several steps at the same time. */
  all(steps: Step[]): Promise<any[]> {
    return this.#value({ do: 'all', steps });
  }
}
