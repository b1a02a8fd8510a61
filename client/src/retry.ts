import { aborted } from './failures.ts';
import type { SnapshotterError } from './errors.ts';

/** How calls are made again that failed in passing. */
export interface RetryOptions {
  /** How often a call is made at most: 4 where absent. */
  attempts?: number;
  /** The longest wait before the second attempt, in milliseconds: 100 where absent. It doubles with each attempt. */
  baseMs?: number;
  /** The longest wait before any attempt, in milliseconds: 5000 where absent. */
  maxMs?: number;
  /** From 0 to 1: which part of the longest wait is waited. */
  random?: () => number;
  /** Waits; ends early when the signal fires. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Codes that say that nothing was done, so that any call can be made again. */
const UNTOUCHED: ReadonlySet<string> = new Set([
  'SERVICE_UNREACHABLE',
  'SANDBOX_BUSY',
  'SANDBOX_STARTING',
  'SNAPSHOT_BUSY',
]);

/** Codes that are no reason to give up a call which can be repeated, although the failure itself may not pass. */
const OUTCOME_UNKNOWN: ReadonlySet<string> = new Set(['ANSWER_LOST', 'WORKSPACE_UNAVAILABLE']);

/** Whether a call that failed may be made again, without any harm and with some hope. */
export function mayRepeat({ code, retryable }: SnapshotterError, repeatable: boolean): boolean {
  if (code === 'ABORTED') return false;
  if (!repeatable) return UNTOUCHED.has(code);
  return retryable || OUTCOME_UNKNOWN.has(code);
}

/** Makes a call until it succeeds, fails for good, or was made often enough. The last error is thrown. */
export async function retrying<T>(
  options: RetryOptions,
  signal: AbortSignal | undefined,
  attempt: () => Promise<T>,
  isPassing: (thrown: unknown) => boolean,
): Promise<T> {
  const { attempts = 4, baseMs = 100, maxMs = 5000, random = Math.random, sleep = wait } = options;
  for (let made = 1; ; made += 1) {
    try {
      return await attempt();
    } catch (thrown) {
      if (made >= attempts || !isPassing(thrown)) throw thrown;
    }
    await sleep(random() * Math.min(maxMs, baseMs * 2 ** (made - 1)), signal);
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
