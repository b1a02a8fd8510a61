import type { OperationName, Options } from '../operations.ts';

/** A call to the snapshotter. */
export interface Call {
  /** The name of the operation. */
  readonly operation: OperationName;
  /** The options of the operation. */
  readonly options: Options;
  readonly signal?: AbortSignal | undefined;
  /** Whether a second call has no effect beyond the first one. */
  readonly repeatable: boolean;
}

/** A transport of calls to the snapshotter. */
export interface Transport {
  /** Sends a call once. Throws a `SnapshotterError`; any other exception means that the answer was lost. */
  send(call: Call): Promise<unknown>;
}
