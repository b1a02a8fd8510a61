// `npm run chaos -- --rounds N --seed S`: callers work while faults are injected, and the guarantees are checked. See
// docs/stress.md.

import { chaos } from './chaos/run.ts';
import { grouped, readFlags } from './flags.ts';

const { rounds, seed } = readFlags('chaos', { rounds: 40, seed: Date.now() % 1_000_000 });
console.log(`chaos: ${rounds} rounds, seed ${seed}`);
const { operations, faults, violations } = await chaos({ rounds, seed, print: console.log });

const each = Object.entries(faults).map(([fault, times]) => `${grouped(times)} × ${fault}`);
const total = Object.values(faults).reduce((sum, times) => sum + times, 0);
console.log(
  `chaos: ${grouped(rounds)} rounds, seed ${seed}, ${grouped(operations)} operations, ` +
    `${grouped(total)} faults (${each.join(', ')}), ${violations.length} violations`,
);
process.exitCode = violations.length === 0 ? 0 : 1;
