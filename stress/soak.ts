// `npm run soak -- --minutes N --seed S`: callers work for a long time, and all results are compared with a model. See
// docs/stress.md.

import { grouped, readFlags } from './flags.ts';
import type { Sample } from './soak/gauges.ts';
import { soak } from './soak/run.ts';

const { minutes, seed } = readFlags('soak', { minutes: 30, seed: Date.now() % 1_000_000 });
console.log(`soak: ${minutes} min, seed ${seed}`);
const { operations, compared, samples, violations } = await soak({ minutes, seed, print: console.log });

const units: Partial<Record<keyof Sample, string>> = {
  workerd: ' MB',
  node: ' MB',
  ledger: ' kB',
  names: ' kB',
};
const labels: Partial<Record<keyof Sample, string>> = {
  objects: 'R2 objects',
  active: 'active objects',
  ledger: 'ledger size',
  names: 'named workspaces',
};
const [first, last] = [samples[0]!, samples.at(-1)!];
const gauges = (Object.keys(first) as (keyof Sample)[]).map(
  (gauge) =>
    `${labels[gauge] ?? gauge} ${Math.round(first[gauge])} → ${Math.round(last[gauge])}${units[gauge] ?? ''}`,
);
console.log(
  `soak: ${minutes} min, seed ${seed}, ${grouped(operations)} operations, ${grouped(compared)} restores compared, ` +
    `${violations.length} violations; ${gauges.join(', ')}`,
);
process.exitCode = violations.length === 0 ? 0 : 1;
