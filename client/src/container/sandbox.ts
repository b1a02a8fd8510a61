/** The sandbox of a Durable Object: its container, commands, files and backups. */
import type { SharedAlarm } from './alarm.ts';
import { capture, checkDirectory, checkExpiration, restore } from './archives.ts';
import type { BackupHandle, BackupOptions, Expected, Target } from './archives.ts';
import { Backups } from './bucket.ts';
import { SandboxError } from './errors.ts';
import { ContainerIdentity, requireTool, type ContainerRun } from './identity.ts';
import { Inactivity, type Duration } from './inactivity.ts';
import { KILLED, open, run, TIMED_OUT, type Ran } from './process.ts';

/** How a class runs its containers. */
export interface Options<Env = any> {
  /** The name of the R2 binding of the backups. Default: `BACKUP_BUCKET`. */
  bucket?: string;
  /** The directory in which commands start. It is created in each container. Default: `/workspace`. */
  dir?: string;
  /** The time without calls after which the container ends: seconds, or a number with a unit. Default: `10m`. */
  sleepAfter?: Duration;
  /** Returns the variables of all commands. */
  env?: (env: Env) => Record<string, string>;
  /** Returns the options of each start: image, entrypoint, instance, labels, access to the Internet. */
  start?: (env: Env) => ContainerStartupOptions;
}

/** The options of a command. */
export interface ExecOptions {
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** The time limit, in milliseconds. Default: none. */
  timeout?: number;
}

/** The result of a command. */
export interface ExecResult extends Ran {
  success: boolean;
  command: string;
  /** In milliseconds. */
  duration: number;
  timestamp: string;
}

/** The state of a sandbox. */
export interface State {
  status: 'healthy' | 'running' | 'stopped';
  /** In milliseconds since 1970. */
  lastChange: number;
  /** The id of the container that runs. */
  containerId?: string;
}

const ENV = 'sandbox-snapshotter:env';

const BASE_ENV = { HOME: '/root', LANG: 'C.UTF-8' };

export class ContainerSandbox {
  readonly inactivity: Inactivity;
  readonly #alarm: SharedAlarm;
  readonly #ctx: DurableObjectState;
  readonly #env: Record<string, unknown>;
  readonly #options: Options;
  readonly #identity: ContainerIdentity;
  readonly #dir: string;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(ctx: DurableObjectState, env: unknown, options: Options, alarm: SharedAlarm) {
    this.#alarm = alarm;
    this.#ctx = ctx;
    this.#env = env as Record<string, unknown>;
    this.#options = options;
    this.#dir = options.dir ?? '/workspace';
    const start = () => {
      const own = options.start?.(env);
      return { enableInternet: true, ...own, env: { ...this.#variables(), ...own?.env } };
    };
    this.#identity = new ContainerIdentity(ctx, start as () => ContainerStartupOptions, this.#dir);
    this.inactivity = new Inactivity(ctx, alarm, options.sleepAfter ?? '10m');
    ctx.waitUntil(this.inactivity.apply().catch(() => {}));
    ctx.waitUntil(this.#alone(() => this.#backups().recover()).catch(() => {}));
  }

  async state(): Promise<State> {
    const { id, ready, changedAt } = await this.#identity.current();
    const status = id === undefined ? 'stopped' : ready ? 'healthy' : 'running';
    return { status, lastChange: changedAt, ...(id && { containerId: id }) };
  }

  /** Starts the container where none runs. Returns its id. */
  async start(): Promise<string> {
    return (await this.#target()).state.id as string;
  }

  async containerId(): Promise<string | null> {
    return (await this.#identity.current()).id ?? null;
  }

  async destroy(): Promise<void> {
    await this.#identity.end();
  }

  stop(signal = 15): void {
    if (this.#ctx.container?.running) this.#ctx.container.signal(signal);
  }

  setEnv(variables: Record<string, string | null | undefined>): void {
    const { kv } = this.#ctx.storage;
    kv.put(ENV, { ...kv.get<object>(ENV), ...variables });
  }

  async exec(command: string, options: ExecOptions = {}): Promise<ExecResult> {
    const startedAt = Date.now();
    const { container, state } = await this.#target();
    const shell = state.tools.includes('bash') ? ['bash', '-c', command] : ['/bin/sh', '-c', command];
    if (options.timeout !== undefined) requireTool(state, 'timeout');
    requireTool(state, 'mktemp');
    const ran = await this.#within(state, () =>
      run(container, shell, {
        cwd: options.cwd ?? this.#dir,
        env: this.#variables(options.env),
        timeout: options.timeout,
      }),
    );
    // `timeout` kills a command that ignores its first signal.
    const late = options.timeout !== undefined && Date.now() - startedAt >= options.timeout;
    const exitCode = ran.exitCode === KILLED && late ? TIMED_OUT : ran.exitCode;
    const timestamp = new Date(startedAt).toISOString();
    const duration = Date.now() - startedAt;
    return { ...ran, exitCode, success: exitCode === 0, command, duration, timestamp };
  }

  createBackup(options: BackupOptions): Promise<BackupHandle> {
    return this.#alone(async () => {
      checkDirectory(options.dir);
      const backups = this.#backups();
      await backups.recover();
      const target = await this.#target(options);
      return this.#within(target.state, () => capture(target, backups, options)).catch(async (thrown) => {
        await backups.recover().catch(() => {}); // The next capture tries again.
        throw thrown;
      });
    });
  }

  restoreBackup(handle: BackupHandle & Expected): Promise<{ success: true; dir: string; id: string }> {
    return this.#alone(async () => {
      checkDirectory(handle.dir);
      const backups = this.#backups();
      const metadata = await backups.getMetadata(handle.id);
      checkExpiration(metadata);
      const target = await this.#target(handle);
      await this.#within(target.state, () => restore(target, backups, handle, metadata));
      return { success: true, dir: handle.dir, id: handle.id };
    });
  }

  /** Runs a program with input and without a shell. Fails where the program does. */
  async runFile(argv: string[], path: string, stdin?: ReadableStream): Promise<ArrayBuffer> {
    const { container, state } = await this.#target();
    return this.#within(state, async () => {
      const process = await open(container, [...argv, this.#absolute(path)], {
        cwd: this.#dir,
        ...(stdin && { stdin }),
      });
      const { exitCode, stdout, stderr } = await process.output();
      if (exitCode === 0) return stdout;
      const reason = new TextDecoder().decode(stderr).trim();
      const code = /No such file/.test(reason) ? 'FILE_NOT_FOUND' : 'FILESYSTEM_ERROR';
      throw new SandboxError(code, `${path}: ${reason}`);
    });
  }

  /** Calls the application where its alarm is due. Renews or ends a container whose timeout is beyond that of the platform. */
  alarm(application: () => Promise<void>): Promise<void> {
    return this.#alarm.run(application, async () => {
      const { id } = await this.#identity.current();
      if (id === undefined) return this.#alarm.set();
      if (this.inactivity.isOver()) await this.destroy();
      await this.inactivity.apply();
    });
  }

  /** Returns the running container, and starts it where none runs and none is expected. */
  async #target(expected: Expected = {}): Promise<Target> {
    this.inactivity.touch();
    const before = this.#identity.stored.id;
    const isExpected = (expected.expectedContainer ?? expected.expectedLastChange) !== undefined;
    const state = await (isExpected ? this.#identity.expect(expected) : this.#identity.ensure());
    if (state.id !== before) await this.inactivity.apply();
    return { container: this.#ctx.container as Container, state };
  }

  /** Reports a failure of work in a container that ended in the meantime as an interruption. */
  async #within<T>(state: ContainerRun, work: () => Promise<T>): Promise<T> {
    const interrupted = () => new SandboxError('OPERATION_INTERRUPTED', 'The container ended.');
    const hasEnded = async () => (await this.#identity.current()).id !== state.id;
    let result;
    try {
      result = await work();
    } catch (thrown) {
      throw (await hasEnded()) ? interrupted() : thrown;
    }
    const killed = (result as Partial<Ran>)?.exitCode === KILLED;
    if (killed && (await hasEnded())) throw interrupted();
    return result;
  }

  /** Runs captures and restores one after the other. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => {});
    return result;
  }

  #backups(): Backups {
    const binding = this.#options.bucket ?? 'BACKUP_BUCKET';
    const bucket = this.#env[binding] as R2Bucket | undefined;
    if (bucket) return new Backups(bucket, this.#ctx.storage);
    const message = `The R2 binding ${binding} is missing. Add it to [[r2_buckets]].`;
    throw new SandboxError('INVALID_BACKUP_CONFIG', message);
  }

  #variables(own: ExecOptions['env'] = {}): Record<string, string> {
    const set = this.#ctx.storage.kv.get<Record<string, string | null>>(ENV) ?? {};
    const all = { ...BASE_ENV, ...this.#options.env?.(this.#env), ...set, ...own };
    return Object.fromEntries(
      Object.entries(all).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
    );
  }

  #absolute(path: string): string {
    return path.startsWith('/') ? path : `${this.#dir}/${path}`;
  }
}
