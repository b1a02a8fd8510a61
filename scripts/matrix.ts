// `npm run test:matrix`: runs the end-to-end suites in all columns, or in the columns that the arguments name. The last line is
// `N passed, M failed, K skipped`.

import { availableParallelism } from 'node:os';

import { COLUMNS, formatCount, matrixSuites, runSuites } from './suites.ts';

const names = process.argv.slice(2);
const columns = COLUMNS.filter(({ name }) => names.length === 0 || names.includes(name));
if (columns.length < names.length) {
  console.error(
    `A column must be one of ${COLUMNS.map(({ name }) => name).join(', ')}; got ${names.join(', ')}.`,
  );
  process.exit(2);
}
const runs = columns.flatMap((column) => matrixSuites().map((suite) => ({ suite, column })));
const total = await runSuites(runs, Math.max(2, availableParallelism() - 1));
console.log(formatCount(total));
const skipsAllowed = process.env['ALLOW_SKIP'] !== undefined || total.skipped === 0;
if (!skipsAllowed) console.error('Skipped tests count as failures. Set ALLOW_SKIP to allow them.');
process.exitCode = total.failed === 0 && skipsAllowed ? 0 : 1;
