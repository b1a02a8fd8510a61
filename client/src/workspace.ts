// A handle of a named workspace: the operations on it, without its name in each call.

import type { SnapshotterClient } from './client.ts';
import type { ExecStream, ExecStreamOptions } from './exec-stream.ts';
import type { Answer, CallOptions, OperationName } from './operations.ts';
import type { Fork, StartedWorkspace } from './types.ts';
import type { Address } from './workspace-address.ts';
import { WorkspaceCommands } from './workspace-commands.ts';
import { WorkspaceFiles } from './workspace-files.ts';

/** The options of a call, without those that select the workspace. */
type Own<O extends OperationName> = Omit<CallOptions<O>, 'name' | 'tenant' | 'sandboxId' | 'runtime'>;

/** A command line, or the options of a command. */
type Command = string | (Own<'exec'> & ({ command: string } | { argv: string[] }));

/** The options of a snapshot of a workspace. */
export type WorkspaceSnapshotOptions = Own<'snapshot'> & {
  /** Whether to stop the workspace afterwards. The stop takes a further snapshot if the workspace is persistent. */
  stop?: boolean;
};

/**
 * A handle of a named workspace. It has no connection and needs no end: each method is one call by the name of the workspace,
 * except for {@link snapshot}, which first asks for its present sandbox.
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

  /** Runs a command in the workspace, which is started if it is not running. */
  exec(command: Command): Promise<Answer<'exec'>> {
    return this.#client.exec({ ...toOptions(command), ...this.#address } as CallOptions<'exec'>);
  }

  /** As `exec`. Returns the output while the command runs. */
  execStream(
    command: string | Omit<ExecStreamOptions, 'name' | 'tenant' | 'sandboxId'>,
  ): Promise<ExecStream> {
    return this.#client.execStream({ ...toOptions(command), ...this.#address } as ExecStreamOptions);
  }

  /** Captures the files of the running workspace. */
  async snapshot({ stop, ...options }: WorkspaceSnapshotOptions = {}): Promise<Answer<'snapshot'>> {
    const { sandboxId, dir } = await this.describe();
    const taken = await this.#client.snapshot({ sandboxId, dir, ...options });
    if (stop) await this.stop();
    return taken;
  }

  /** Returns the description of the workspace. Does not start it. */
  describe(): Promise<Answer<'workspaces/getByName'>> {
    return this.#client.workspaces.getByName(this.#address);
  }

  /** Starts the workspace: a sandbox runs with its files in place. */
  start(options: Own<'workspaces/start'> = {}): Promise<Answer<'workspaces/start'>> {
    return this.#client.workspaces.start({ ...options, ...this.#address });
  }

  /** Takes a snapshot if the workspace is persistent, and destroys its sandbox. */
  stop(options: Own<'workspaces/stop'> = {}): Promise<Answer<'workspaces/stop'>> {
    return this.#client.workspaces.stop({ ...options, ...this.#address });
  }

  /** Tells the Worker that an agent's turn has ended. It saves the files soon, if they changed and the settings say so. */
  turnEnded(options: Own<'workspaces/turnEnded'> = {}): Promise<Answer<'workspaces/turnEnded'>> {
    return this.#client.workspaces.turnEnded({ ...options, ...this.#address });
  }

  /**
   * Creates workspaces from the present files of this one, or from one of its snapshots, all from one snapshot. Each is also a
   * handle.
   */
  fork({ name, ...options }: Own<'workspaces/fork'> & { name?: string } = {}): Promise<ForksWithHandles> {
    const newName = name === undefined ? {} : { newName: name };
    return this.#client.workspaces.fork({ ...options, ...newName, ...this.#address });
  }

  /** Changes the settings of the workspace, or restores an earlier snapshot in a new sandbox. */
  update(options: Own<'workspaces/update'>): Promise<Answer<'workspaces/update'>> {
    return this.#client.workspaces.update({ ...options, ...this.#address });
  }

  /** Continues the workspace with the files of another workspace or snapshot of its lineage, in a new sandbox. */
  promote(options: Own<'workspaces/promote'>): Promise<Answer<'workspaces/promote'>> {
    return this.#client.workspaces.promote({
      ...options,
      ...this.#address,
    } as CallOptions<'workspaces/promote'>);
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

function toOptions(command: string | object): object {
  return typeof command === 'string' ? { command } : command;
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
