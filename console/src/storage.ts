// Storage of the browser that may be forbidden.

/** Returns the result of `work`; undefined if the browser forbids the storage. */
export function tryStorage<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
