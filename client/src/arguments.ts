// The arguments of the methods of a handle.

/** Returns the options of a call of a command, which may be a command line or a program with its arguments. */
export function toCommand(command: string | readonly string[] | object, options: object = {}): object {
  if (typeof command === 'string') return { ...options, command };
  return Array.isArray(command) ? { ...options, argv: [...command] } : { ...command, ...options };
}

/** Refuses an argument that is not an object. `insteadOf` returns what to pass in place of a text. */
export function requireOptions(method: string, options: unknown, insteadOf: (text: string) => string): void {
  if (typeof options === 'object' && options !== null) return;
  const pass =
    typeof options === 'string' ? `pass ${insteadOf(JSON.stringify(options))}.` : 'pass an object.';
  throw new TypeError(`${method}() takes its options as an object: ${pass}`);
}

/** Refuses the option `name`, which would be that of the workspace of the handle. */
export function refuseName(method: string, options: object, instead: string): void {
  if (!('name' in options)) return;
  throw new TypeError(`${method}() of a handle has no option \`name\`: pass { ${instead}: … }.`);
}
