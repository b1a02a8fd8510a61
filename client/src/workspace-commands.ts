// The background commands of a named workspace.

import { toCommand } from './arguments.ts';
import type { SnapshotterClient } from './client.ts';
import type { Answer, CallOptions, OperationName } from './operations.ts';
import type { Address } from './workspace-address.ts';

/** The options of a call, without the workspace and the command. */
type Own<O extends OperationName> = Omit<
  CallOptions<O>,
  'name' | 'tenant' | 'sandboxId' | 'runtime' | 'command' | 'argv' | 'commandId'
>;

/** The options of a background command, without the command. */
export type BackgroundCommandOptions = Own<'commands/start'>;

/** The background commands of a named workspace. Only `start` starts a workspace that is not running. */
export class WorkspaceCommands {
  readonly #client: SnapshotterClient;
  readonly #address: Address;

  constructor(client: SnapshotterClient, address: Address) {
    this.#client = client;
    this.#address = address;
  }

  /**
   * Starts a command in the background: a command line, or a program with its arguments.
   *
   * @example
   * const { commandId } = await workspace.commands.start('npm run dev', { timeoutSeconds: 3600 });
   * const { content } = await workspace.commands.output(commandId, { waitSeconds: 10 });
   */
  start(
    command: string | readonly string[],
    options?: BackgroundCommandOptions,
  ): Promise<Answer<'commands/start'>>;
  start(
    options: BackgroundCommandOptions & ({ command: string } | { argv: string[] }),
  ): Promise<Answer<'commands/start'>>;
  start(command: string | readonly string[] | object, options?: object): Promise<Answer<'commands/start'>> {
    const all = { ...toCommand(command, options), ...this.#address };
    return this.#client.commands.start(all as CallOptions<'commands/start'>);
  }

  /** Lists the commands, newest first. */
  list(options: Own<'commands/list'> = {}): Promise<Answer<'commands/list'>> {
    return this.#client.commands.list({ ...options, ...this.#address } as CallOptions<'commands/list'>);
  }

  /** Returns a part of an output of a command, while it runs and after it has ended. */
  output(commandId: string, options: Own<'commands/output'> = {}): Promise<Answer<'commands/output'>> {
    const all = { ...options, ...this.#address, commandId };
    return this.#client.commands.output(all as CallOptions<'commands/output'>);
  }

  /** Ends a command, with all processes of its session. */
  end(commandId: string, options: Own<'commands/end'> = {}): Promise<Answer<'commands/end'>> {
    const all = { ...options, ...this.#address, commandId };
    return this.#client.commands.end(all as CallOptions<'commands/end'>);
  }
}
