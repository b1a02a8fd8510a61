// Downloads: files and directories of snapshots as streams.

import type { Control } from './operations.ts';
import type { Operations, SecretsReport, Selection } from './types.ts';

/** The downloads by name, each with its options. */
export interface Downloads {
  /** The content of a file. */
  'files/download': Operations['files/stat']['options'];
  /** A tar of a directory. */
  'files/export': Selection & {
    path?: Operations['files/list']['options']['path'];
    /** What to do with files that are named like files with secrets. Default: `exclude`. */
    secrets?: 'keep' | 'exclude' | 'refuse';
  };
}

/** The options of a call that opens a download. */
export type DownloadOptions<N extends DownloadName> = Downloads[N] & Control;

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
  /** The files with secrets that the tar of a directory leaves out; absent if it has all files. */
  secrets?: SecretsReport;
  /** The bytes. An error of the stream means that they are incomplete. */
  body: ReadableStream<Uint8Array>;
}

/** Opens downloads. */
export interface DownloadOpener {
  open<N extends DownloadName>(download: N, options: DownloadOptions<N>): Promise<Download>;
}
