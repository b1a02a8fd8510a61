import { aborted } from './failures.ts';

/**
 * Waits for some work until the signal fires, whatever the work makes of the signal.
 *
 * @throws ABORTED, without beginning the work where the signal has fired already.
 */
export async function untilAborted<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  if (!signal) return work();
  if (signal.aborted) throw aborted(signal);
  let stop: (() => void) | undefined;
  const fired = new Promise<never>((_, reject) => {
    stop = () => reject(aborted(signal));
    signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([work(), fired]);
  } finally {
    if (stop) signal.removeEventListener('abort', stop);
  }
}
