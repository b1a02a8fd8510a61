// The caller, with the sandboxes of an application of the SDK 1.0: its methods `createBackup` and `restoreBackup` are over
// `DirectoryBackup`, as Cloudflare's guide to the migration describes. The other methods are those of the mixin.

import { DurableObject } from 'cloudflare:workers';

import {
  withSnapshots,
  type BackupHandle,
  type BackupOptions,
  type Expected,
} from '../../client/src/container/index.ts';
import { Caller, type Env } from '../caller/caller.ts';

export { Caller };
export { default } from '../caller/caller.ts';

/** The option `prefix` of the class `DirectoryBackup`. */
const PREFIX = 'saved/';

/** What `backup` returns. */
interface BackupRecord {
  id: string;
  dir: string;
  size: number;
  sha256: string;
  format: 'tar+zstd/1';
  name?: string | undefined;
}

/**
 * Stands in for the class `DirectoryBackup` of the SDK 1.0, which the tests cannot install. It makes and reads the same records and
 * objects with `exec` instead of the helper of that class. It is only for small directories, because it holds them in memory.
 */
class StandInForDirectoryBackup {
  readonly #container: Container;
  readonly #bucket: R2Bucket;

  constructor(container: Container, bucket: R2Bucket) {
    this.#container = container;
    this.#bucket = bucket;
  }

  async backup({ dir, name }: { dir: string; name?: string }): Promise<BackupRecord> {
    const bytes = await this.#run(['sh', '-c', 'tar -C "$1" -cf - . | zstd -q', 'sh', dir]);
    const id = crypto.randomUUID();
    await this.#bucket.put(keyOf(id), bytes, name === undefined ? {} : { customMetadata: { name } });
    return { id, dir, size: bytes.byteLength, sha256: await hash(bytes), format: 'tar+zstd/1', name };
  }

  async restore({ id, dir, sha256 }: BackupRecord): Promise<void> {
    const object = await this.#bucket.get(keyOf(id));
    if (!object) throw failed('BACKUP_NOT_FOUND', `There is no ${keyOf(id)}.`);
    const bytes = await object.arrayBuffer();
    if ((await hash(bytes)) !== sha256) throw failed('BACKUP_INTEGRITY', `${keyOf(id)} has another SHA-256.`);
    const script = `rm -rf "$1.new" && mkdir -p "$1.new" && zstd -dcq | tar -C "$1.new" -xpf - && rm -rf "$1" && mv "$1.new" "$1"`;
    await this.#run(['sh', '-c', script, 'sh', dir], new Blob([bytes]).stream());
  }

  async #run(argv: string[], stdin?: ReadableStream): Promise<ArrayBuffer> {
    const process = await this.#container.exec(argv, stdin ? { stdin } : {});
    const { exitCode, stdout, stderr } = await process.output();
    if (exitCode !== 0) throw failed('BACKUP_TRANSFER', new TextDecoder().decode(stderr));
    return stdout;
  }
}

export class Sandbox extends withSnapshots(DurableObject<Env & { BACKUP_BUCKET: R2Bucket }>, {
  directoryBackupPrefix: PREFIX,
}) {
  override async createBackup({ dir, name, ...expected }: BackupOptions): Promise<BackupHandle> {
    return (await this.#backups(expected)).backup({ dir, ...(name === undefined ? {} : { name }) });
  }

  override async restoreBackup(handle: BackupHandle & Expected) {
    this.ctx.storage.kv.put('restored', handle);
    await (await this.#backups(handle)).restore(handle as BackupRecord);
    return { success: true as const, dir: handle.dir, id: handle.id };
  }

  /** Restores a record with the method of the mixin. */
  restoreWithMixin(handle: BackupHandle) {
    return super.restoreBackup(handle);
  }

  /** Starts the container of another image. */
  async launch(image: string): Promise<void> {
    this.ctx.container!.start({ image, enableInternet: false });
    await this.startContainer();
  }

  /** Returns the argument of the last restore. */
  async restored(): Promise<unknown> {
    return this.ctx.storage.kv.get('restored');
  }

  /** Copies an object with its custom metadata. */
  async copyObject(from: string, to: string): Promise<void> {
    const { body, customMetadata = {} } = (await this.env.BACKUP_BUCKET.get(from))!;
    await this.env.BACKUP_BUCKET.put(to, body, { customMetadata });
  }

  /** Changes the last byte of an object. */
  async corruptObject(key: string): Promise<void> {
    const object = (await this.env.BACKUP_BUCKET.get(key))!;
    const bytes = new Uint8Array(await object.arrayBuffer());
    bytes[bytes.length - 1]! ^= 1;
    await this.env.BACKUP_BUCKET.put(key, bytes, { customMetadata: object.customMetadata ?? {} });
  }

  async #backups({ expectedContainer, expectedLastChange }: Expected): Promise<StandInForDirectoryBackup> {
    const { containerId, lastChange } = await this.getState();
    const isExpected =
      (expectedContainer ?? containerId) === containerId && (expectedLastChange ?? lastChange) === lastChange;
    if (!isExpected) throw failed('CONTAINER_REPLACED', 'The container was replaced.');
    await this.startContainer();
    return new StandInForDirectoryBackup(this.ctx.container!, this.env.BACKUP_BUCKET);
  }
}

const keyOf = (id: string) => `${PREFIX}${id}.tar.zst`;

const failed = (code: string, message: string) =>
  Object.assign(new Error(message), { name: 'SandboxBackupError', code });

const hash = async (bytes: ArrayBuffer) =>
  Array.from(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
