// The end-to-end suites that pass in every column, and their runner.

import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { checkHost } from '../local-engine/index.ts';
import type { Mode } from './local.ts';
import { at, environment } from './setup.mjs';

/** An environment of the test matrix: a class of sandboxes, and for that of the SDK 0.12 a mode of archive transfer. */
export interface Column {
  name: string;
  mode: Mode;
  /** The suites that `npm test` runs in this column. */
  tested: string[];
}

/**
 * All columns, and what `npm test` runs in them. It runs each suite of a column in production, or with the class of the client,
 * instead of the first column, in which it runs all others. `npm run test:matrix` runs {@link matrixSuites} in all columns.
 */
export const COLUMNS: [Column, ...Column[]] = [
  { name: '0.12-local', mode: 'local', tested: [] },
  {
    name: '0.12-production',
    mode: 'production',
    tested: suites(
      '{adopt,broken-container,coalescing,diff-sandbox,freeze,full-disk,import,main-job,provenance,restore-files,revive,sweep}',
      'exec/{background,workspaces}',
      'workspaces/{environment,fork,lifecycle,promote,recovery,rollback,sessions,stop}',
    ),
  },
  {
    name: 'container',
    mode: 'container',
    tested: suites(
      '{broken-container,diff-sandbox,freeze,full-disk,main-job,provenance,restore-files,revive}',
      'exec/{background,workspaces}',
      'workspaces/{environment,lifecycle,recovery,stop}',
    ),
  },
];

/** Returns the runs of `npm test`. A suite whose columns this machine can't run, runs in the first one. */
export function testedRuns(all: string[]): Run[] {
  const [first, ...others] = COLUMNS;
  const runs = others.flatMap((column) => column.tested.map((suite) => ({ suite, column })));
  const possible = runs.filter(({ column }) => missingFor(column).length === 0);
  const rest = all.filter((suite) => !possible.some((run) => run.suite === suite));
  return [...runs, ...rest.map((suite) => ({ suite, column: first }))];
}

/** Returns the suites of snapshots, their files, workspaces, commands, checkpoints and recovery, and of a whole project. */
export function matrixSuites(): string[] {
  const names =
    'abort,adopt,broken-container,coalescing,concurrent-calls,diff,diff-sandbox,downloads,excludes,failures,fidelity,freeze,full-disk,idempotency,import,ledger,lineage,main-job,provenance,recovery,restore-files,retention,revive,secrets,short-refs,sweep,unanswered';
  return suites(`{${names}}`, '{checkpoints,exec,incremental,workspaces}/*', 'mcp/project');
}

/** Returns the suites whose names match one of these patterns. */
function suites(...patterns: string[]): string[] {
  return globSync(
    patterns.map((pattern) => `miniflare-tests/${pattern}.test.ts`),
    { cwd: at() },
  ).sort();
}

/** The results of a test run. */
export interface Count {
  passed: number;
  failed: number;
  skipped: number;
}

/** Adds up results. */
export function sum(counts: Count[]): Count {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const { passed, failed, skipped } of counts) {
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
  }
  return total;
}

/** A suite, and the column in which it runs. */
export interface Run {
  suite: string;
  column: Column;
}

/**
 * Runs suites, at most `concurrency` at the same time. Prints one line for each suite, and its output if a test failed. Skips
 * the suites of a column that the machine can't run.
 */
export async function runSuites(runs: Run[], concurrency: number): Promise<Count> {
  const queue = runs.filter(({ column }) => missingFor(column).length === 0);
  for (const column of COLUMNS) {
    const skipped = runs.filter((run) => run.column === column && !queue.includes(run));
    if (skipped.length === 0) continue;
    const reasons = missingFor(column).join('\n');
    const names = skipped.map(({ suite }) => suite).join('\n');
    console.log(`Skipped in ${column.name}, which this machine can't run:\n${reasons}\n${names}`);
  }
  const counts: Count[] = [{ passed: 0, failed: 0, skipped: runs.length - queue.length }];
  const bundles = mkdtempSync(join(tmpdir(), 'bundles-'));
  const worker = async () => {
    for (let run = queue.shift(); run !== undefined; run = queue.shift()) {
      const startedAt = performance.now();
      const { count, output } = await runSuite(run, bundles);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      if (count.failed > 0) console.log(output);
      console.log(`${run.column.name}  ${run.suite}: ${formatCount(count)} (${seconds} s)`);
      counts.push(count);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  rmSync(bundles, { recursive: true });
  return sum(counts);
}

/** Returns what the machine lacks for the sandboxes of a column. */
function missingFor({ mode }: Column): string[] {
  return checkHost(mode === 'production' ? mode : 'local');
}

/** Formats results as `N passed, M failed, K skipped`. */
export function formatCount({ passed, failed, skipped }: Count): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** How long a test may take, in milliseconds: Schemathesis needs over 10 minutes on a machine of half the usual speed. */
const TEST_TIMEOUT = 1_500_000;

/**
 * Runs one test file, which shares a folder of bundles with others. A crash, or a file without tests, counts as a failure.
 */
async function runSuite({ suite, column }: Run, bundles: string): Promise<{ count: Count; output: string }> {
  const hook = ['--import', './scripts/miniflare-hook.mjs'];
  const args = [...hook, '--test', '--test-reporter=spec', `--test-timeout=${TEST_TIMEOUT}`, suite];
  // Tests call no server outside, and Miniflare takes a quarter of a second to configure the certificates of this variable.
  const env = environment({
    SANDBOX_MODE: column.mode,
    NODE_EXTRA_CA_CERTS: undefined,
    KEPT_BUNDLES: bundles,
  });
  const child = spawn('node', args, { cwd: at(), env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', resolve);
  });
  const summary = (what: string) => Number(new RegExp(`^ℹ ${what} (\\d+)$`, 'm').exec(output)?.[1] ?? 0);
  const count = {
    passed: summary('pass'),
    failed: summary('fail') + summary('cancelled'),
    skipped: summary('skipped') + summary('todo'),
  };
  if ((status !== 0 && count.failed === 0) || count.passed + count.skipped === 0) count.failed += 1;
  return { count, output };
}
