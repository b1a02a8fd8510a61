// Whether a call may be repeated.

import { REPEATABILITY, type Repeatability } from './methods.ts';
import type { OperationName, Options } from './operations.ts';

/** Returns whether an option is given. The value `null` counts as absent. */
const has = (options: Options, name: string) => (options[name] ?? undefined) !== undefined;

/** Matches the tools that a second call repeats: they restore a checkpoint, run a command, or write a file. */
const NOT_IDEMPOTENT_TOOL = /((^|__)snapshot_restore|(^workspace|_)_(exec|start_command|write_file))$/;

/** Returns the effect of a second call with these options. */
function repeatability(operation: OperationName, options: Options): Repeatability {
  // Each start from a snapshot creates another sandbox.
  if (operation === 'workspaces/start' && has(options, 'from')) return 'withKey';
  return isException(operation, options) ? 'notIdempotent' : REPEATABILITY[operation];
}

/** Returns whether a second call with these options has a further effect, although it has none with most options. */
function isException(operation: OperationName, options: Options): boolean {
  switch (operation) {
    case 'label':
    case 'pin':
    case 'unpin':
    case 'delete':
      // Between the calls, a label may move to another snapshot. A ref or an id always selects the same snapshot.
      return !has(options, 'ref') && !has(options, 'snapshotId');
    case 'workspaces/update':
      // Each return to a snapshot creates another sandbox.
      return has(options, 'currentSnapshotId');
    case 'tools/call':
      return NOT_IDEMPOTENT_TOOL.test(String(options['name']));
    default:
      return false;
  }
}

/** Returns the options with an idempotency key, if the operation takes one and the caller passed none. */
export function withKey(operation: OperationName, options: Options, newKey: () => string): Options {
  const lacksKey = repeatability(operation, options) === 'withKey' && !has(options, 'idempotencyKey');
  return lacksKey ? { ...options, idempotencyKey: newKey() } : options;
}

/** Returns whether a second call has no effect beyond the first one. */
export function isRepeatable(operation: OperationName, options: Options): boolean {
  return repeatability(operation, options) !== 'notIdempotent';
}
