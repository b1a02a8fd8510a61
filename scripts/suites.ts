// The end-to-end suites that hold in every column, and how they are run there.

import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';

import { checkHost } from '../local-engine/index.ts';
import type { Mode } from './local.ts';
import { at, environment } from './setup.mjs';

/** Where a promise is tested: a runtime of sandboxes, and how archives travel in it. */
export interface Column {
  name: string;
  mode: Mode;
}

/** All columns. */
export const COLUMNS: Column[] = [
  { name: '0.12-local', mode: 'local' },
  { name: '0.12-production', mode: 'production' },
];

/** The suites of snapshots, workspaces, checkpoints and recovery. */
export function matrix(): string[] {
  const names =
    'abort,adopt,crossing,excludes,failures,fidelity,guard,idempotency,import,ledger,lineage,main-job,recovery,retention,sweep,unanswered';
  const folders = ['workspaces', 'checkpoints'].map((folder) => `miniflare-tests/${folder}/*.test.ts`);
  return globSync([`miniflare-tests/{${names}}.test.ts`, ...folders], { cwd: at() }).sort();
}

/** Those of them that `npm test` runs in production mode as well, because they are fast and meet most of it. */
export function fast(): string[] {
  const snapshots = 'adopt,guard,import,lineage,main-job,sweep';
  const workspaces = 'environment,fork,lifecycle,rollback,sessions,stop';
  return globSync(
    [`miniflare-tests/{${snapshots}}.test.ts`, `miniflare-tests/workspaces/{${workspaces}}.test.ts`],
    {
      cwd: at(),
    },
  ).sort();
}

/** How many tests a runner counted. */
export interface Count {
  passed: number;
  failed: number;
  skipped: number;
}

/** Adds up. */
export function sum(counts: Count[]): Count {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const { passed, failed, skipped } of counts) {
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
  }
  return total;
}

/**
 * Runs suites in a column, `atOnce` of them at the same time. Each is told in a line, with all that it printed where a
 * test failed. Where the machine can't run the column they are skipped, and named.
 */
export async function runColumn({ name, mode }: Column, suites: string[], atOnce: number): Promise<Count> {
  const missing = checkHost(mode);
  if (missing.length > 0) {
    console.log(`Skipped in ${name}, because of this machine:\n${missing.join('\n')}\n${suites.join('\n')}`);
    return { passed: 0, failed: 0, skipped: suites.length };
  }
  const waiting = [...suites];
  const counts: Count[] = [];
  const work = async () => {
    for (let suite = waiting.shift(); suite !== undefined; suite = waiting.shift()) {
      const began = performance.now();
      const { count, output } = await runSuite(suite, mode);
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      if (count.failed > 0) console.log(output);
      console.log(`${name}  ${suite}: ${told(count)} (${seconds} s)`);
      counts.push(count);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return sum(counts);
}

/** `N passed, M failed, K skipped`. */
export function told({ passed, failed, skipped }: Count): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** Runs one file of tests. One that breaks counts as a failure. */
async function runSuite(suite: string, mode: Mode): Promise<{ count: Count; output: string }> {
  const args = ['--test', '--test-reporter=spec', '--test-timeout=600000', suite];
  const env = environment({ SANDBOX_MODE: mode });
  const child = spawn('node', args, { cwd: at(), env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', resolve);
  });
  const counted = (what: string) => Number(new RegExp(`^ℹ ${what} (\\d+)$`, 'm').exec(output)?.[1] ?? 0);
  const count = {
    passed: counted('pass'),
    failed: counted('fail') + counted('cancelled'),
    skipped: counted('skipped') + counted('todo'),
  };
  if ((status !== 0 && count.failed === 0) || count.passed + count.skipped === 0) count.failed += 1;
  return { count, output };
}
