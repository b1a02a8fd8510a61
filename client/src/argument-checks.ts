// The checks of arguments that every function and method makes. The console, whose calls are compiled with their types, has none.

import { kindOf } from './arguments.ts';
import { invalidArgument } from './failures.ts';
import { REQUIRED } from './methods.ts';
import type { OperationName } from './operations.ts';
import type { Transport } from './transport/transport.ts';

/**
 * Refuses options that are not an object. `toPass` returns what to pass: in place of a text, which it takes as JSON, or else with
 * `…` as the value.
 */
export function requireOptions(where: string, options: unknown, toPass: (text: string) => string): void {
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) return;
  const value = typeof options === 'string' ? JSON.stringify(options) : '…';
  const message = `${where} takes its options as an object, got ${kindOf(options)}.`;
  throw invalidArgument(message, `Pass ${toPass(value)}.`);
}

/** Refuses options of an operation that are not an object. */
export function requireOptionsOf(operation: OperationName, options: unknown): void {
  const method = `${operation.replace('/', '.')}()`;
  requireOptions(method, options, (text) => objectWith(REQUIRED[operation] ?? [], text));
}

/** Refuses a transport that is none. */
export function requireTransport(transport: unknown): void {
  if (typeof (transport as Partial<Transport> | undefined | null)?.send === 'function') return;
  throw invalidArgument(
    `The first argument of new SnapshotterClient() must be a transport, got ${kindOf(transport)}${transport ? ' without `send`' : ''}.`,
    'Pass `service(env.SNAPSHOTTER)` in a Worker with a service binding, or else `http({ url, token })`.',
  );
}

/** Returns the text of an object with these members. The text is the value of the only one. */
function objectWith(names: readonly string[], text: string): string {
  if (names.length === 0) return 'an object, or nothing';
  return `{ ${names.map((name) => `${name}: ${names.length === 1 ? text : '…'}`).join(', ')} }`;
}
