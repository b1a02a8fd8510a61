// `npm test`: runs all tests: native ones, and beside them the suites in workerd, each in one or two columns of the test matrix.
// The last line is `N passed, M failed`.

import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';

import { TESTED, at, environment } from './setup.mjs';
import { runSuites, sum, testedRuns, type Count, type Run } from './suites.ts';

/** The number of suites that run at the same time. They mostly wait for Workers. */
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
  { cwd: at() },
).sort();

/** The suites that take longest. They start first, so that no core is idle at the end. */
const LONGEST = [
  'miniflare-tests/workspaces/sessions.test.ts',
  'miniflare-tests/openapi/schemathesis.test.ts',
  'miniflare-tests/local-development/run-your-agent.test.ts',
  'miniflare-tests/incremental/deltas.test.ts',
  'miniflare-tests/recovery.test.ts',
  'miniflare-tests/workspaces/unanswered.test.ts',
];

const runs = testedRuns(suites).sort((a, b) => rank(a) - rank(b));
// Some native tests use one core only.
const { passed, failed } = sum(await Promise.all([runNativeTests(), runSuites(runs, CONCURRENCY)]));
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** Returns the position of a suite in {@link LONGEST}; for others, a later one. */
function rank({ suite }: Run): number {
  const position = LONGEST.indexOf(suite);
  return position === -1 ? LONGEST.length : position;
}

/** Runs the tests of cargo, and adds up its summary lines. A crash, or a run without tests, counts as a failure. */
async function runNativeTests(): Promise<Count> {
  const { status, output } = await run('cargo', ['test', ...TESTED, '--locked', '--no-fail-fast']);
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const [, passed, failed] of output.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed/gm)) {
    total.passed += Number(passed);
    total.failed += Number(failed);
  }
  if ((status !== 0 && total.failed === 0) || total.passed === 0) total.failed += 1;
  return total;
}

/** Runs a command, prints its output when it ends, apart from that of the suites, and returns it. */
function run(command: string, args: string[]): Promise<{ status: number | null; output: string }> {
  const child = spawn(command, args, {
    cwd: at(),
    env: environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject).on('close', (status) => {
      process.stdout.write(output);
      resolve({ status, output });
    });
  });
}
