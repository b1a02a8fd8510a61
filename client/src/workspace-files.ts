// The files of a named workspace, by their paths.

import type { SnapshotterClient } from './client.ts';
import type { DownloadOptions } from './downloads.ts';
import { PART, streamOf, type FileStream } from './file-stream.ts';
import type { FileInput } from './groups.ts';
import type { Answer, CallOptions, OperationName } from './operations.ts';
import { isShortRef, selectSnapshot } from './snapshot-text.ts';
import type { FileEntry } from './types.ts';
import type { Address } from './workspace-address.ts';

/** The options of a call, without the workspace and the path. */
type At<O extends OperationName> = Partial<
  Omit<CallOptions<O>, 'name' | 'tenant' | 'sandboxId' | 'runtime' | 'path' | 'content' | 'to' | 'ref'>
>;

/**
 * The files of a named workspace, which is started if it is not running. With `label` or `snapshotId`, `read`, `download`, `list`,
 * `all` and `stat` are about one of its snapshots, and start nothing. Paths are relative to its directory, or to the option
 * `dir`. Symbolic links are not followed.
 */
export class WorkspaceFiles {
  readonly #client: SnapshotterClient;
  readonly #address: Address;

  constructor(client: SnapshotterClient, address: Address) {
    this.#client = client;
    this.#address = address;
  }

  /**
   * Returns the content of a file of at most 1 MiB, or with `offset` or `length` a part of a file of any size.
   *
   * @example
   * const { content, etag } = await workspace.files.read('src/config.json');
   */
  read(path: string, options: At<'files/read'> = {}): Promise<Answer<'files/read'>> {
    return this.#client.files.read(this.#at(path, options) as CallOptions<'files/read'>);
  }

  /**
   * Returns a file of any size as a stream, which fails with `FILE_CHANGED` if the file changes meanwhile.
   *
   * @example
   * const { body } = await workspace.files.download('build/app.tar');
   * return new Response(body);
   */
  async download(path: string, options: At<'files/stat'> = {}): Promise<FileStream> {
    const { label, snapshotId } = options as { label?: string; snapshotId?: string };
    if (label === undefined && snapshotId === undefined)
      return streamOf(path, (offset) => this.read(path, { ...options, offset, length: PART }));
    const { sizeBytes = 0, body } = await this.#client.files.download(
      this.#at(path, options) as DownloadOptions<'files/download'>,
    );
    return { sizeBytes, body };
  }

  /**
   * Writes a file, which appears at once when it is complete. Creates missing directories.
   *
   * @example
   * await workspace.files.write('src/config.json', JSON.stringify(config));
   */
  write(path: string, content: FileInput, options: At<'files/write'> = {}): Promise<Answer<'files/write'>> {
    return this.#client.files.write({ ...this.#at(path, options), content } as CallOptions<'files/write'>);
  }

  /** Returns a page of the files in a directory, sorted by name. */
  list(path = '/', options: At<'files/list'> = {}): Promise<Answer<'files/list'>> {
    return this.#client.files.list(this.#at(path, options) as CallOptions<'files/list'>);
  }

  /** Iterates over the files in a directory, sorted by name. Requests pages of `limit` on demand. */
  all(path = '/', options: At<'files/list'> = {}): AsyncGenerator<FileEntry, void, undefined> {
    return this.#client.files.all(this.#at(path, options) as CallOptions<'files/list'>);
  }

  /** Returns the attributes of a file or a directory. */
  stat(path: string, options: At<'files/stat'> = {}): Promise<Answer<'files/stat'>> {
    return this.#client.files.stat(this.#at(path, options) as CallOptions<'files/stat'>);
  }

  /** Creates a directory, with those above it. */
  mkdir(path: string, options: At<'files/mkdir'> = {}): Promise<Answer<'files/mkdir'>> {
    return this.#client.files.mkdir(this.#at(path, options) as CallOptions<'files/mkdir'>);
  }

  /** Moves a file or a directory. Replaces an existing file only with `overwrite: true`. */
  move(path: string, to: string, options: At<'files/move'> = {}): Promise<Answer<'files/move'>> {
    return this.#client.files.move({ ...this.#at(path, options), to } as CallOptions<'files/move'>);
  }

  /** Removes a file, or with `recursive: true` a directory with everything in it. */
  remove(path: string, options: At<'files/remove'> = {}): Promise<Answer<'files/remove'>> {
    return this.#client.files.remove(this.#at(path, options) as CallOptions<'files/remove'>);
  }

  /**
   * Writes files of a snapshot of the workspace to it, which must be running. A directory selects everything in it.
   * Replaces existing files only with `overwrite: true`. The snapshot is selected by its id, its short ref or its label.
   *
   * @example
   * const { restored, skipped } = await workspace.files.restore('before the upgrade', ['src/main.rs']);
   */
  async restore(
    snapshot: string,
    paths: string[],
    options: Omit<At<'files/restore'>, 'paths' | 'snapshotId' | 'label'> = {},
  ): Promise<Answer<'files/restore'>> {
    const selection = selectSnapshot('files.restore', this.#address, snapshot);
    // Beside a short ref there is no name whose sandbox is meant.
    const to = isShortRef(snapshot)
      ? (await this.#client.workspaces.getByName(this.#address)).sandboxId
      : undefined;
    return this.#client.files.restore({ ...options, ...selection, paths, ...(to && { to }) });
  }

  #at(path: string, options: object): object {
    return { ...options, ...this.#address, path };
  }
}
