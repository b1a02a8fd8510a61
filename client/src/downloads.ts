// Downloads: files and directories of snapshots as streams.

import type { CallOptions } from './operations.ts';
import type { Selection } from './types.ts';

/** The downloads by name, each with its options. */
export interface Downloads {
  /** The content of a file. */
  'files/download': CallOptions<'files/stat'>;
  /** A tar of a directory. */
  'files/export': Selection & Partial<Pick<CallOptions<'files/list'>, 'path' | 'signal' | 'retry'>>;
}

/** The name of a download. */
export type DownloadName = keyof Downloads;

/** A download from a snapshot. */
export interface Download {
  /** The id of the snapshot. */
  snapshotId: string;
  /** The version of the download, as an `ETag`. */
  etag: string;
  /** The size of the file in bytes; absent for a directory. */
  sizeBytes?: number;
  /** The bytes. An error of the stream means that they are incomplete. */
  body: ReadableStream<Uint8Array>;
}

/** Opens downloads. */
export interface DownloadOpener {
  open<N extends DownloadName>(download: N, options: Downloads[N]): Promise<Download>;
}
