// Who may do something with a sandbox: many who only look or capture, or one who writes.

/** A lock that is shared, or had alone. */
export class Turns {
  #shared = new Set<Promise<unknown>>();
  #alone: Promise<unknown> = Promise.resolve();

  /** Does `work` while nobody writes. */
  async shared<T>(work: () => Promise<T>): Promise<T> {
    for (let before; before !== this.#alone;) await (before = this.#alone);
    const working = work();
    const settled = working.then(
      () => {},
      () => {},
    );
    this.#shared.add(settled);
    void settled.then(() => this.#shared.delete(settled));
    return working;
  }

  /** Does `work` while nobody else does anything. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#alone;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#alone = promise;
    try {
      await before;
      await Promise.all(this.#shared);
      return await work();
    } finally {
      resolve();
    }
  }
}
