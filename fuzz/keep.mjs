// Chooses the inputs that are kept: few and small ones that together reach all code that any of them reaches.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** The largest input that is kept, in bytes. */
const LARGEST = 2048;

/** What a file costs beside its bytes. */
const FILE = 200;

/** How much code an input has to reach that no other one does, in branches. */
const LEAST = 5;

/** The names of inputs that nobody gave one. */
const UNNAMED = /^[0-9a-f]{40}$/;

/** An input, and the branches that it reaches. */
/** @typedef {{ path: string, size: number, reached: Set<number> }} Input */

/**
 * Makes the folder `corpus` hold what is worth keeping of it and of the folder `found`, as the target's program sees it. What
 * has a name there stays. Answers how many inputs there are.
 */
export function keep(
  /** @type {string} */ program,
  /** @type {string} */ corpus,
  /** @type {string} */ found,
) {
  const inputs = reached(program, corpus, found);
  const isNamed = (/** @type {Input} */ { path }) =>
    dirname(path) === corpus && !UNNAMED.test(basename(path));
  const kept = choose(
    inputs.filter(isNamed),
    inputs.filter((input) => !isNamed(input) && input.size <= LARGEST),
  );
  const contents = kept.map(({ path }) => readFileSync(path));
  for (const name of readdirSync(corpus)) if (UNNAMED.test(name)) rmSync(join(corpus, name));
  for (const content of contents) {
    writeFileSync(join(corpus, createHash('sha1').update(content).digest('hex')), content);
  }
  return readdirSync(corpus).length;
}

/** Chooses, beside those that stay, one after the other that reaches the most for what it costs. */
function choose(/** @type {Input[]} */ staying, /** @type {Input[]} */ others) {
  // From then on, what an input reaches is what only it and others that are not chosen reach.
  const settle = (/** @type {Input} */ { reached }) => {
    const branches = [...reached];
    for (const other of others) for (const branch of branches) other.reached.delete(branch);
  };
  const worth = (/** @type {Input} */ { reached, size }) => reached.size / (size + FILE);
  staying.forEach(settle);
  const chosen = [];
  for (;;) {
    const [first, ...rest] = others.filter(({ reached }) => reached.size >= LEAST);
    if (first === undefined) return chosen;
    const best = rest.reduce((best, input) => (worth(input) > worth(best) ? input : best), first);
    chosen.push(best);
    settle(best);
  }
}

/** What each input reaches, from the notes that libFuzzer takes while it merges folders. */
function reached(/** @type {string} */ program, /** @type {string[]} */ ...folders) {
  const nowhere = mkdtempSync(join(tmpdir(), 'corpus-'));
  const notes = `${nowhere}.notes`;
  spawnSync(program, ['-set_cover_merge=1', `-merge_control_file=${notes}`, nowhere, ...folders]);
  const [count = '0', , ...lines] = readFileSync(notes, 'utf8').split('\n');
  for (const made of [nowhere, notes]) rmSync(made, { recursive: true });
  const paths = lines.slice(0, Number(count));
  const features = lines
    .filter((line) => line.startsWith('FT '))
    .map((line) => line.split(' ').slice(1).map(Number));
  // A feature is a branch and how often it was taken, in eight steps.
  return features.map(([index = 0, ...taken]) => {
    const path = paths[index] ?? '';
    return { path, size: statSync(path).size, reached: new Set(taken.map((feature) => feature >> 3)) };
  });
}
