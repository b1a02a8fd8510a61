// Minimizes the corpus of a target: selects few and small inputs that together reach most of the code that all inputs reach.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { namedInputs, writeGenerated } from './corpus.mjs';

/** The maximum size of a selected input, in bytes. */
const MAX_BYTES = 2048;

/** The cost of a file in addition to its size, in bytes. */
const FILE_COST = 200;

/** The minimum number of branches that only this input reaches, among those not selected yet. */
const MIN_BRANCHES = 5;

/** An input with the branches that it reaches. */
/** @typedef {{ path: string, size: number, reached: Set<number> }} Input */

/**
 * Selects the generated inputs of a target's corpus again, from those that the folder `found` contains. The folder contains the
 * previous ones too. Inputs with a descriptive name always stay. Returns the number of inputs in the corpus.
 */
export function keep(
  /** @type {string} */ program,
  /** @type {string} */ target,
  /** @type {string} */ found,
) {
  const named = namedInputs(target);
  const inputs = measure(program, named, found);
  const isNamed = (/** @type {Input} */ { path }) => dirname(path) === named;
  const stay = inputs.filter(isNamed);
  const others = inputs.filter((input) => !isNamed(input) && input.size <= MAX_BYTES);
  const selected = select(stay, others).map(({ path }) => readFileSync(path));
  writeGenerated(target, selected);
  return stay.length + selected.length;
}

/** Selects, in addition to those that stay, the input with the most new branches for its cost, one after the other. */
function select(/** @type {Input[]} */ staying, /** @type {Input[]} */ others) {
  // Removes the branches of a selected input from all others, so that only new branches count.
  const cover = (/** @type {Input} */ { reached }) => {
    const branches = [...reached];
    for (const other of others) for (const branch of branches) other.reached.delete(branch);
  };
  const score = (/** @type {Input} */ { reached, size }) => reached.size / (size + FILE_COST);
  staying.forEach(cover);
  const selected = [];
  for (;;) {
    const [first, ...rest] = others.filter(({ reached }) => reached.size >= MIN_BRANCHES);
    if (first === undefined) return selected;
    const best = rest.reduce((best, input) => (score(input) > score(best) ? input : best), first);
    selected.push(best);
    cover(best);
  }
}

/** Measures the branches that each input reaches, from the control file that libFuzzer writes while it merges folders. */
function measure(/** @type {string} */ program, /** @type {string[]} */ ...folders) {
  const target = mkdtempSync(join(tmpdir(), 'corpus-'));
  const control = `${target}.control`;
  spawnSync(program, ['-set_cover_merge=1', `-merge_control_file=${control}`, target, ...folders]);
  const [count = '0', , ...lines] = readFileSync(control, 'utf8').split('\n');
  for (const created of [target, control]) rmSync(created, { recursive: true });
  const paths = lines.slice(0, Number(count));
  const features = lines
    .filter((line) => line.startsWith('FT '))
    .map((line) => line.split(' ').slice(1).map(Number));
  // A feature combines a branch with one of eight classes of how often it was taken.
  return features.map(([index = 0, ...taken]) => {
    const path = paths[index] ?? '';
    return { path, size: statSync(path).size, reached: new Set(taken.map((feature) => feature >> 3)) };
  });
}
