// A handle of a named workspace: the operations on it, without its name in each call.

import { requireOptions, toCommand } from './arguments.ts';
import type { SnapshotterClient } from './client.ts';
import type { ExecStream, ExecStreamOptions } from './exec-stream.ts';
import type { Answer, CallOptions, Control, OperationName } from './operations.ts';
import { mergeSorted } from './pages.ts';
import type { Fork, StartedWorkspace, Summary } from './types.ts';
import type { Address } from './workspace-address.ts';
import { WorkspaceCommands } from './workspace-commands.ts';
import { WorkspaceFiles } from './workspace-files.ts';

/** The options of a call, without those that select the workspace. */
type Own<O extends OperationName> = Omit<CallOptions<O>, 'name' | 'tenant' | 'sandboxId' | 'runtime'>;

/** A command line, or a program with its arguments, which runs without a shell. */
export type CommandLine = string | readonly string[];

/** The options of a command, without the command. */
export type WorkspaceExecOptions = Omit<Own<'exec'>, 'command' | 'argv'>;

/** As {@link WorkspaceExecOptions}, for a command whose output is read while it runs. */
export type WorkspaceExecStreamOptions = Omit<
  ExecStreamOptions,
  'name' | 'tenant' | 'sandboxId' | 'runtime' | 'command' | 'argv'
>;

/** A command in an object with its options. */
type InOptions = { command: string } | { argv: string[] };

/** The options of a snapshot of a workspace. */
export type WorkspaceSnapshotOptions = Own<'snapshot'> & {
  /** Whether to stop the workspace afterwards. The stop takes a further snapshot if the workspace is persistent. */
  stop?: boolean;
};

/** The options of a comparison with the present files. */
export type DiffPageOptions = Pick<CallOptions<'diff'>, 'cursor' | 'limit' | keyof Control>;

/** The options of a rollback. */
export type RollbackOptions = Pick<CallOptions<'workspaces/update'>, 'acceptStale' | keyof Control>;

/**
 * A handle of a named workspace. It has no connection and needs no end: each method is one call by the name of the workspace,
 * except for {@link snapshot}, {@link snapshots} and {@link lineage}, which first ask for its sandboxes.
 */
export class WorkspaceHandle {
  readonly #client: SnapshotterClient;
  readonly #address: Address;
  #files: WorkspaceFiles | undefined;
  #commands: WorkspaceCommands | undefined;

  /** Creates the handle of a workspace, which need not exist. */
  constructor(client: SnapshotterClient, { name, tenant }: Address) {
    this.#client = client;
    this.#address = { name, ...(tenant && { tenant }) };
  }

  /** The files of the workspace, which is started if it is not running. */
  get files(): WorkspaceFiles {
    return (this.#files ??= new WorkspaceFiles(this.#client, this.#address));
  }

  /** The background commands of the workspace. */
  get commands(): WorkspaceCommands {
    return (this.#commands ??= new WorkspaceCommands(this.#client, this.#address));
  }

  /**
   * Runs a command in the workspace, which is started if it is not running.
   *
   * @example
   * const { exitCode, stdout } = await workspace.exec('npm test', { timeoutSeconds: 300 });
   * await workspace.exec(['git', 'commit', '-m', message]);
   */
  exec(command: CommandLine, options?: WorkspaceExecOptions): Promise<Answer<'exec'>>;
  exec(options: WorkspaceExecOptions & InOptions): Promise<Answer<'exec'>>;
  exec(command: CommandLine | object, options?: object): Promise<Answer<'exec'>> {
    return this.#client.exec({ ...toCommand(command, options), ...this.#address } as CallOptions<'exec'>);
  }

  /** As `exec`. Returns the output while the command runs. */
  execStream(command: CommandLine, options?: WorkspaceExecStreamOptions): Promise<ExecStream>;
  execStream(options: WorkspaceExecStreamOptions & InOptions): Promise<ExecStream>;
  execStream(command: CommandLine | object, options?: object): Promise<ExecStream> {
    return this.#client.execStream({ ...toCommand(command, options), ...this.#address } as ExecStreamOptions);
  }

  /**
   * Captures the files of the running workspace.
   *
   * @example
   * const { snapshotId } = await workspace.snapshot({ label: 'before the upgrade' });
   */
  async snapshot(options: WorkspaceSnapshotOptions = {}): Promise<Answer<'snapshot'>> {
    requireOptions('snapshot', options, (text) => `{ label: ${text} }`);
    const { stop, ...sent } = options;
    const { sandboxId, dir } = await this.describe();
    const taken = await this.#client.snapshot({ sandboxId, dir, ...sent });
    if (stop) await this.stop();
    return taken;
  }

  /** Returns the description of the workspace. Does not start it. */
  describe(): Promise<Answer<'workspaces/getByName'>> {
    return this.#client.workspaces.getByName(this.#address);
  }

  /** Starts the workspace: a sandbox runs with its files in place. */
  start(options: Own<'workspaces/start'> = {}): Promise<Answer<'workspaces/start'>> {
    requireOptions('start', options, (text) => `{ from: ${text} }`);
    return this.#client.workspaces.start({ ...options, ...this.#address });
  }

  /** Takes a snapshot if the workspace is persistent, and destroys its sandbox. */
  stop(options: Own<'workspaces/stop'> = {}): Promise<Answer<'workspaces/stop'>> {
    requireOptions('stop', options, (text) => `{ snapshot: { label: ${text} } }`);
    return this.#client.workspaces.stop({ ...options, ...this.#address });
  }

  /** Tells the Worker that an agent's turn has ended. It saves the files soon, if they changed and the settings say so. */
  turnEnded(options: Own<'workspaces/turnEnded'> = {}): Promise<Answer<'workspaces/turnEnded'>> {
    return this.#client.workspaces.turnEnded({ ...options, ...this.#address });
  }

  /**
   * Creates workspaces from the present files of this one, or from one of its snapshots, all from one snapshot. Each is also a
   * handle.
   *
   * @example
   * const { forks } = await workspace.fork({ count: 3 });
   * for (const { value } of forks) await value?.exec('npm run improve'); // no `value`: the fork failed
   */
  fork(options: Own<'workspaces/fork'> & { name?: string } = {}): Promise<ForksWithHandles> {
    requireOptions('fork', options, (text) => `{ name: ${text} }`);
    const { name, ...sent } = options;
    const newName = name === undefined ? {} : { newName: name };
    return this.#client.workspaces.fork({ ...sent, ...newName, ...this.#address });
  }

  /** Changes the settings of the workspace, or restores an earlier snapshot in a new sandbox. */
  update(options: Own<'workspaces/update'>): Promise<Answer<'workspaces/update'>> {
    requireOptions('update', options, (text) => `{ currentSnapshotId: ${text} }`);
    return this.#client.workspaces.update({ ...options, ...this.#address });
  }

  /**
   * Continues the workspace from one of its earlier snapshots, by its id or its short ref, in a new sandbox. The present
   * sandbox is stopped with a snapshot of its own.
   *
   * @example
   * const { snapshotId } = await workspace.snapshot();
   * const { exitCode } = await workspace.exec('./risky.sh');
   * if (exitCode !== 0) await workspace.rollback(snapshotId);
   */
  rollback(snapshot: string, options: RollbackOptions = {}): Promise<Answer<'workspaces/update'>> {
    return this.update({ ...options, currentSnapshotId: snapshot });
  }

  /** Continues the workspace with the files of another workspace or snapshot of its lineage, in a new sandbox. */
  promote(options: Own<'workspaces/promote'>): Promise<Answer<'workspaces/promote'>> {
    requireOptions('promote', options, (text) => `{ from: ${text} }`);
    return this.#client.workspaces.promote({
      ...options,
      ...this.#address,
    } as CallOptions<'workspaces/promote'>);
  }

  /** Moves the stopped workspace to another runtime. A running one is stopped with a snapshot before. */
  migrate(
    options: Own<'workspaces/migrate'> & Pick<CallOptions<'workspaces/migrate'>, 'runtime'>,
  ): Promise<Answer<'workspaces/migrate'>> {
    return this.#client.workspaces.migrate({ ...options, ...this.#address });
  }

  /**
   * Compares a snapshot of the workspace, by its id or its short ref, with the present files. Starts nothing: the workspace must
   * be running.
   *
   * @example
   * const { changes } = await workspace.diff(snapshotId);
   */
  diff(snapshot: string, options: DiffPageOptions = {}): Promise<Answer<'diff'>> {
    const from = { ...this.#address, snapshotId: snapshot };
    // The Worker resolves the name to the sandbox of the snapshot.
    return this.#client.diff({ ...options, from, to: this.#address } as unknown as CallOptions<'diff'>);
  }

  /** Iterates over the snapshots of the present and the former sandboxes of the workspace, newest first. */
  async *snapshots(options: Own<'list'> = {}): AsyncGenerator<Summary, void, undefined> {
    const { sandboxId, formerSandboxIds } = await this.describe();
    const lists = [sandboxId, ...formerSandboxIds].map((id) =>
      this.#client.snapshots({ ...options, sandboxId: id }),
    );
    yield* mergeSorted(lists, isNewer);
  }

  /** Returns the tree of sandboxes and snapshots that the workspace belongs to. */
  async lineage(options: Own<'lineage'> = {}): Promise<Answer<'lineage'>> {
    return this.#client.lineage({ ...options, sandboxId: (await this.describe()).sandboxId });
  }

  /** Returns what the workspace uses, and its cost by Cloudflare's price list. */
  usage(options: Own<'usage'> = {}): Promise<Answer<'usage'>> {
    return this.#client.usage({ ...options, ...this.#address });
  }

  /** Deletes the workspace and its snapshots, and frees its name. */
  delete(options: Own<'workspaces/delete'> = {}): Promise<Answer<'workspaces/delete'>> {
    return this.#client.workspaces.delete({ ...options, ...this.#address });
  }
}

function isNewer(one: Summary, other: Summary): boolean {
  if (one.createdAt !== other.createdAt) return one.createdAt > other.createdAt;
  return one.snapshotId > other.snapshotId;
}

/** An answer about a workspace, which is also its handle. */
export type WithHandle<A> = A & WorkspaceHandle;

/** The answer of a fork. The workspaces in it are also handles. */
export type ForksWithHandles = Omit<Answer<'workspaces/fork'>, 'forks'> & {
  forks: (Omit<Fork, 'value'> & { value?: WithHandle<StartedWorkspace> })[];
};

/** Returns an answer about a workspace with the methods of its handle. Only the members of the answer are its own. */
export function withHandle<A extends Address>(client: SnapshotterClient, answer: A): WithHandle<A> {
  // A Worker of another version could answer otherwise.
  if (typeof answer !== 'object') return answer as never;
  return Object.assign(new WorkspaceHandle(client, answer), answer);
}
