// The checkpoints of a named workspace.

import type { SnapshotterClient } from './client.ts';
import type { Answer, CallOptions, OperationName } from './operations.ts';
import type { Checkpoint } from './types.ts';
import type { Address } from './workspace-address.ts';

/** The options of a call, without the workspace and the name of the checkpoint. */
type Own<O extends OperationName> = Omit<
  CallOptions<O>,
  'sandboxId' | 'workspace' | 'tenant' | 'runtime' | 'name'
>;

/**
 * The checkpoints in the sandbox of a named workspace, which must be running and is not started: checkpoints end with its container.
 */
export class WorkspaceCheckpoints {
  readonly #client: SnapshotterClient;
  readonly #address: Address;

  constructor(client: SnapshotterClient, address: Address) {
    this.#client = client;
    this.#address = address;
  }

  /**
   * Records the present files as a checkpoint. Replaces the checkpoint that has the name.
   *
   * @example
   * await workspace.checkpoints.create('before-refactor', { description: 'tests pass' });
   * const { changed } = await workspace.checkpoints.restore('before-refactor');
   */
  async create(name: string, options: Own<'checkpoints/create'> = {}): Promise<Answer<'checkpoints/create'>> {
    return this.#client.checkpoints.create({ ...options, name, ...this.#place() });
  }

  /** Lists the checkpoints, newest first. */
  async list(options: Own<'checkpoints/list'> = {}): Promise<Answer<'checkpoints/list'>> {
    return this.#client.checkpoints.list({ ...options, ...this.#place() });
  }

  /** Iterates over the checkpoints, newest first. Requests pages of `limit` on demand. */
  async *all(options: Own<'checkpoints/list'> = {}): AsyncGenerator<Checkpoint, void, undefined> {
    yield* this.#client.checkpoints.all({ ...options, ...this.#place() });
  }

  /** Compares the present files with a checkpoint. */
  async diff(name: string, options: Own<'checkpoints/diff'> = {}): Promise<Answer<'checkpoints/diff'>> {
    return this.#client.checkpoints.diff({ ...options, name, ...this.#place() });
  }

  /** Restores the files to a checkpoint. `before` of the answer is the commit of the files before. */
  async restore(
    name: string,
    options: Own<'checkpoints/restore'> = {},
  ): Promise<Answer<'checkpoints/restore'>> {
    return this.#client.checkpoints.restore({ ...options, name, ...this.#place() });
  }

  /** Deletes a checkpoint. Does nothing if there is none with this name. */
  async delete(name: string, options: Own<'checkpoints/delete'> = {}): Promise<Answer<'checkpoints/delete'>> {
    return this.#client.checkpoints.delete({ ...options, name, ...this.#place() });
  }

  #place(): { workspace: string; tenant?: string } {
    const { name: workspace, tenant } = this.#address;
    return { workspace, ...(tenant !== undefined && { tenant }) };
  }
}
