import type { Download, DownloadName } from '../downloads.ts';
import type { OperationName, Options } from '../operations.ts';

/** A call to the snapshotter. */
export interface Call {
  /** The name of the operation. */
  readonly operation: OperationName;
  /** The options of the operation. */
  readonly options: Options;
  readonly signal?: AbortSignal | undefined;
  /** The content of a file to write, if the options contain none. */
  readonly input?: ReadableStream<Uint8Array> | Uint8Array | undefined;
  /** Whether a second call has no effect beyond the first one. */
  readonly repeatable: boolean;
}

/** A call that opens a download. */
export interface DownloadCall {
  /** The name of the download. */
  readonly download: DownloadName;
  /** The options of the download. */
  readonly options: Options;
  readonly signal?: AbortSignal | undefined;
}

/** A command whose output is read while it runs. */
export interface ExecCall {
  /** The options of `exec`. */
  readonly options: Options;
  /** The standard input, if the options contain none. */
  readonly input?: ReadableStream<Uint8Array> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A transport of calls to the snapshotter. */
export interface Transport {
  /** Starts a command, and returns its events as text: see {@link ExecStream}. */
  openExec?(call: ExecCall): Promise<ReadableStream<Uint8Array>>;
  /** Sends a call once. Throws a `SnapshotterError`; any other exception means that the answer was lost. */
  send(call: Call): Promise<unknown>;

  /** Opens a download once. Throws as `send` does. A transport without it supports no downloads. */
  open?(call: DownloadCall): Promise<Download>;
}
