// The operations, and the effect of repeating a call.

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

/** The effect of a second call when the first one took effect and its answer was lost. */
type Repetition =
  /** The second call changes nothing, as the first one. */
  | 'reads'
  /** The second call changes nothing more. */
  | 'idempotent'
  /** The second call gets the answer of the first one, because both have the same idempotency key. */
  | 'keyed'
  /** The second call does the work again, or does it to another object. */
  | 'repeats';

/** Returns whether an option is given. The value `null` counts as absent. */
const has = (options: Options, name: string) => (options[name] ?? undefined) !== undefined;

/** Between the calls, a label may move to another snapshot. A ref or an id always selects the same snapshot. */
const onSnapshot = (options: Options) =>
  has(options, 'ref') || has(options, 'snapshotId') ? 'idempotent' : 'repeats';

/** Matches the tool that restores a checkpoint. */
const RESTORES_CHECKPOINT = /(^|__)snapshot_restore$/;

const REPETITIONS: Readonly<Record<OperationName, Repetition | ((options: Options) => Repetition)>> = {
  snapshot: 'keyed',
  restore: 'keyed',
  branch: 'keyed',
  list: 'reads',
  get: 'reads',
  manifest: 'reads',
  verify: 'reads',
  label: onSnapshot,
  pin: onSnapshot,
  unpin: onSnapshot,
  delete: onSnapshot, // The second deletion succeeds without an effect.
  import: 'idempotent', // The second import returns the existing snapshot.
  lineage: 'reads',
  retention: 'reads',
  setRetention: 'idempotent',
  applyRetention: 'idempotent',
  rotateKey: 'repeats', // The second rotation invalidates the refs that are still valid after the first one.
  sweep: 'idempotent',
  'workspaces/create': 'keyed',
  'workspaces/getOrCreate': 'keyed',
  'workspaces/getByName': 'reads',
  'workspaces/list': 'reads',
  'workspaces/start': 'idempotent', // The second start returns the running workspace.
  'workspaces/stop': 'idempotent', // The second stop does nothing.
  'workspaces/fork': 'keyed',
  // Each return to a snapshot creates another sandbox.
  'workspaces/update': (options) => (has(options, 'currentSnapshotId') ? 'repeats' : 'idempotent'),
  'workspaces/delete': 'repeats', // Another workspace may have the name by then.
  'checkpoints/create': 'idempotent', // The second checkpoint replaces the first one.
  'checkpoints/list': 'reads',
  'checkpoints/restore': 'repeats', // Files written in between would be lost, and `before` overwritten.
  'checkpoints/diff': 'reads',
  'tools/list': 'reads',
  'tools/call': ({ name }) => (RESTORES_CHECKPOINT.test(String(name)) ? 'repeats' : 'keyed'),
  'tools/grant': 'reads',
  health: 'reads',
};

function repetition(operation: OperationName, options: Options): Repetition {
  const entry = REPETITIONS[operation];
  return typeof entry === 'function' ? entry(options) : entry;
}

/** Returns the options with an idempotency key, if the operation takes one and the caller passed none. */
export function withKey(operation: OperationName, options: Options, newKey: () => string): Options {
  const lacksKey = repetition(operation, options) === 'keyed' && !has(options, 'idempotencyKey');
  return lacksKey ? { ...options, idempotencyKey: newKey() } : options;
}

/** Returns whether a second call has no effect beyond the first one. */
export function isRepeatable(operation: OperationName, options: Options): boolean {
  return repetition(operation, options) !== 'repeats';
}
