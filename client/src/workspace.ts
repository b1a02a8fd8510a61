// A handle of a named workspace: the operations on it, without its name in each call.

import { requireOptions } from './argument-checks.ts';
import { refuseName, toCommand } from './arguments.ts';
import type { SnapshotterClient } from './client.ts';
import type { ExecStream, ExecStreamOptions } from './exec-stream.ts';
import type { Answer, CallOptions, Control, OperationName } from './operations.ts';
import { requireSnapshot, selectSnapshot } from './snapshot-text.ts';
import type {
  FileSource,
  Selection,
  StartedWorkspace,
  StoppedWorkspace,
  Summary,
  Workspace,
} from './types.ts';
import type { Address } from './workspace-address.ts';
import { WorkspaceCheckpoints } from './workspace-checkpoints.ts';
import { WorkspaceCommands } from './workspace-commands.ts';
import { WorkspaceFiles } from './workspace-files.ts';
import type { ForksWithHandles, WithHandle } from './workspace-answers.ts';

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

/** The options of a comparison of a snapshot of a workspace. */
export type WorkspaceDiffOptions = Omit<Own<'diff'>, 'from' | 'to'>;

/** The options of a call about one snapshot, without those that select it. */
type OfSnapshot<O extends OperationName> = Omit<Own<O>, 'ref' | 'snapshotId' | 'label'>;

/** The options of a promotion. `from` is a workspace, or a text: the name of one, or the id, the short ref or the label of a snapshot. */
export type PromoteOptions = Omit<Own<'workspaces/promote'>, 'from'> & {
  from: CallOptions<'workspaces/promote'>['from'] | { name: string };
};

/** The options of a rollback. */
export type RollbackOptions = Pick<CallOptions<'workspaces/update'>, 'acceptStale' | keyof Control>;

/**
 * A handle of a named workspace. It has no connection and needs no end: each method is one call by the name of the workspace. A
 * snapshot is a text: its id, its short ref or its label; the label `latest` also selects the newest one.
 */
export class WorkspaceHandle {
  readonly #client: SnapshotterClient;
  readonly #address: Address;
  #files: WorkspaceFiles | undefined;
  #commands: WorkspaceCommands | undefined;
  #checkpoints: WorkspaceCheckpoints | undefined;

  /** Creates the handle of a workspace, which need not exist. */
  constructor(client: SnapshotterClient, address: Address) {
    const { name, tenant } = address;
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

  /** The checkpoints in the sandbox of the workspace, which must be running. */
  get checkpoints(): WorkspaceCheckpoints {
    return (this.#checkpoints ??= new WorkspaceCheckpoints(this.#client, this.#address));
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

  /**
   * As `exec`. Returns the output while the command runs.
   *
   * @example
   * for await (const event of await workspace.execStream('npm test'))
   *   if (event.type !== 'exit') process[event.type].write(event.data);
   */
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
    requireOptions('snapshot()', options, (text) => `{ label: ${text} }`);
    const { stop, ...sent } = options;
    const taken = await this.#client.snapshot({ ...sent, ...this.#address });
    if (stop) await this.stop();
    return taken;
  }

  /** Returns the description of the workspace. Does not start it. */
  describe(): Promise<WithHandle<Workspace>> {
    return this.#client.workspaces.getByName(this.#address);
  }

  /** Starts the workspace: a sandbox runs with its files in place. */
  async start(options: Own<'workspaces/start'> = {}): Promise<WithHandle<StartedWorkspace>> {
    requireOptions('start()', options, (text) => `{ from: ${text} }`);
    return this.#client.workspaces.start({ ...options, ...this.#address });
  }

  /**
   * Takes a snapshot if the workspace is persistent, and destroys its sandbox.
   *
   * @example
   * await workspace.stop({ snapshot: { label: 'before the weekend' } });
   */
  stop(options: Own<'workspaces/stop'> = {}): Promise<WithHandle<StoppedWorkspace>> {
    requireOptions('stop()', options, (text) => `{ snapshot: { label: ${text} } }`);
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
  async fork(options: Own<'workspaces/fork'> = {}): Promise<ForksWithHandles> {
    requireOptions('fork()', options, (text) => `{ newName: ${text} }`);
    refuseName('fork', options, 'newName');
    return this.#client.workspaces.fork({ ...options, ...this.#address });
  }

  /**
   * Changes the settings of the workspace, or restores an earlier snapshot in a new sandbox.
   *
   * @example
   * await workspace.update({ expiry: { idleSeconds: 3600 }, autosave: { everySeconds: 300 } });
   */
  update(options: Own<'workspaces/update'>): Promise<WithHandle<Workspace>> {
    requireOptions('update()', options, (text) => `{ currentSnapshotId: ${text} }`);
    return this.#client.workspaces.update({ ...options, ...this.#address });
  }

  /**
   * Continues the workspace from one of its earlier snapshots, by its id, its short ref or its label, in a new sandbox; `latest`
   * is the newest one of the present files. The present sandbox is stopped with a snapshot of its own.
   *
   * @example
   * const { snapshotId } = await workspace.snapshot();
   * const { exitCode } = await workspace.exec('./risky.sh');
   * if (exitCode !== 0) await workspace.rollback(snapshotId);
   */
  async rollback(snapshot: string, options: RollbackOptions = {}): Promise<WithHandle<Workspace>> {
    requireSnapshot('rollback', snapshot);
    return this.update({ ...options, currentSnapshotId: snapshot });
  }

  /**
   * Continues the workspace with the files of another workspace or snapshot of its lineage, in a new sandbox. A text that is the
   * name of no workspace may be the label of a snapshot of this one.
   *
   * @example
   * const { forks } = await workspace.fork({ count: 3 });
   * const best = forks[1]?.value;
   * if (best) await workspace.promote({ from: best });
   */
  async promote(options: PromoteOptions): Promise<WithHandle<Workspace>> {
    requireOptions('promote()', options, (text) => `{ from: ${text} }`);
    const { from } = options;
    return this.#client.workspaces.promote({
      ...options,
      from: typeof from === 'object' && from !== null ? from.name : from,
      ...this.#address,
    } as CallOptions<'workspaces/promote'>);
  }

  /** Moves the stopped workspace to another runtime. A running one is stopped with a snapshot before. */
  migrate(
    options: Own<'workspaces/migrate'> & Pick<CallOptions<'workspaces/migrate'>, 'runtime'>,
  ): Promise<WithHandle<StoppedWorkspace>> {
    return this.#client.workspaces.migrate({ ...options, ...this.#address });
  }

  /**
   * Iterates over the snapshots of the present and the former sandboxes of the workspace, newest first.
   *
   * @example
   * for await (const { label, createdAt } of workspace.snapshots()) console.log(label, createdAt);
   */
  snapshots(options: Own<'list'> = {}): AsyncGenerator<Summary, void, undefined> {
    return this.#client.snapshots({ ...options, ...this.#address });
  }

  /** Returns the description of a snapshot of the workspace. */
  async getSnapshot(snapshot: string): Promise<Answer<'get'>> {
    return this.#client.get(this.#select('getSnapshot', snapshot));
  }

  /**
   * Gives a snapshot of the workspace another label.
   *
   * @example
   * await workspace.labelSnapshot('latest', 'tests pass');
   */
  async labelSnapshot(
    snapshot: string,
    newLabel: string,
    options: Omit<OfSnapshot<'label'>, 'newLabel'> = {},
  ): Promise<Answer<'label'>> {
    return this.#client.label({ ...options, ...this.#select('labelSnapshot', snapshot), newLabel });
  }

  /** Pins a snapshot of the workspace: it is neither deleted nor does it expire. */
  async pinSnapshot(snapshot: string): Promise<Answer<'pin'>> {
    return this.#client.pin(this.#select('pinSnapshot', snapshot));
  }

  /** Unpins a snapshot of the workspace. */
  async unpinSnapshot(snapshot: string): Promise<Answer<'unpin'>> {
    return this.#client.unpin(this.#select('unpinSnapshot', snapshot));
  }

  /** Verifies that the bucket has the data of a snapshot of the workspace. */
  async verifySnapshot(snapshot: string): Promise<Answer<'verify'>> {
    return this.#client.verify(this.#select('verifySnapshot', snapshot));
  }

  /** Deletes a snapshot of the workspace. `latest` only selects one with this label. */
  async deleteSnapshot(snapshot: string, options: OfSnapshot<'delete'> = {}): Promise<Answer<'delete'>> {
    return this.#client.delete({ ...options, ...this.#select('deleteSnapshot', snapshot) });
  }

  /**
   * Returns a page of the differences between two snapshots of the workspace, each by its id, its short ref or its label. Without
   * `to`, the differences lead to the present files: the workspace must be running, and is not started.
   *
   * @example
   * const { changes } = await workspace.diff('before the upgrade', 'tests pass');
   * const { changes: sinceThen } = await workspace.diff('latest');
   */
  async diff(from: string, to?: string, options: WorkspaceDiffOptions = {}): Promise<Answer<'diff'>> {
    requireOptions('diff()', options, (text) => `{ limit: ${text} }`);
    const second = to === undefined ? (this.#address as FileSource) : this.#select('diff', to);
    return this.#client.diff({ ...options, from: this.#select('diff', from), to: second });
  }

  /** Returns the tree of sandboxes and snapshots that the workspace belongs to. */
  lineage(options: Own<'lineage'> = {}): Promise<Answer<'lineage'>> {
    return this.#client.lineage({ ...options, ...this.#address });
  }

  /** Returns what the workspace uses, and its cost by Cloudflare's price list. */
  usage(options: Own<'usage'> = {}): Promise<Answer<'usage'>> {
    return this.#client.usage({ ...options, ...this.#address });
  }

  /** Deletes the workspace and its snapshots, and frees its name. */
  delete(options: Own<'workspaces/delete'> = {}): Promise<Answer<'workspaces/delete'>> {
    return this.#client.workspaces.delete({ ...options, ...this.#address });
  }

  #select(method: string, snapshot: string): Selection {
    return selectSnapshot(method, this.#address, snapshot);
  }
}
