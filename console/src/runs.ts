// Runs of similar items in a list.

/** Splits a list into runs of consecutive items with the same key. An item without a key is a run of its own. */
export function runsOf<T>(items: readonly T[], keyOf: (item: T) => string | undefined): [T, ...T[]][] {
  const runs: [T, ...T[]][] = [];
  let last: string | undefined;
  for (const item of items) {
    const key = keyOf(item);
    const run = key !== undefined && key === last ? runs.at(-1) : undefined;
    if (run) run.push(item);
    else runs.push([item]);
    last = key;
  }
  return runs;
}
