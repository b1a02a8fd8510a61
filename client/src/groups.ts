// The groups of operations: `workspaces/create` is `client.workspaces.create(options)`.

import type { Answer, CallOptions, OperationName } from './operations.ts';
import { iteratePages } from './pages.ts';
import type { Checkpoint, WorkspaceEntry } from './types.ts';

interface Caller {
  call<O extends OperationName>(operation: O, options: CallOptions<O>): Promise<Answer<O>>;
}

/** The operations on named workspaces, whose files persist across sandboxes. */
export class WorkspaceOperations {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Creates a workspace. Fails with `NAME_TAKEN` if a workspace with the name exists. */
  create(options: CallOptions<'workspaces/create'>): Promise<Answer<'workspaces/create'>> {
    return this.#caller.call('workspaces/create', options);
  }

  /** Starts a workspace, or creates it if it does not exist. If it exists, only its fingerprint is changed. */
  getOrCreate(options: CallOptions<'workspaces/getOrCreate'>): Promise<Answer<'workspaces/getOrCreate'>> {
    return this.#caller.call('workspaces/getOrCreate', options);
  }

  /** Returns the description of a workspace. Starts no container. */
  getByName(options: CallOptions<'workspaces/getByName'>): Promise<Answer<'workspaces/getByName'>> {
    return this.#caller.call('workspaces/getByName', options);
  }

  /** Returns a page of a tenant's workspaces, sorted by name. The list may lag behind the latest changes. */
  list(options: CallOptions<'workspaces/list'> = {}): Promise<Answer<'workspaces/list'>> {
    return this.#caller.call('workspaces/list', options);
  }

  /** Iterates over a tenant's workspaces, sorted by name. Requests pages of `limit` on demand. */
  all(options: CallOptions<'workspaces/list'> = {}): AsyncGenerator<WorkspaceEntry, void, undefined> {
    const page = (cursor?: string) => this.list(cursor === undefined ? options : { ...options, cursor });
    return iteratePages(page, ({ workspaces }) => workspaces);
  }

  /** Starts a workspace: its sandbox runs with the workspace's files in place. */
  start(options: CallOptions<'workspaces/start'>): Promise<Answer<'workspaces/start'>> {
    return this.#caller.call('workspaces/start', options);
  }

  /** Stops a workspace: takes a snapshot, and destroys the sandbox. */
  stop(options: CallOptions<'workspaces/stop'>): Promise<Answer<'workspaces/stop'>> {
    return this.#caller.call('workspaces/stop', options);
  }

  /** Creates workspaces from the present files of a workspace, all of them from one snapshot. */
  fork(options: CallOptions<'workspaces/fork'>): Promise<Answer<'workspaces/fork'>> {
    return this.#caller.call('workspaces/fork', options);
  }

  /** Changes the settings of a workspace, or goes back to an earlier snapshot in a new sandbox. */
  update(options: CallOptions<'workspaces/update'>): Promise<Answer<'workspaces/update'>> {
    return this.#caller.call('workspaces/update', options);
  }

  /** Deletes a workspace and its snapshots, and frees its name. */
  delete(options: CallOptions<'workspaces/delete'>): Promise<Answer<'workspaces/delete'>> {
    return this.#caller.call('workspaces/delete', options);
  }
}

/** The operations on checkpoints: named states inside a sandbox that are cheap, local and lost with the container. */
export class CheckpointOperations {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Creates a checkpoint of the present files. An existing checkpoint with the name is replaced. */
  create(options: CallOptions<'checkpoints/create'>): Promise<Answer<'checkpoints/create'>> {
    return this.#caller.call('checkpoints/create', options);
  }

  /** Returns a page of the checkpoints in a sandbox, newest first. */
  list(options: CallOptions<'checkpoints/list'>): Promise<Answer<'checkpoints/list'>> {
    return this.#caller.call('checkpoints/list', options);
  }

  /** Iterates over the checkpoints in a sandbox, newest first. Requests pages of `limit` on demand. */
  all(options: CallOptions<'checkpoints/list'>): AsyncGenerator<Checkpoint, void, undefined> {
    const page = (cursor?: string) => this.list(cursor === undefined ? options : { ...options, cursor });
    return iteratePages(page, ({ checkpoints }) => checkpoints);
  }

  /** Restores the files of a sandbox to a checkpoint, in place. */
  restore(options: CallOptions<'checkpoints/restore'>): Promise<Answer<'checkpoints/restore'>> {
    return this.#caller.call('checkpoints/restore', options);
  }

  /** Compares the files of a sandbox with a checkpoint. */
  diff(options: CallOptions<'checkpoints/diff'>): Promise<Answer<'checkpoints/diff'>> {
    return this.#caller.call('checkpoints/diff', options);
  }
}

/** The operations on tools for language models. `client.toolset()` returns the tools in the formats of model APIs. */
export class ToolOperations {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Returns the definitions of the tools for some workspaces. */
  list(options: CallOptions<'tools/list'>): Promise<Answer<'tools/list'>> {
    return this.#caller.call('tools/list', options);
  }

  /** Calls a tool. If the model made a mistake, the result reports it with `isError`. */
  call(options: CallOptions<'tools/call'>): Promise<Answer<'tools/call'>> {
    return this.#caller.call('tools/call', options);
  }

  /** Creates a token for `/mcp` that permits some tools and nothing else. */
  grant(options: CallOptions<'tools/grant'>): Promise<Answer<'tools/grant'>> {
    return this.#caller.call('tools/grant', options);
  }
}
