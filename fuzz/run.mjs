// `npm run fuzz`: runs every fuzz target for a limited time, and prints a summary line at the end. See docs/fuzzing.md.

import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { at, environment, output, run } from '../scripts/setup.mjs';
import { extractGenerated, namedInputs, targetNames } from './corpus.mjs';
import { keep } from './keep.mjs';

const CARGO_FUZZ = '0.13.1';

/** The folder of builds, generated inputs and findings. */
const WORK = 'target/fuzz';

/** The number of targets that run at the same time. */
const CONCURRENCY = 2;

/** The limits of an input. An input that exceeds one is a finding. */
const LIMITS = ['-timeout=5', '-rss_limit_mb=256', '-max_len=65536'];

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    target: { type: 'string', multiple: true },
    keep: { type: 'boolean', default: false },
  },
});

const known = targetNames();
const targets = options.target ?? known;
const unknown = targets.find((target) => !known.includes(target));
if (unknown !== undefined || !/^[1-9]\d*$/.test(options.seconds)) {
  console.error('Usage: npm run fuzz -- [--seconds N] [--target X]… [--keep]');
  console.error(`The targets are ${known.join(', ')}.`);
  process.exit(2);
}

build();
const waiting = [...targets];
const results = (await Promise.all(Array.from({ length: CONCURRENCY }, work))).flat();
for (const target of options.keep ? targets : []) {
  const kept = keep(at(program(target)), target, at(WORK, 'corpus', target));
  console.log(`${target}: ${kept} inputs in the corpus`);
}

const inputs = results.reduce((sum, result) => sum + result.inputs, 0);
const findings = results.filter((result) => !result.ok).length;
console.log(`${results.length} targets, ${grouped(inputs)} inputs, ${findings} findings`);
process.exitCode = findings === 0 ? 0 : 1;

/** Builds every target with the toolchain of the project, without a sanitizer: sanitizers need a nightly toolchain. */
function build() {
  if (!output(at('.tools/bin/cargo-fuzz'), ['--version'])?.includes(CARGO_FUZZ)) {
    run('cargo', ['install', 'cargo-fuzz', '--version', CARGO_FUZZ, '--locked', '--root', at('.tools')]);
  }
  run(at('.tools/bin/cargo-fuzz'), ['build', '--sanitizer', 'none', '--target-dir', at(WORK)]);
}

/** Runs waiting targets, one after the other. */
async function work() {
  const done = [];
  for (let target = waiting.shift(); target !== undefined; target = waiting.shift()) {
    done.push(await fuzz(target));
  }
  return done;
}

/** Runs a target. Returns the number of inputs, and whether it ended without a finding. */
async function fuzz(/** @type {string} */ target) {
  extractGenerated(target, at(WORK, 'corpus', target));
  mkdirSync(at(WORK, 'findings', target), { recursive: true });
  const { status, printed } = await libfuzzer(target, [
    `-max_total_time=${options.seconds}`,
    `-dict=${at('fuzz/words.dict')}`,
    `-artifact_prefix=${at(WORK, 'findings', target)}/`,
    '-print_final_stats=1',
    ...LIMITS,
    at(WORK, 'corpus', target),
    namedInputs(target),
  ]);
  const stat = (/** @type {string} */ name) =>
    Number(new RegExp(`stat::${name}:\\s+(\\d+)`).exec(printed)?.[1] ?? 0);
  const inputs = stat('number_of_executed_units');
  const ok = status === 0 && inputs > 0;
  console.log(
    `${target}: ${grouped(inputs)} inputs, ${stat('peak_rss_mb')} MB${ok ? '' : `, a finding:\n${printed.slice(-8000)}`}`,
  );
  if (!ok) console.log(`To reproduce: ${program(target)} <the file in ${WORK}/findings/${target}>`);
  return { inputs, ok };
}

/** Runs the program of a target to its end. */
function libfuzzer(/** @type {string} */ target, /** @type {string[]} */ args) {
  const child = spawn(at(program(target)), args, {
    cwd: at(),
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      printed = (printed + text).slice(-100_000);
    });
  }
  return /** @type {Promise<{ status: number | null, printed: string }>} */ (
    new Promise((resolve, reject) => {
      child.on('error', reject).on('close', (status) => resolve({ status, printed }));
    })
  );
}

/** The path of a target's program. */
function program(/** @type {string} */ target) {
  const host = /^host: (.+)$/m.exec(output('rustc', ['-vV']) ?? '')?.[1];
  return `${WORK}/${host}/release/${target}`;
}

/** Formats a number with spaces between its thousands. */
function grouped(/** @type {number} */ number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ' ');
}
