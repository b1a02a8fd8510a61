// The arguments of functions and methods.

import { invalidArgument } from './failures.ts';

/** Returns the options of a call of a command, which may be a command line or a program with its arguments. */
export function toCommand(command: string | readonly string[] | object, options: object = {}): object {
  if (typeof command === 'string') return { ...options, command };
  return Array.isArray(command) ? { ...options, argv: [...command] } : { ...command, ...options };
}

/** Refuses the option `name`, which would be that of the workspace of the handle. */
export function refuseName(method: string, options: object, instead: string): void {
  if (!('name' in options)) return;
  throw invalidArgument(
    `${method}() of a handle has no option \`name\`.`,
    `Pass { ${instead}: … } for the name of the new one.`,
  );
}

/** Returns the kind of a value, for messages. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
