/**
 * A class for the containers of Durable Objects, whose directories sandbox-snapshotter captures and restores.
 *
 *     export { SnapshotSandbox as Sandbox } from 'sandbox-snapshotter-client/container';
 *
 *     export class Sandbox extends withSnapshots(MyContainerClass, { sleepAfter: '1h' }) {}
 */
import { DurableObject } from 'cloudflare:workers';
import { SharedAlarm } from './alarm.ts';
import type { BackupHandle, BackupOptions, Expected } from './archives.ts';
import { toMillis, type Duration } from './inactivity.ts';
import { ContainerSandbox, type ExecOptions, type ExecResult, type Options, type State } from './sandbox.ts';

export { SandboxError, type SandboxErrorCode } from './errors.ts';
export type { BackupHandle, BackupOptions, Duration, Expected, ExecOptions, ExecResult, Options, State };

/** The settings that `configure` changes. */
export interface Settings {
  /** Accepted for compatibility with the SDK 0.12. An object has the name with which it was created. */
  sandboxName?: unknown;
  sleepAfter?: Duration;
  keepAlive?: boolean;
}

/** The methods that are the same on a sandbox and on a session of it. */
export interface SessionMethods {
  /** Runs a command with bash, or with sh where the image has no bash. Starts the container where none runs. */
  exec(command: string, options?: ExecOptions): Promise<ExecResult>;
  /** Stores the files of a directory in the bucket. Starts a container where none runs, unless one is expected. */
  createBackup(options: BackupOptions): Promise<BackupHandle>;
  /** Replaces a directory with the files of a backup. Ends the processes that work in the directory. */
  restoreBackup(handle: BackupHandle & Expected): Promise<{ success: true; dir: string; id: string }>;
  /** Sets variables of all later commands; null removes one. */
  setEnvVars(variables: Record<string, string | null | undefined>): Promise<void>;
  /** Writes a file. */
  writeFile(path: string, content: string | ReadableStream): Promise<{ success: true; path: string }>;
  /** Reads a file as text. */
  readFile(path: string): Promise<{ success: true; path: string; content: string }>;
  /** Returns whether a file exists. */
  exists(path: string): Promise<{ success: true; path: string; exists: boolean }>;
  /** Creates a directory. */
  mkdir(path: string, options?: { recursive?: boolean }): Promise<{ success: true; path: string }>;
  /** Deletes a file. */
  deleteFile(path: string): Promise<{ success: true; path: string }>;
}

/** The methods that {@link withSnapshots} adds to a class. */
export interface SnapshotMethods extends SessionMethods {
  /** Returns the state of the container, and starts none. */
  getState(): Promise<State>;
  /** Starts the container where none runs. Returns its id, which no other container has. */
  startContainer(): Promise<string>;
  /** Sends a signal to the container. Default: SIGTERM. */
  stop(signal?: number): Promise<void>;
  /** Ends the container, and so all its processes and files. */
  destroy(): Promise<void>;
  configure(settings: Settings): Promise<void>;
  setSleepAfter(sleepAfter: Duration): Promise<void>;
  setKeepAlive(keepAlive: boolean): Promise<void>;
  renewActivityTimeout(): Promise<void>;
  /** Returns the id of the container; null where none runs. */
  getContainerPlacementId(): Promise<string | null>;
  /** As `exec`. Commands share no shell, so the token of a session has no effect. */
  execWithSessionToken(command: string, token: string, options?: ExecOptions): Promise<ExecResult>;
  getSession(id: string): Promise<SessionMethods & { id: string }>;
  createSession(options?: { id?: string }): Promise<SessionMethods & { id: string }>;
  alarm(info?: AlarmInvocationInfo): Promise<void>;
}

type Base = abstract new (...args: any[]) => DurableObject<any>;

/** Adds a container with snapshots to a Durable Object class. The class must have SQLite storage. */
export function withSnapshots<B extends Base>(base: B, options: Options = {}) {
  abstract class WithSnapshots extends base implements SnapshotMethods {
    readonly #sandbox: ContainerSandbox;

    constructor(...args: any[]) {
      const alarm = new SharedAlarm(args[0]); // Before the application's constructor, which may set an alarm.
      super(...args);
      this.#sandbox = new ContainerSandbox(this.ctx, this.env, options, alarm);
    }

    exec(command: string, options?: ExecOptions) {
      return this.#sandbox.exec(command, options);
    }
    execWithSessionToken(command: string, _token: string, options?: ExecOptions) {
      return this.#sandbox.exec(command, options);
    }
    createBackup(options: BackupOptions) {
      return this.#sandbox.createBackup(options);
    }
    restoreBackup(handle: BackupHandle & Expected) {
      return this.#sandbox.restoreBackup(handle);
    }
    getState() {
      return this.#sandbox.state();
    }
    startContainer() {
      return this.#sandbox.start();
    }
    async stop(signal?: number) {
      this.#sandbox.stop(signal);
    }
    destroy() {
      return this.#sandbox.destroy();
    }
    async configure({ sleepAfter, keepAlive }: Settings) {
      if (sleepAfter !== undefined) await this.setSleepAfter(sleepAfter);
      if (keepAlive !== undefined) await this.setKeepAlive(keepAlive);
    }
    async setSleepAfter(sleepAfter: Duration) {
      await this.#sandbox.inactivity.set(toMillis(sleepAfter));
    }
    async setKeepAlive(keepAlive: boolean) {
      const { inactivity } = this.#sandbox;
      if (keepAlive) await inactivity.set(null);
      else if (inactivity.timeoutMs === null) await inactivity.reset();
    }
    async renewActivityTimeout() {
      this.#sandbox.inactivity.touch();
      await this.#sandbox.inactivity.apply();
    }
    async setEnvVars(variables: Record<string, string | null | undefined>) {
      this.#sandbox.setEnv(variables);
    }
    async getContainerPlacementId() {
      return this.#sandbox.containerId();
    }
    async getSession(id: string) {
      return { id, ...sessionMethods(this) };
    }
    createSession({ id = crypto.randomUUID() as string } = {}) {
      return this.getSession(id);
    }
    async writeFile(path: string, content: string | ReadableStream) {
      const stream = typeof content === 'string' ? new Blob([content]).stream() : content;
      await this.#sandbox.runFile(['/bin/sh', '-c', 'cat >"$1"', 'sh'], path, stream);
      return { success: true as const, path };
    }
    async readFile(path: string) {
      const content = new TextDecoder().decode(await this.#sandbox.runFile(['cat', '--'], path));
      return { success: true as const, path, content };
    }
    async exists(path: string) {
      const script = 'if [ -e "$1" ]; then echo 1; fi';
      const { byteLength } = await this.#sandbox.runFile(['/bin/sh', '-c', script, 'sh'], path);
      return { success: true as const, path, exists: byteLength > 0 };
    }
    async mkdir(path: string, { recursive = false } = {}) {
      await this.#sandbox.runFile(['mkdir', ...(recursive ? ['-p'] : []), '--'], path);
      return { success: true as const, path };
    }
    async deleteFile(path: string) {
      await this.#sandbox.runFile(['rm', '--'], path);
      return { success: true as const, path };
    }
    override async alarm(info?: AlarmInvocationInfo) {
      await this.#sandbox.alarm(async () => super.alarm?.(info));
    }
  }
  return WithSnapshots as unknown as B & (new (...args: any[]) => SnapshotMethods);
}

/** The names of the {@link SessionMethods}. */
const SESSION_METHODS = [
  'exec',
  'createBackup',
  'restoreBackup',
  'setEnvVars',
  'writeFile',
  'readFile',
  'exists',
  'mkdir',
  'deleteFile',
] as const;

/** Returns a session: commands share no shell, so it has the methods of the sandbox. */
function sessionMethods(sandbox: SessionMethods): SessionMethods {
  const methods = SESSION_METHODS.map((name) => [name, (...args: any[]) => (sandbox as any)[name](...args)]);
  return Object.fromEntries(methods);
}

/** A sandbox of a Durable Object, ready to export. */
export class SnapshotSandbox extends withSnapshots(DurableObject) {}
