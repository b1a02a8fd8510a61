// `npm run fuzz`: gives every target inputs for a while, and closes with one line: targets, inputs, findings.
// See docs/fuzzing.md.

import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { at, environment, output, run } from '../scripts/setup.mjs';
import { keep } from './keep.mjs';

const CARGO_FUZZ = '0.13.1';

/** Where everything is that is not kept. */
const WORK = 'target/fuzz';

/** How many targets run at the same time. */
const AT_ONCE = 2;

/** What an input may take: more of it is a finding. */
const LIMITS = ['-timeout=5', '-rss_limit_mb=256', '-max_len=65536'];

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    target: { type: 'string', multiple: true },
    keep: { type: 'boolean', default: false },
  },
});

const known = readdirSync(at('fuzz/corpus')).sort();
const targets = options.target ?? known;
const unknown = targets.find((target) => !known.includes(target));
if (unknown !== undefined || !/^[1-9]\d*$/.test(options.seconds)) {
  console.error('Usage: npm run fuzz -- [--seconds N] [--target X]… [--keep]');
  console.error(`The targets are ${known.join(', ')}.`);
  process.exit(2);
}

build();
const waiting = [...targets];
const results = (await Promise.all(Array.from({ length: AT_ONCE }, work))).flat();
for (const target of options.keep ? targets : []) {
  const kept = keep(at(program(target)), at('fuzz/corpus', target), at(WORK, 'corpus', target));
  console.log(`${target}: ${kept} inputs are kept`);
}

const inputs = results.reduce((sum, result) => sum + result.inputs, 0);
const findings = results.filter((result) => !result.ok).length;
console.log(`${results.length} targets, ${grouped(inputs)} inputs, ${findings} findings`);
process.exitCode = findings === 0 ? 0 : 1;

/** Builds every target, with the toolchain of the project: no sanitizer, which only a nightly one has. */
function build() {
  if (!output(at('.tools/bin/cargo-fuzz'), ['--version'])?.includes(CARGO_FUZZ)) {
    run('cargo', ['install', 'cargo-fuzz', '--version', CARGO_FUZZ, '--locked', '--root', at('.tools')]);
  }
  run(at('.tools/bin/cargo-fuzz'), ['build', '--sanitizer', 'none', '--target-dir', at(WORK)]);
}

/** Runs targets, one after the other, as long as there are any. */
async function work() {
  const done = [];
  for (let target = waiting.shift(); target !== undefined; target = waiting.shift()) {
    done.push(await fuzz(target));
  }
  return done;
}

/** Runs a target, and tells what came of it: how many inputs, and whether it went well to the end. */
async function fuzz(/** @type {string} */ target) {
  mkdirSync(at(WORK, 'corpus', target), { recursive: true });
  mkdirSync(at(WORK, 'findings', target), { recursive: true });
  const { status, printed } = await libfuzzer(target, [
    `-max_total_time=${options.seconds}`,
    `-dict=${at('fuzz/words.dict')}`,
    `-artifact_prefix=${at(WORK, 'findings', target)}/`,
    '-print_final_stats=1',
    ...LIMITS,
    at(WORK, 'corpus', target),
    at('fuzz/corpus', target),
  ]);
  const stat = (/** @type {string} */ name) =>
    Number(new RegExp(`stat::${name}:\\s+(\\d+)`).exec(printed)?.[1] ?? 0);
  const inputs = stat('number_of_executed_units');
  const ok = status === 0 && inputs > 0;
  console.log(
    `${target}: ${grouped(inputs)} inputs, ${stat('peak_rss_mb')} MB${ok ? '' : `, a finding:\n${printed.slice(-8000)}`}`,
  );
  if (!ok) console.log(`Again: ${program(target)} <the file in ${WORK}/findings/${target}>`);
  return { inputs, ok };
}

/** Runs a target's program to its end. */
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

/** Where the program of a target is. */
function program(/** @type {string} */ target) {
  const host = /^host: (.+)$/m.exec(output('rustc', ['-vV']) ?? '')?.[1];
  return `${WORK}/${host}/release/${target}`;
}

/** A number with its thousands apart. */
function grouped(/** @type {number} */ number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ' ');
}
