// The flags of a command: `--name number`.

/** Parses flags with numbers, with `defaults` for absent flags. Prints the usage and exits for unknown flags. */
export function readFlags<T extends Record<string, number>>(command: string, defaults: T): T {
  const flags: Record<string, number> = { ...defaults };
  const args = process.argv.slice(2);
  while (args.length > 0) {
    const name = (args.shift() ?? '').replace(/^--/, '');
    const value = Number(args.shift() ?? NaN);
    if (!(name in defaults) || !(value >= 0)) {
      const usage = Object.keys(defaults).map((flag) => `[--${flag} <number>]`);
      console.error(`Usage: npm run ${command} -- ${usage.join(' ')}`);
      process.exit(2);
    }
    flags[name] = value;
  }
  return flags as T;
}

/** Formats a number with spaces between its thousands: 41 203. */
export const grouped = (count: number) => String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ' ');
