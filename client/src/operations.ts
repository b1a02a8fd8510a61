// The operations, and what making a call again comes to.

import type { Operations } from './types.ts';

/** The name of an operation: `snapshot`, `workspaces/create`. */
export type OperationName = keyof Operations;

/** What any call takes besides the options of its operation. */
export interface Control {
  /** Ends the wait, and what was asked for as far as it can be taken back. */
  signal?: AbortSignal | undefined;
  /** `false`: the call is made once, whatever the client's policy is. */
  retry?: false | undefined;
}

/** What a call takes. */
export type CallOptions<O extends OperationName> = Operations[O]['options'] & Control;

/** What a call answers. */
export type Answer<O extends OperationName> = Operations[O]['answer'];

/** Options as they are sent. */
export type Options = Readonly<Record<string, unknown>>;

/** What a second call does when the first was carried out and its answer got lost. */
type Again =
  /** It changes nothing, as the first. */
  | 'reads'
  /** It leaves things as the first did. */
  | 'settles'
  /** It gets the answer of the first, by the idempotency key. */
  | 'keyed'
  /** It does the work a second time, or does it to something else. */
  | 'repeats';

/** Whether an option is given. What is `null` is as good as absent. */
const has = (options: Options, name: string) => (options[name] ?? undefined) !== undefined;

/** A label may have gone to another snapshot in between; a ref and an id stay with theirs. */
const onSnapshot = (options: Options) =>
  has(options, 'ref') || has(options, 'snapshotId') ? 'settles' : 'repeats';

/** The tool that does what `checkpoints/restore` does. */
const RESTORES_CHECKPOINT = /(^|__)snapshot_restore$/;

const AGAIN: Readonly<Record<OperationName, Again | ((options: Options) => Again)>> = {
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
  delete: onSnapshot, // One that is gone is fine.
  import: 'settles', // A backup that is known is answered as it is.
  lineage: 'reads',
  retention: 'reads',
  setRetention: 'settles',
  applyRetention: 'settles',
  rotateKey: 'repeats', // The second rotation ends the refs that the first one still let pass.
  sweep: 'settles',
  'workspaces/create': 'keyed',
  'workspaces/getOrCreate': 'keyed',
  'workspaces/getByName': 'reads',
  'workspaces/list': 'reads',
  'workspaces/start': 'settles', // One that runs is answered as it is.
  'workspaces/stop': 'settles', // The second stop does nothing.
  'workspaces/fork': 'keyed',
  // Settings are what they are; going back makes another sandbox each time.
  'workspaces/update': (options) => (has(options, 'currentSnapshotId') ? 'repeats' : 'settles'),
  'workspaces/delete': 'repeats', // There may be another one of the name in between.
  'checkpoints/create': 'settles', // The name stands for the files as they are while the caller waits.
  'checkpoints/list': 'reads',
  'checkpoints/restore': 'repeats', // What was written in between would be lost, and `before` be overwritten.
  'checkpoints/diff': 'reads',
  'tools/list': 'reads',
  'tools/call': ({ name }) => (RESTORES_CHECKPOINT.test(String(name)) ? 'repeats' : 'keyed'),
  'tools/grant': 'reads',
  health: 'reads',
};

function again(operation: OperationName, options: Options): Again {
  const entry = AGAIN[operation];
  return typeof entry === 'function' ? entry(options) : entry;
}

/** The options with an idempotency key, where the operation takes one and the caller gave none. */
export function withKey(operation: OperationName, options: Options, newKey: () => string): Options {
  const lacksKey = again(operation, options) === 'keyed' && !has(options, 'idempotencyKey');
  return lacksKey ? { ...options, idempotencyKey: newKey() } : options;
}

/** Whether making the call twice does no more than making it once. */
export function isRepeatable(operation: OperationName, options: Options): boolean {
  return again(operation, options) !== 'repeats';
}
