// `npm test`: runs all tests, native and in workerd, and some end-to-end suites also in the other columns of the
// test matrix. The last line is `N passed, M failed`.

import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';

import { TESTED, at, environment } from './setup.mjs';
import { COLUMNS, runColumn, sum, type Count } from './suites.ts';

/** The number of test files that run at the same time. They mostly wait for Workers. */
const CONCURRENCY = 2 * availableParallelism();

const suites = globSync(
  [
    'local-engine/*.test.ts',
    'client/test/*.test.ts',
    'console/test/*.test.ts',
    'reference/test/*.test.ts',
    'miniflare-tests/**/*.test.ts',
    'bench/*.test.ts',
    'stress/*.test.ts',
  ],
  {
    cwd: at(),
  },
);
const counts = [
  await count(
    'cargo',
    ['test', ...TESTED, '--locked', '--no-fail-fast'],
    /^test result: \w+\. (\d+) passed; (\d+) failed/gm,
  ),
  await count(
    'node',
    [
      '--test',
      '--test-reporter=spec',
      `--test-concurrency=${CONCURRENCY}`,
      '--test-timeout=600000',
      ...suites.sort(),
    ],
    /^ℹ pass (\d+)\nℹ fail (\d+)/gm,
  ),
];
for (const column of COLUMNS) counts.push(await runColumn(column, column.fast, CONCURRENCY));

const { passed, failed } = sum(counts);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/**
 * Runs a test runner, prints its output, and adds up its summary lines. A crash, or a run without tests, counts as a
 * failure.
 */
async function count(command: string, args: string[], summary: RegExp): Promise<Count> {
  const startedAt = performance.now();
  const { status, output } = await run(command, args);
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const [, passed, failed] of output.matchAll(summary)) {
    total.passed += Number(passed);
    total.failed += Number(failed);
  }
  if ((status !== 0 && total.failed === 0) || total.passed === 0) total.failed += 1;
  console.log(`${command} ran for ${Math.round((performance.now() - startedAt) / 1000)} s.`);
  return total;
}

function run(command: string, args: string[]): Promise<{ status: number | null; output: string }> {
  const child = spawn(command, args, {
    cwd: at(),
    env: environment({ SANDBOX_MODE: 'local' }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    process.stdout.write(text);
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject).on('close', (status) => resolve({ status, output }));
  });
}
