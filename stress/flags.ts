// The flags of a command: `--name number`.

/** Reads flags with their numbers; those that are not given have the number of `defaults`. Ends the process on others. */
export function readFlags<T extends Record<string, number>>(command: string, defaults: T): T {
  const flags: Record<string, number> = { ...defaults };
  const words = process.argv.slice(2);
  while (words.length > 0) {
    const name = (words.shift() ?? '').replace(/^--/, '');
    const value = Number(words.shift() ?? NaN);
    if (!(name in defaults) || !(value >= 0)) {
      const known = Object.keys(defaults).map((flag) => `[--${flag} <number>]`);
      console.error(`npm run ${command} -- ${known.join(' ')}`);
      process.exit(2);
    }
    flags[name] = value;
  }
  return flags as T;
}

/** A number for people: 41 203. */
export const grouped = (count: number) => String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ' ');
