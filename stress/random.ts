// Decisions that a seed determines.

/** A source of decisions: the same seed gives the same ones. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e3779b1) ^ (seed / 2 ** 32);
  }

  /** A number from 0 to below 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from 0 to below `limit`. */
  below(limit: number): number {
    return Math.trunc(this.next() * limit);
  }

  /** Yes, so often. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** One of several. */
  of<T>(values: readonly T[]): T {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new RangeError('There is nothing to choose from.');
    return value;
  }

  /** One of several, or none where there is none. */
  maybe<T>(values: readonly T[]): T | undefined {
    return values.length === 0 ? undefined : this.of(values);
  }

  /** One of several, each as often as its weight says. */
  weighted<T>(values: readonly (readonly [weight: number, value: T])[]): T {
    let left = this.next() * values.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of values) {
      left -= weight;
      if (left < 0) return value;
    }
    return this.of(values)[1];
  }

  /** Lower case letters and digits. */
  word(length: number): string {
    return Array.from({ length }, () => this.below(36).toString(36)).join('');
  }

  /** A source of its own: what it decides does not depend on how often this one is asked from now on. */
  fork(): Random {
    return new Random(this.below(2 ** 31));
  }
}
