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
import { Files, type FileContent } from './basic-files.ts';
import type { StreamOptions } from './exec-stream.ts';
import type { Duration } from './inactivity.ts';
import type { SessionMethods, Settings, SnapshotMethods } from './methods.ts';
import type { ExecOptions, ProgramOptions, Ran } from './process.ts';
import { ContainerSandbox } from './sandbox.ts';
import type { ExecResult, Options, SnapshotOptions, StartOptions, State } from './sandbox.ts';

export { SandboxError, type SandboxErrorCode } from './errors.ts';
export type { BackupHandle, BackupOptions, Expected, FileContent, ProgramOptions, Ran };
export type { Duration, ExecOptions, ExecResult, Options, SessionMethods, Settings, SnapshotMethods, State };
export type { SnapshotOptions, StartOptions, StreamOptions };

type Base = abstract new (...args: any[]) => DurableObject<any>;

/** The names of the methods that a sandbox has and the class passes on. */
const METHODS = [ContainerSandbox, Files]
  .flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype))
  .filter((name) => name !== 'constructor');

/** Adds a container with snapshots to a Durable Object class. The class must have SQLite storage. */
export function withSnapshots<B extends Base>(base: B, options: Options = {}) {
  abstract class WithSnapshots extends base {
    readonly #alarm: SharedAlarm;
    readonly #sandbox: ContainerSandbox;

    constructor(...args: any[]) {
      const alarm = new SharedAlarm(args[0]); // Before the application's constructor, which may set an alarm.
      super(...args);
      this.#alarm = alarm;
      this.#sandbox = new ContainerSandbox(this.ctx, this.env, options, alarm);
    }

    static {
      for (const name of METHODS)
        (this.prototype as any)[name] = function (this: WithSnapshots, ...args: unknown[]) {
          return (this.#sandbox as any)[name](...args);
        };
    }

    /** Returns a session: commands share no shell, so it has the methods of the sandbox. */
    async getSession(id: string) {
      const methods = METHODS.map((name) => [name, (this as any)[name].bind(this)]);
      return { id, ...Object.fromEntries(methods) };
    }
    createSession({ id = crypto.randomUUID() as string } = {}) {
      return this.getSession(id);
    }
    override async alarm(info?: AlarmInvocationInfo) {
      await this.#alarm.run(async () => super.alarm?.(info), this.#sandbox.onAlarm);
    }
  }
  return WithSnapshots as unknown as B & (new (...args: any[]) => SnapshotMethods);
}

/** A sandbox of a Durable Object, ready to export. */
export class SnapshotSandbox extends withSnapshots(DurableObject) {}
