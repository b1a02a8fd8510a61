// The groups of operations: `workspaces/create` is `client.workspaces.create(options)`.

import { requireOptions } from './argument-checks.ts';
import { kindOf } from './arguments.ts';
import { invalidArgument } from './failures.ts';
import type { Download, DownloadOpener, DownloadOptions } from './downloads.ts';
import {
  CheckpointMethods,
  CommandMethods,
  FileMethods,
  TokenMethods,
  ToolMethods,
  WorkspaceMethods,
  type Caller,
} from './methods.ts';
import type { Answer, CallOptions } from './operations.ts';
import { iteratePages } from './pages.ts';
import type { SnapshotterClient } from './client.ts';
import type {
  Checkpoint,
  FileEntry,
  StartedWorkspace,
  StoppedWorkspace,
  Workspace,
  WorkspaceEntry,
} from './types.ts';
import type { Address } from './workspace-address.ts';
import {
  withHandle,
  type ForksWithHandles,
  type WithHandle,
  type WorkspacesWithHandles,
} from './workspace-answers.ts';
import { WorkspaceHandle } from './workspace.ts';

/** The operations on named workspaces, whose files persist across sandboxes. */
export class WorkspaceOperations extends WorkspaceMethods {
  readonly #client: SnapshotterClient;

  constructor(client: SnapshotterClient) {
    super(client);
    this.#client = client;
  }

  /** Returns the handle of a workspace, which need not exist. Makes no call. */
  handle(address: Address): WorkspaceHandle {
    requireOptions('handle()', address, (text) => `{ name: ${text} }`);
    if (typeof address.name !== 'string')
      throw invalidArgument(
        `handle() needs the name of a workspace, got ${kindOf(address.name)}.`,
        'Pass { name: "notebook" }.',
      );
    return new WorkspaceHandle(this.#client, address);
  }

  /** As the operation. The answer is also a handle of the workspace. */
  override async create(options: CallOptions<'workspaces/create'>): Promise<WithHandle<StartedWorkspace>> {
    return withHandle(this.#client, await super.create(options));
  }

  /**
   * Starts a workspace, or creates it if it does not exist. The answer is also its handle. The settings apply only when it is
   * created; `update` changes those of an existing one.
   *
   * @example
   * const workspace = await snapshotter.workspaces.getOrCreate({ name: 'notebook' });
   * await workspace.exec('npm install');
   */
  override async getOrCreate(
    options: CallOptions<'workspaces/getOrCreate'>,
  ): Promise<WithHandle<StartedWorkspace>> {
    return withHandle(this.#client, await super.getOrCreate(options));
  }

  /** As the operation. The answer is also a handle of the workspace. */
  override async getByName(options: CallOptions<'workspaces/getByName'>): Promise<WithHandle<Workspace>> {
    return withHandle(this.#client, await super.getByName(options));
  }

  /** As the operation. The answer is also a handle of the workspace. */
  override async start(options: CallOptions<'workspaces/start'>): Promise<WithHandle<StartedWorkspace>> {
    return withHandle(this.#client, await super.start(options));
  }

  /** As the operation. The answer is also a handle of the workspace. */
  override async stop(options: CallOptions<'workspaces/stop'>): Promise<WithHandle<StoppedWorkspace>> {
    return withHandle(this.#client, await super.stop(options));
  }

  /** As the operation. The answer is also a handle of the workspace. */
  override async update(options: CallOptions<'workspaces/update'>): Promise<WithHandle<Workspace>> {
    return withHandle(this.#client, await super.update(options));
  }

  /** As the operation. The answer is also a handle of the workspace. */
  override async promote(options: CallOptions<'workspaces/promote'>): Promise<WithHandle<Workspace>> {
    return withHandle(this.#client, await super.promote(options));
  }

  /** As the operation. The answer is also a handle of the workspace. */
  override async migrate(options: CallOptions<'workspaces/migrate'>): Promise<WithHandle<StoppedWorkspace>> {
    return withHandle(this.#client, await super.migrate(options));
  }

  /** As the operation. Each fork that succeeded is also a handle of its workspace. */
  override async fork(options: CallOptions<'workspaces/fork'>): Promise<ForksWithHandles> {
    const answer = await super.fork(options);
    // A Worker of another version could answer otherwise.
    const forks = answer?.forks?.map(({ value, ...fork }) => ({
      ...fork,
      ...(value && { value: withHandle(this.#client, value) }),
    }));
    return forks ? { ...answer, forks } : (answer as never);
  }

  /** As the operation. Each workspace on the page is also a handle. */
  override async list(options: CallOptions<'workspaces/list'> = {}): Promise<WorkspacesWithHandles> {
    const page = await super.list(options);
    // A Worker of another version could answer otherwise.
    const workspaces = page?.workspaces?.map((entry) => withHandle(this.#client, entry, options.tenant));
    return workspaces ? { ...page, workspaces } : (page as never);
  }

  /** Iterates over a tenant's workspaces, which are also handles, sorted by name. Requests pages of `limit` on demand. */
  all(
    options: CallOptions<'workspaces/list'> = {},
  ): AsyncGenerator<WithHandle<WorkspaceEntry>, void, undefined> {
    const page = (cursor?: string) => this.list(cursor === undefined ? options : { ...options, cursor });
    return iteratePages(page, ({ workspaces }) => workspaces);
  }
}

/** The operations on checkpoints: named states inside a sandbox that are cheap, local and lost with the container. */
export class CheckpointOperations extends CheckpointMethods {
  /** Iterates over the checkpoints in a sandbox, newest first. Requests pages of `limit` on demand. */
  all(options: CallOptions<'checkpoints/list'>): AsyncGenerator<Checkpoint, void, undefined> {
    const page = (cursor?: string) => this.list({ ...options, ...(cursor && { cursor }) } as typeof options);
    return iteratePages(page, ({ checkpoints }) => checkpoints);
  }
}

/** The content of a file: text or bytes of any length, or a stream. */
export type FileInput = string | Uint8Array | ReadableStream<Uint8Array>;

/** The length up to which a text is an option of a call, in characters. Options have at most 64 KiB. */
const MAX_TEXT_OPTION = 8 * 1024;

/** The options to write a file. */
export type WriteOptions = Omit<CallOptions<'files/write'>, 'content' | 'encoding'> & { content: FileInput };

/** The operations on the files of snapshots, and of running sandboxes and workspaces. */
export class FileOperations extends FileMethods {
  readonly #client: Pick<SnapshotterClient, 'callWithInput'> & DownloadOpener;

  constructor(client: Caller & Pick<SnapshotterClient, 'callWithInput'> & DownloadOpener) {
    super(client);
    this.#client = client;
  }

  /**
   * Writes a file of a running sandbox or workspace. The file appears at once, when it is complete. The content may be a text,
   * bytes or a stream of any length.
   */
  override async write(given: WriteOptions | CallOptions<'files/write'>): Promise<Answer<'files/write'>> {
    requireOptions('files.write()', given, () => '{ name: …, path: …, content: … }');
    const { content, ...options } = given;
    const isOption =
      typeof content === 'string' && (content.length <= MAX_TEXT_OPTION || 'encoding' in options);
    if (isOption) return super.write({ ...options, content } as CallOptions<'files/write'>);
    const input = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    // The Worker names an option that is missing.
    if (input !== undefined && !isInput(input))
      throw invalidArgument(
        `\`content\` must be a text, a Uint8Array or a ReadableStream, got ${kindOf(content)}.`,
        'Convert it before, for example with JSON.stringify().',
      );
    return this.#client.callWithInput('files/write', options as Partial<CallOptions<'files/write'>>, input);
  }

  /** Downloads a file of a snapshot as a stream. */
  download(options: DownloadOptions<'files/download'>): Promise<Download> {
    return this.#client.open('files/download', options);
  }

  /** Downloads a directory of a snapshot, or all of it, as a stream of a tar. */
  export(options: DownloadOptions<'files/export'>): Promise<Download> {
    return this.#client.open('files/export', options);
  }

  /** Iterates over the files in a directory, sorted by name. Requests pages of `limit` on demand. */
  all(options: CallOptions<'files/list'>): AsyncGenerator<FileEntry, void, undefined> {
    const page = (cursor?: string) => this.list(cursor === undefined ? options : { ...options, cursor });
    return iteratePages(page, ({ files }) => files);
  }
}

function isInput(input: unknown): input is Uint8Array | ReadableStream<Uint8Array> {
  // A stream may be of another realm.
  return (
    input instanceof Uint8Array || typeof (input as ReadableStream | undefined)?.getReader === 'function'
  );
}

/** The operations on background commands, which run while no caller waits for them. */
export class CommandOperations extends CommandMethods {}

/** The operations on access tokens. */
export class TokenOperations extends TokenMethods {}

/** The operations on tools for language models. `client.toolset()` returns the tools in the formats of model APIs. */
export class ToolOperations extends ToolMethods {}
