// How much memory workerd takes.

import { readdir, readFile } from 'node:fs/promises';

/** How often it is looked, in milliseconds. */
const EVERY = 250;

/** The resident memory in MB of the workerd that this process has started. */
export async function memory(): Promise<number> {
  for (const pid of await readdir('/proc')) {
    // Processes that have just ended can't be read.
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1];
    if (field('Name') === 'workerd' && field('PPid') === String(process.pid))
      return Math.round(Number(field('VmRSS')) / 1024);
  }
  throw new Error('No workerd runs.');
}

/** The most that it takes while some work is done, in MB. */
export async function highest(work: Promise<unknown>): Promise<number> {
  let most = await memory();
  const timer = setInterval(async () => {
    most = Math.max(most, await memory().catch(() => 0));
  }, EVERY);
  await work.finally(() => clearInterval(timer));
  return most;
}
