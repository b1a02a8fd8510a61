// The operations that stand in groups: `workspaces/create` is `client.workspaces.create(options)`.

import type { Answer, CallOptions, OperationName } from './operations.ts';
import { each } from './pages.ts';
import type { Checkpoint, WorkspaceEntry } from './types.ts';

interface Caller {
  call<O extends OperationName>(operation: O, options: CallOptions<O>): Promise<Answer<O>>;
}

/** Workspaces that persist by name, across sandboxes that come and go. */
export class WorkspaceOperations {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Makes a workspace; `NAME_TAKEN` where there is one. */
  create(options: CallOptions<'workspaces/create'>): Promise<Answer<'workspaces/create'>> {
    return this.#caller.call('workspaces/create', options);
  }

  /** Starts a workspace, or makes it where there is none. Of one that exists, only the fingerprint is changed. */
  getOrCreate(options: CallOptions<'workspaces/getOrCreate'>): Promise<Answer<'workspaces/getOrCreate'>> {
    return this.#caller.call('workspaces/getOrCreate', options);
  }

  /** What is known of a workspace. Starts nothing. */
  getByName(options: CallOptions<'workspaces/getByName'>): Promise<Answer<'workspaces/getByName'>> {
    return this.#caller.call('workspaces/getByName', options);
  }

  /** A page of a tenant's workspaces, by their names. It may lag a little behind. */
  list(options: CallOptions<'workspaces/list'> = {}): Promise<Answer<'workspaces/list'>> {
    return this.#caller.call('workspaces/list', options);
  }

  /** All workspaces of a tenant, by their names, read in pages of `limit` as they are needed. */
  all(options: CallOptions<'workspaces/list'> = {}): AsyncGenerator<WorkspaceEntry, void, undefined> {
    const page = (cursor?: string) => this.list(cursor === undefined ? options : { ...options, cursor });
    return each(page, ({ workspaces }) => workspaces);
  }

  /** Gives a workspace a sandbox that runs with its files in place. */
  start(options: CallOptions<'workspaces/start'>): Promise<Answer<'workspaces/start'>> {
    return this.#caller.call('workspaces/start', options);
  }

  /** Takes a snapshot, and ends the sandbox. */
  stop(options: CallOptions<'workspaces/stop'>): Promise<Answer<'workspaces/stop'>> {
    return this.#caller.call('workspaces/stop', options);
  }

  /** Makes other workspaces that begin where this one is now, all of them from one snapshot. */
  fork(options: CallOptions<'workspaces/fork'>): Promise<Answer<'workspaces/fork'>> {
    return this.#caller.call('workspaces/fork', options);
  }

  /** Changes how a workspace is kept, or goes back to an earlier snapshot, in a new sandbox. */
  update(options: CallOptions<'workspaces/update'>): Promise<Answer<'workspaces/update'>> {
    return this.#caller.call('workspaces/update', options);
  }

  /** Ends a workspace, removes its snapshots and frees its name. */
  delete(options: CallOptions<'workspaces/delete'>): Promise<Answer<'workspaces/delete'>> {
    return this.#caller.call('workspaces/delete', options);
  }
}

/** Named states inside a sandbox: cheap, local, gone with the container. */
export class CheckpointOperations {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Notes the files as they are, under a name. A name that is there goes on to the new state. */
  create(options: CallOptions<'checkpoints/create'>): Promise<Answer<'checkpoints/create'>> {
    return this.#caller.call('checkpoints/create', options);
  }

  /** A page of the checkpoints of a sandbox, the newest first. */
  list(options: CallOptions<'checkpoints/list'>): Promise<Answer<'checkpoints/list'>> {
    return this.#caller.call('checkpoints/list', options);
  }

  /** All checkpoints of a sandbox, the newest first, read in pages of `limit` as they are needed. */
  all(options: CallOptions<'checkpoints/list'>): AsyncGenerator<Checkpoint, void, undefined> {
    const page = (cursor?: string) => this.list(cursor === undefined ? options : { ...options, cursor });
    return each(page, ({ checkpoints }) => checkpoints);
  }

  /** Puts the files back as they were, in place. */
  restore(options: CallOptions<'checkpoints/restore'>): Promise<Answer<'checkpoints/restore'>> {
    return this.#caller.call('checkpoints/restore', options);
  }

  /** What was changed since a checkpoint. */
  diff(options: CallOptions<'checkpoints/diff'>): Promise<Answer<'checkpoints/diff'>> {
    return this.#caller.call('checkpoints/diff', options);
  }
}

/** Tools for language models. `client.toolset()` has them in the forms that model APIs take. */
export class ToolOperations {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** The definitions of the tools for some workspaces. */
  list(options: CallOptions<'tools/list'>): Promise<Answer<'tools/list'>> {
    return this.#caller.call('tools/list', options);
  }

  /** Calls a tool. What the model did wrong is in the result, marked by `isError`. */
  call(options: CallOptions<'tools/call'>): Promise<Answer<'tools/call'>> {
    return this.#caller.call('tools/call', options);
  }

  /** A token for some tools, for somebody who uses them over MCP. */
  grant(options: CallOptions<'tools/grant'>): Promise<Answer<'tools/grant'>> {
    return this.#caller.call('tools/grant', options);
  }
}
