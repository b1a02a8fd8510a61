// A seeded source of random decisions.

/** A random number generator. The same seed gives the same decisions. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e3779b1) ^ (seed / 2 ** 32);
  }

  /** Returns a number in [0, 1) (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Returns an integer in [0, `limit`). */
  below(limit: number): number {
    return Math.trunc(this.next() * limit);
  }

  /** Returns true with this probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Returns one of the values. */
  of<T>(values: readonly T[]): T {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new RangeError('`values` must not be empty.');
    return value;
  }

  /** Returns one of the values, or undefined if there are none. */
  maybe<T>(values: readonly T[]): T | undefined {
    return values.length === 0 ? undefined : this.of(values);
  }

  /** Returns one of the values, with a probability proportional to its weight. */
  weighted<T>(values: readonly (readonly [weight: number, value: T])[]): T {
    let left = this.next() * values.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of values) {
      left -= weight;
      if (left < 0) return value;
    }
    return this.of(values)[1];
  }

  /** Returns a word of lower-case letters and digits. */
  word(length: number): string {
    return Array.from({ length }, () => this.below(36).toString(36)).join('');
  }

  /** Returns an independent generator: later calls of this one don't change its decisions. */
  fork(): Random {
    return new Random(this.below(2 ** 31));
  }
}
