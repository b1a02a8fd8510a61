// The types of calls.

import type { Operations } from './types.ts';

/** The name of an operation, such as `snapshot` or `workspaces/create`. */
export type OperationName = keyof Operations;

/** The options that every call has, in addition to those of its operation. */
export interface Control {
  /** Aborts the call. The snapshotter rolls back the operation where possible. */
  signal?: AbortSignal | undefined;
  /** `false` disables retries for this call. */
  retry?: false | undefined;
}

/** The options of a call. */
export type CallOptions<O extends OperationName> = Operations[O]['options'] & Control;

/** The answer of a call. */
export type Answer<O extends OperationName> = Operations[O]['answer'];

/** The options that a call sends. */
export type Options = Readonly<Record<string, unknown>>;
