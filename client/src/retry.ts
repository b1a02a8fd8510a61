import { aborted } from './failures.ts';
import type { SnapshotterError } from './errors.ts';

/** The policy for retries of calls that failed with a transient error. */
export interface RetryOptions {
  /** The maximum number of attempts per call; 4 if absent. */
  attempts?: number;
  /** The maximum delay before the second attempt, in milliseconds; 100 if absent. It doubles with each attempt. */
  baseMs?: number;
  /** The maximum delay before any attempt, in milliseconds; 5000 if absent. */
  maxMs?: number;
  /** Returns the fraction of the maximum delay to wait, from 0 to 1. */
  random?: () => number;
  /** Waits for a duration in milliseconds, or until the signal fires. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** The codes of calls that had no effect, so that any call can be repeated. */
const NO_EFFECT: ReadonlySet<string> = new Set([
  'SERVICE_UNREACHABLE',
  'SANDBOX_BUSY',
  'SANDBOX_STARTING',
  'SNAPSHOT_BUSY',
]);

/** The codes of calls with an unknown outcome. Such a call is retried if it is repeatable, even if it is not transient. */
const OUTCOME_UNKNOWN: ReadonlySet<string> = new Set(['ANSWER_LOST', 'WORKSPACE_UNAVAILABLE']);

/** Returns whether a failed call had no effect. */
export function hadNoEffect({ code }: SnapshotterError): boolean {
  return NO_EFFECT.has(code);
}

/** Returns whether to retry a failed call: a second call must be safe, and must have a chance to succeed. */
export function allowsRetry({ code, retryable }: SnapshotterError, repeatable: boolean): boolean {
  if (code === 'ABORTED') return false;
  if (!repeatable) return NO_EFFECT.has(code);
  return retryable || OUTCOME_UNKNOWN.has(code);
}

/** Repeats a call until it succeeds, until its error is not retryable, or until the attempts are exhausted. */
export async function withRetries<T>(
  options: RetryOptions,
  signal: AbortSignal | undefined,
  attempt: () => Promise<T>,
  isRetryable: (thrown: unknown) => boolean,
): Promise<T> {
  const { attempts = 4, baseMs = 100, maxMs = 5000, random = Math.random, sleep = wait } = options;
  for (let attempted = 1; ; attempted += 1) {
    try {
      return await attempt();
    } catch (thrown) {
      if (attempted >= attempts || !isRetryable(thrown)) throw thrown;
    }
    await sleep(random() * Math.min(maxMs, baseMs * 2 ** (attempted - 1)), signal);
    if (signal?.aborted) throw aborted(signal);
  }
}

function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });
}
