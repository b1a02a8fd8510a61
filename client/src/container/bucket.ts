/**
 * Backups in R2: an archive, and its metadata, which is written last. The layout is that of the Sandbox SDK 0.12. Those of the class
 * `DirectoryBackup` of the SDK 1.0 have no metadata, and are only read.
 */
import type { BackupHandle } from './archives.ts';
import { messageOf, SandboxError, transferError } from './errors.ts';

/** The size of the parts of an upload, in bytes. R2 requires parts of the same size, at least 5 MiB. */
const PART_BYTES = 8 * 2 ** 20;

/** The key of the {@link Pending} capture in the storage of the object. */
const PENDING = 'sandbox-snapshotter:capture';

/** A capture in progress. It is stored before its first write to the bucket, and until its metadata is written. */
interface Pending {
  id: string;
  /** The id of its multipart upload. */
  uploadId?: string;
}

/** The time before its expiration at which a backup is not restored any more, in milliseconds. */
const TTL_MARGIN_MS = 60_000;

/** What is known of an archive. */
export interface Archive {
  id: string;
  /** The size of the archive, in bytes. */
  sizeBytes: number;
  /** The SHA-256 of the archive, in hexadecimal digits. Backups of the SDK 0.12 have none. */
  sha256?: string | undefined;
  /** Default: `squashfs`. */
  format?: Format;
  /** The size of the files, in bytes. */
  treeBytes?: number;
}

/** The metadata of a backup. */
export interface Metadata extends Archive {
  dir: string;
  name?: string | null | undefined;
  /** Seconds after its creation for which it can be restored. */
  ttl: number;
  createdAt: string;
  /** The number of files and directories in an archive of tar, without the directory itself. The header of a squashfs has it. */
  entries?: number;
}

/** The format of `DirectoryBackup`. */
const DIRECTORY_BACKUP = 'tar+zstd/1';

/** The format of an archive. */
export type Format = 'squashfs' | 'tar' | 'tar+gzip' | 'tar+zstd' | typeof DIRECTORY_BACKUP;

/** A stored archive. */
export interface Stored {
  sizeBytes: number;
  sha256: string;
}

const archiveKey = (id: string) => `backups/${id}/data.sqsh`;
const metadataKey = (id: string) => `backups/${id}/meta.json`;

/** Reads a stream, and computes the SHA-256 of what it has read. */
export class HashingReader {
  /** The number of bytes that were read. */
  bytes = 0;
  readonly #digest = new crypto.DigestStream('SHA-256');
  readonly #writer = this.#digest.getWriter();

  /**
   * Passes on a stream in large parts, because small ones cost as much time each. Only the last one may be smaller. `signal` ends it
   * before the next part.
   */
  async *read(stream: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const reader = stream.getReader({ mode: 'byob' });
    try {
      for (;;) {
        const { value } = await reader.readAtLeast(PART_BYTES, new Uint8Array(PART_BYTES));
        signal.throwIfAborted();
        if (!value?.byteLength) return;
        await this.#writer.write(value);
        this.bytes += value.byteLength;
        yield value;
      }
    } finally {
      await reader.cancel();
    }
  }

  /** Returns the SHA-256 in hexadecimal digits. Nothing is read after it. */
  async sha256(): Promise<string> {
    await this.#writer.close();
    const digest = new Uint8Array(await this.#digest.digest) as Uint8Array & { toHex(): string };
    return digest.toHex();
  }
}

/** The backups in a bucket, as an object writes and reads them. */
export class Backups {
  readonly #bucket: R2Bucket;
  readonly #storage: DurableObjectStorage;
  readonly #prefix: string;

  /** The keys of `DirectoryBackup` have the prefix. */
  constructor(bucket: R2Bucket, storage: DurableObjectStorage, prefix = '') {
    this.#bucket = bucket;
    this.#storage = storage;
    this.#prefix = prefix;
  }

  /** Deletes what a capture left behind that the object did not complete: its upload, and an archive without metadata. */
  async recover(): Promise<void> {
    const pending = this.#storage.kv.get<Pending>(PENDING);
    if (!pending) return;
    const { id, uploadId } = pending;
    if (uploadId) {
      const upload = this.#bucket.resumeMultipartUpload(archiveKey(id), uploadId);
      await upload.abort().catch(() => {}); // It may be complete, or aborted already.
    }
    if ((await this.#bucket.head(metadataKey(id))) === null) await this.#bucket.delete(archiveKey(id));
    this.#storage.kv.delete(PENDING);
  }

  /** Stores an archive. Keeps one part in memory. What it stores is pending until {@link putMetadata}. `signal` ends it before the next part. */
  async putArchive(
    id: string,
    stream: ReadableStream<Uint8Array>,
    verify: (sizeBytes: number) => Promise<void>,
    signal: AbortSignal,
  ): Promise<Stored> {
    await this.#store({ id });
    const reader = new HashingReader();
    const uploaded: R2UploadedPart[] = [];
    let upload: R2MultipartUpload | undefined;
    let only: Uint8Array | undefined;
    try {
      for await (const part of reader.read(stream, signal)) {
        if (reader.bytes < PART_BYTES) only = part;
        else {
          if (!upload) {
            upload = await this.#bucket.createMultipartUpload(archiveKey(id));
            await this.#store({ id, uploadId: upload.uploadId });
          }
          uploaded.push(await upload.uploadPart(uploaded.length + 1, part));
        }
      }
      await verify(reader.bytes);
      signal.throwIfAborted();
      if (upload) await upload.complete(uploaded);
      else await this.#bucket.put(archiveKey(id), only as Uint8Array);
      return { sizeBytes: reader.bytes, sha256: await reader.sha256() };
    } catch (thrown) {
      throw transferError(thrown);
    }
  }

  /** Completes a backup. */
  async putMetadata(metadata: Metadata, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#bucket.put(metadataKey(metadata.id), JSON.stringify(metadata));
    this.#storage.kv.delete(PENDING);
  }

  /** Returns what is known of the archive. Throws where the backup has expired, or its metadata is missing or malformed. */
  async find(handle: BackupHandle): Promise<Archive> {
    const { id, format, size } = handle;
    if (format === DIRECTORY_BACKUP) return { ...handle, sizeBytes: size as number };
    const metadata = await (await this.#get(metadataKey(id))).json<Metadata>().catch((thrown) => {
      throw new SandboxError('BACKUP_INTEGRITY', `The metadata of ${id} can't be read: ${messageOf(thrown)}`);
    });
    if (Date.now() + TTL_MARGIN_MS <= Date.parse(metadata.createdAt) + metadata.ttl * 1000) return metadata;
    throw new SandboxError('BACKUP_EXPIRED', `The backup ${id} has expired.`);
  }

  /** Returns the archive. Throws where it is missing, or has another size than is known. */
  async getArchive({ id, sizeBytes, format }: Archive): Promise<ReadableStream<Uint8Array>> {
    const object = await this.#get(
      format === DIRECTORY_BACKUP ? `${this.#prefix}${id}.tar.zst` : archiveKey(id),
    );
    if (object.size === sizeBytes) return object.body;
    await object.body.cancel();
    throw new SandboxError('BACKUP_INTEGRITY', `The archive of ${id} has another size.`);
  }

  async #get(key: string): Promise<R2ObjectBody> {
    const object = await this.#bucket.get(key);
    if (object) return object;
    throw new SandboxError('BACKUP_NOT_FOUND', `The bucket has no ${key}.`);
  }

  async #store(pending: Pending): Promise<void> {
    this.#storage.kv.put(PENDING, pending);
    await this.#storage.sync();
  }
}
