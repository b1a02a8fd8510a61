import { aborted } from './failures.ts';

/**
 * Waits for the work until the signal fires, even if the work ignores the signal.
 *
 * @throws ABORTED if the signal fires. If it has already fired, the work does not begin.
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
