// The corpus of a target: a folder of inputs with descriptive names, and a file of generated inputs, one per line in Base64.

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { at } from '../scripts/setup.mjs';

/** Returns the names of all targets. */
export function targetNames() {
  const entries = readdirSync(at('fuzz/corpus'), { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/** Returns the folder of the inputs with descriptive names. */
export function namedInputs(/** @type {string} */ target) {
  return at('fuzz/corpus', target);
}

/** Writes the generated inputs of a target into a folder, one per file, because libFuzzer reads folders. */
export function extractGenerated(/** @type {string} */ target, /** @type {string} */ folder) {
  mkdirSync(folder, { recursive: true });
  const lines = readFileSync(generated(target), 'utf8').split('\n').slice(0, -1);
  for (const line of lines) {
    const input = Buffer.from(line, 'base64');
    writeFileSync(join(folder, createHash('sha1').update(input).digest('hex')), input);
  }
}

/** Replaces the generated inputs of a target. */
export function writeGenerated(/** @type {string} */ target, /** @type {Buffer[]} */ inputs) {
  const sorted = inputs.toSorted((one, other) => one.length - other.length || one.compare(other));
  writeFileSync(generated(target), sorted.map((input) => `${input.toString('base64')}\n`).join(''));
}

function generated(/** @type {string} */ target) {
  return at('fuzz/corpus', `${target}.txt`);
}
