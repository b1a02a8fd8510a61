import type { OperationName, Options } from '../operations.ts';

/** A call on its way to the snapshotter. */
export interface Call {
  readonly operation: OperationName;
  /** The options of the operation. */
  readonly options: Options;
  readonly signal?: AbortSignal | undefined;
  /** Whether making the call twice does no more than making it once. */
  readonly repeatable: boolean;
}

/** A way to the snapshotter. */
export interface Transport {
  /** Makes a call once. It fails with a `SnapshotterError`; anything else that it throws means that the answer is lost. */
  send(call: Call): Promise<unknown>;
}
