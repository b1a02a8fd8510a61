// The memory of workerd.

import { readdir, readFile } from 'node:fs/promises';

/** The interval between measurements, in milliseconds. */
const INTERVAL = 250;

/** Measures the resident memory of the workerd process that this process has started, in MB. */
export async function memory(): Promise<number> {
  for (const pid of await readdir('/proc')) {
    // A process may have ended in the meantime.
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1];
    if (field('Name') === 'workerd' && field('PPid') === String(process.pid))
      return Math.round(Number(field('VmRSS')) / 1024);
  }
  throw new Error('workerd is not running.');
}

/** Measures the maximum of the resident memory until the work is done, in MB. */
export async function peakMemory(work: Promise<unknown>): Promise<number> {
  let peak = await memory();
  const timer = setInterval(async () => {
    peak = Math.max(peak, await memory().catch(() => 0));
  }, INTERVAL);
  await work.finally(() => clearInterval(timer));
  return peak;
}
