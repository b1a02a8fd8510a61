// `npm run test:matrix`: the end-to-end suites in all columns. Closes with one line: N passed, M failed, K skipped.

import { availableParallelism } from 'node:os';

import { COLUMNS, matrix, runColumn, sum, told, type Count } from './suites.ts';

const counts: Count[] = [];
const named = process.argv.slice(2);
const columns = COLUMNS.filter(({ name }) => named.length === 0 || named.includes(name));
if (columns.length < named.length) {
  console.error(`The columns are ${COLUMNS.map(({ name }) => name).join(', ')}; got ${named.join(', ')}.`);
  process.exit(2);
}
for (const column of columns)
  counts.push(await runColumn(column, matrix(), Math.max(2, availableParallelism() - 1)));

const total = sum(counts);
console.log(told(total));
const allowed = process.env['ALLOW_SKIP'] !== undefined || total.skipped === 0;
if (!allowed) console.error('Skipped tests are failures, unless ALLOW_SKIP is set.');
process.exitCode = total.failed === 0 && allowed ? 0 : 1;
