// `npm run soak -- --minutes N --seed S`: many callers at work for long, all of it compared with a model. See docs/stress.md.

import { grouped, readFlags } from './flags.ts';
import type { Sample } from './soak/gauges.ts';
import { soak } from './soak/run.ts';

const { minutes, seed } = readFlags('soak', { minutes: 30, seed: Date.now() % 1_000_000 });
console.log(`soak: ${minutes} min, seed ${seed}`);
const { operations, compared, samples, violations } = await soak({ minutes, seed, say: console.log });

const units: Partial<Record<keyof Sample, string>> = {
  workerd: ' MB',
  node: ' MB',
  ledger: ' kB',
  names: ' kB',
};
const words: Partial<Record<keyof Sample, string>> = {
  objects: 'R2 objects',
  ledger: 'a ledger',
  names: 'workspaces and lists',
};
const [first, last] = [samples[0]!, samples.at(-1)!];
const gauges = (Object.keys(first) as (keyof Sample)[]).map(
  (gauge) =>
    `${words[gauge] ?? gauge} ${Math.round(first[gauge])} → ${Math.round(last[gauge])}${units[gauge] ?? ''}`,
);
console.log(
  `soak: ${minutes} min, seed ${seed}, ${grouped(operations)} operations, ${grouped(compared)} restores compared, ` +
    `${violations.length} violations; ${gauges.join(', ')}`,
);
process.exitCode = violations.length === 0 ? 0 : 1;
