// A lock for the files of a sandbox: several readers, or one writer.

/** A read-write lock. */
export class ReadWriteLock {
  #readers = new Set<Promise<unknown>>();
  #writer: Promise<unknown> = Promise.resolve();

  /** Runs `work` while no writer runs. */
  async read<T>(work: () => Promise<T>): Promise<T> {
    for (let awaited; awaited !== this.#writer;) await (awaited = this.#writer);
    const outcome = work();
    const done = outcome.then(
      () => {},
      () => {},
    );
    this.#readers.add(done);
    void done.then(() => this.#readers.delete(done));
    return outcome;
  }

  /** Runs `work` exclusively. */
  async write<T>(work: () => Promise<T>): Promise<T> {
    const previous = this.#writer;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#writer = promise;
    try {
      await previous;
      await Promise.all(this.#readers);
      return await work();
    } finally {
      resolve();
    }
  }
}
