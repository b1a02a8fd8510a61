// One check of an assumption about Cloudflare, and its result.

import { isDeepStrictEqual } from 'node:util';

import type { Account } from './account.ts';

/** An assumption of this project about the platform, which can be observed. */
export interface Check {
  /** Its name in the report. */
  name: string;
  /** The assumption, as a sentence. */
  assumption: string;
  /** The observation that the assumption predicts: a value, or the limit of a time. */
  expected: unknown;
  observe(account: Account): Promise<unknown>;
}

/** The result of a check. */
export interface Result extends Pick<Check, 'name' | 'assumption' | 'expected'> {
  /** `failed`: there is no observation, and `observed` is the error. `skipped`: `observed` is the reason. */
  outcome: 'as assumed' | 'different' | 'failed' | 'skipped';
  observed: unknown;
}

/** The reason why an observation is not possible on the checked deployment. */
export class Skipped extends Error {}

/** The limit of an observed time. */
export class AtMost {
  readonly milliseconds: number;

  constructor(milliseconds: number) {
    this.milliseconds = milliseconds;
  }

  toJSON(): string {
    return `at most ${this.milliseconds} ms`;
  }
}

/** Makes one observation. */
export async function run({ name, assumption, expected, observe }: Check, account: Account): Promise<Result> {
  try {
    const observed = await observe(account);
    const isExpected =
      expected instanceof AtMost
        ? typeof observed === 'number' && observed <= expected.milliseconds
        : isDeepStrictEqual(observed, expected);
    return { name, assumption, expected, observed, outcome: isExpected ? 'as assumed' : 'different' };
  } catch (error) {
    if (error instanceof Skipped)
      return { name, assumption, expected, observed: error.message, outcome: 'skipped' };
    return { name, assumption, expected, observed: String(error), outcome: 'failed' };
  }
}

/** Returns a function that does its work once for each account. Several checks observe different results of it. */
export function once<T>(work: (account: Account) => Promise<T>): (account: Account) => Promise<T> {
  const results = new WeakMap<Account, Promise<T>>();
  return (account) => {
    const result = results.get(account) ?? work(account);
    results.set(account, result);
    return result;
  };
}

/** Returns the time that work takes in whole milliseconds, and its result. */
export async function timed<T>(work: () => Promise<T>): Promise<{ milliseconds: number; result: T }> {
  const startedAt = performance.now();
  const result = await work();
  return { milliseconds: Math.round(performance.now() - startedAt), result };
}
