/** The sandbox of a Durable Object: its container, commands, files and backups. */
import type { SharedAlarm } from './alarm.ts';
import { capture, checkDirectory, restore } from './archives.ts';
import type { BackupHandle, BackupOptions, Expected, Target } from './archives.ts';
import { Backups } from './bucket.ts';
import { SandboxError } from './errors.ts';
import { streamCommand, type StreamOptions } from './exec-stream.ts';
import { Files } from './basic-files.ts';
import { CHOSEN_IMAGE, ContainerIdentity, requireTool } from './identity.ts';
import type { ContainerRun } from './identity.ts';
import { Inactivity, toMillis, type Duration } from './inactivity.ts';
import type { Settings, SnapshotMethods } from './methods.ts';
import { KILLED, run, sh, TIMED_OUT } from './process.ts';
import type { ExecOptions, ProgramOptions, Ran } from './process.ts';

/** How a class runs its containers. */
export interface Options<Env = any> {
  /** The name of the R2 binding of the backups. Default: `BACKUP_BUCKET`. */
  bucket?: string;
  /** The option `prefix` of the backups of the class `DirectoryBackup` that sandboxes restore. Default: none. */
  directoryBackupPrefix?: string;
  /** The directory in which commands start. It is created in each container. Default: `/workspace`. */
  dir?: string;
  /** The time without calls after which the container ends: seconds, or a number with a unit. Default: `10m`. */
  sleepAfter?: Duration;
  /** Returns the variables of all commands. */
  env?: (env: Env) => Record<string, string>;
  /** Returns the options of each start: image, entrypoint, instance, labels, access to the Internet. */
  start?: (env: Env) => ContainerStartupOptions;
}

/** The result of a command. */
export interface ExecResult extends Ran {
  /** The image of its container. Undefined where the class did not select one, or started a snapshot of the platform. */
  image?: string | undefined;
  /** The version of the class. */
  classVersion: string;
  success: boolean;
  command: string;
  /** In milliseconds. */
  duration: number;
  timestamp: string;
}

/** The version of the class: that of the package. */
export const CLASS_VERSION = '0.1.0';

/** The state of a sandbox. */
export interface State {
  status: 'healthy' | 'running' | 'stopped';
  /** In milliseconds since 1970. */
  lastChange: number;
  /** The id of the container that runs. */
  containerId?: string | undefined;
  /** The image of the next container. Absent where the platform selects it: it has no snapshots of the container then. */
  image?: string | undefined;
  /** The images of the class, by the names that `configure` takes. */
  images?: Record<string, string> | undefined;
}

/** How a container starts. */
export interface StartOptions {
  /** The snapshot of the platform with the files of the container. Default: the image. */
  containerSnapshot?: ContainerSnapshotRestoreParams | undefined;
}

/** The options of `snapshotContainer`. */
export interface SnapshotOptions extends Expected {
  /** The name of the snapshot. */
  name?: string;
}

const ENV = 'sandbox-snapshotter:env';

/** Runs the command `$1` with bash, or with sh where the image has none. */
const SHELL = 'exec "$(command -v bash || echo /bin/sh)" -c "$1"';

const BASE_ENV = { HOME: '/root', LANG: 'C.UTF-8' };

/** The sandbox of an object. Its methods are those of the class, except for the sessions and the alarm. */
export class ContainerSandbox
  extends Files
  implements Omit<SnapshotMethods, 'getSession' | 'createSession' | 'alarm'>
{
  /** Renews or ends a container whose timeout is beyond that of the platform. */
  readonly onAlarm: () => Promise<void>;
  readonly #inactivity: Inactivity;
  readonly #ctx: DurableObjectState;
  readonly #env: Record<string, unknown>;
  readonly #options: Options;
  readonly #identity: ContainerIdentity;
  readonly #dir: string;
  #queue: Promise<unknown>;

  constructor(ctx: DurableObjectState, env: unknown, options: Options, alarm: SharedAlarm) {
    super();
    this.#ctx = ctx;
    this.#env = env as Record<string, unknown>;
    this.#options = options;
    this.#dir = options.dir ?? '/workspace';
    const start = () => {
      const own = options.start?.(env);
      return { enableInternet: true, ...own, env: { ...this.#variables(), ...own?.env } };
    };
    this.#identity = new ContainerIdentity(ctx, start as () => ContainerStartupOptions, this.#dir);
    this.#inactivity = new Inactivity(ctx, alarm, options.sleepAfter ?? '10m');
    this.onAlarm = async () => {
      const { id, changedAt } = await this.#identity.current();
      if (id === undefined) return alarm.set();
      if (this.#inactivity.isOver(changedAt)) await this.destroy();
      await this.#inactivity.apply();
    };
    ctx.waitUntil(this.#inactivity.apply().catch(() => {}));
    this.#queue = (async () => this.#backups().recover())().catch(() => {}); // The next capture tries again.
    ctx.waitUntil(this.#queue);
  }

  async getState(): Promise<State> {
    const { id, ready, changedAt } = await this.#identity.current();
    const status = id === undefined ? 'stopped' : ready ? 'healthy' : 'running';
    const { image } = this.#identity;
    return { status, lastChange: changedAt, containerId: id, image, images: this.#ctx.container?.images };
  }

  async getContainerPlacementId(): Promise<string | null> {
    return (await this.getState()).containerId ?? null;
  }

  async startContainer(options: StartOptions = {}): Promise<string> {
    return this.#inContainer(options, async ({ state }) => state.id as string);
  }

  async snapshotContainer({ name, ...expected }: SnapshotOptions = {}): Promise<ContainerSnapshot> {
    const { id } = await this.#identity.expect(expected);
    const run = { expectedContainer: id as string };
    return this.#inContainer(run, async ({ container }) => {
      const taken = await container.snapshotContainer(name ? { name } : {}); // Cloudflare requires an argument.
      await this.#identity.expect(run); // Another may run by now.
      return taken;
    });
  }

  async stop(signal = 15): Promise<void> {
    if (this.#ctx.container?.running) this.#ctx.container.signal(signal);
  }

  async destroy(): Promise<void> {
    await this.#identity.end();
  }

  async configure({ sleepAfter, keepAlive, image }: Settings): Promise<void> {
    if (image !== undefined) this.#ctx.storage.kv.put(CHOSEN_IMAGE, image);
    if (sleepAfter !== undefined) await this.setSleepAfter(sleepAfter);
    if (keepAlive !== undefined) await this.setKeepAlive(keepAlive);
  }

  async setSleepAfter(sleepAfter: Duration): Promise<void> {
    await this.#inactivity.set(toMillis(sleepAfter));
  }

  async setKeepAlive(keepAlive: boolean): Promise<void> {
    if (keepAlive) await this.#inactivity.set(null);
    else if (this.#inactivity.timeoutMs === Infinity) await this.#inactivity.set();
  }

  async renewActivityTimeout(): Promise<void> {
    this.#inactivity.touch();
    await this.#inactivity.apply();
  }

  async setEnvVars(variables: Record<string, string | null | undefined>): Promise<void> {
    const { kv } = this.#ctx.storage;
    kv.put(ENV, { ...kv.get<object>(ENV), ...variables });
  }

  execWithSessionToken(command: string, _token: string, options?: ExecOptions): Promise<ExecResult> {
    return this.exec(command, options);
  }

  execStream(command: string, options: StreamOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const { cwd = this.#dir, timeout, expectedLastChange } = options;
    return this.#inContainer({ expectedLastChange }, async ({ container, state }) => {
      if (timeout !== undefined) requireTool(state, 'timeout');
      const env = this.#variables(options.env);
      return streamCommand(container, command, SHELL, { cwd, env, timeout }, () => this.#inactivity.touch());
    });
  }

  execStreamWithSessionToken(command: string, _token: string, options?: StreamOptions) {
    return this.execStream(command, options);
  }

  async execProgram(argv: string[], options?: ProgramOptions): Promise<Ran> {
    const { image, ...ran } = await this.#execute(argv, options);
    return ran;
  }

  async #execute(argv: string[], options: ProgramOptions = {}): Promise<Ran & Pick<ContainerRun, 'image'>> {
    const { cwd = this.#dir, timeout, stdin, expectedLastChange } = options;
    const startedAt = Date.now();
    const ran = await this.#inContainer({ expectedLastChange }, async ({ container, state }) => {
      if (timeout !== undefined) requireTool(state, 'timeout');
      const env = this.#variables(options.env);
      return { image: state.image, ...(await run(container, argv, { cwd, env, timeout, stdin })) };
    });
    // `timeout` kills a command that ignores its first signal.
    const late = timeout !== undefined && Date.now() - startedAt >= timeout;
    return { ...ran, exitCode: ran.exitCode === KILLED && late ? TIMED_OUT : ran.exitCode };
  }

  async exec(command: string, options?: ExecOptions): Promise<ExecResult> {
    const startedAt = Date.now();
    const ran = await this.#execute(sh(SHELL, command), options);
    const timestamp = new Date(startedAt).toISOString();
    const [success, duration] = [ran.exitCode === 0, Date.now() - startedAt];
    return { ...ran, classVersion: CLASS_VERSION, success, command, duration, timestamp };
  }

  createBackup(options: BackupOptions): Promise<BackupHandle> {
    return this.#alone(options.dir, async (backups) => {
      await backups.recover();
      const work = (target: Target) => capture(target, backups, options);
      return this.#inContainer(options, work).catch(async (thrown) => {
        await backups.recover().catch(() => {}); // The next capture tries again.
        throw thrown;
      });
    });
  }

  restoreBackup(handle: BackupHandle & Expected): Promise<{ success: true; dir: string; id: string }> {
    return this.#alone(handle.dir, async (backups) => {
      const archive = await backups.find(handle);
      await this.#inContainer(handle, (target) => restore(target, backups, archive, handle));
      return { success: true, dir: handle.dir, id: handle.id };
    });
  }

  /**
   * Runs work in the container, which is started where none runs and none is expected. A failure of work whose container ended
   * in the meantime is an interruption.
   */
  async #inContainer<T>(expected: Expected & StartOptions, work: (target: Target) => Promise<T>): Promise<T> {
    this.#inactivity.touch();
    const before = this.#identity.stored.id;
    const isExpected = (expected.expectedContainer ?? expected.expectedLastChange) !== undefined;
    const state = await (isExpected
      ? this.#identity.expect(expected)
      : this.#identity.ensure(expected.containerSnapshot));
    if (state.id !== before) await this.#inactivity.apply();
    const check = async () => {
      if ((await this.#identity.answers()) && (await this.#identity.current()).id === state.id) return;
      throw new SandboxError('OPERATION_INTERRUPTED', 'The container ended.');
    };
    const target = { container: this.#ctx.container as Container, state };
    const result = await (async () => work(target))().catch(async (thrown) => {
      if (thrown.code === 'OPERATION_INTERRUPTED') this.#identity.refresh();
      await check();
      throw thrown;
    });
    if ((result as Partial<Ran>)?.exitCode === KILLED) await check();
    return result;
  }

  /** Runs captures and restores one after the other. */
  #alone<T>(dir: string, work: (backups: Backups) => Promise<T>): Promise<T> {
    const result = this.#queue.then(() => {
      checkDirectory(dir);
      return work(this.#backups());
    });
    this.#queue = result.catch(() => {});
    return result;
  }

  #backups(): Backups {
    const binding = this.#options.bucket ?? 'BACKUP_BUCKET';
    const bucket = this.#env[binding] as R2Bucket | undefined;
    if (bucket) return new Backups(bucket, this.#ctx.storage, this.#options.directoryBackupPrefix);
    const message = `The class has no R2 binding ${binding}. Add it to [[r2_buckets]].`;
    throw new SandboxError('INVALID_BACKUP_CONFIG', message);
  }

  #variables(own: ExecOptions['env'] = {}): Record<string, string> {
    const set = this.#ctx.storage.kv.get<Record<string, string | null>>(ENV) ?? {};
    const all = { ...BASE_ENV, ...this.#options.env?.(this.#env), ...set, ...own };
    return Object.fromEntries(
      Object.entries(all).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
    );
  }
}
