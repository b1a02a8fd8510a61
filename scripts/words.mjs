// Refuses words that this project has left behind: each has a term of the field in docs/glossary.md.

import { readFileSync } from 'node:fs';

import { at, output } from './setup.mjs';

/** The words, with what to write. In code they are parts of names, too: `inDoubt`, `in_doubt`. */
const LEFT_BEHIND = {
  'anybody, nobody, somebody, whoever': 'the caller, an application, no call',
  doubt: 'unverified',
  'sight, sighting': 'observation',
  'standing, stands for': 'binding, belongs to',
  'told, deeds': 'logged, reported, side effects',
  stirred: 'changed since',
  'woken, woke, wakes by itself': 'cold-started',
  asleep: 'ended, stopped',
  'let go, letgo': 'expire, evict, delete',
  unsettled: 'changed during capture',
  'loose end, chore': 'task',
  'loan, lend, lent': 'reference',
  founded: 'initialized',
  'stamp, stamped': 'marker',
  misunderstood: 'protocol error',
};

/** Where former names have to stay: in formats of earlier releases, and in the list of the names that changed. */
const FORMATS = [
  'CHANGELOG.md',
  'src/cloudflare/ledger/schema.rs',
  'src/cloudflare/scripts/mod.rs',
  'clients/rust/src/model/later_code.rs',
  'tests/delta/container.rs',
  'tests/model/former_names.rs',
  'miniflare-tests/upgrade/',
  'scripts/words.mjs',
];

/** Files of text, that this project wrote. */
const TEXT = /\.(rs|ts|tsx|mjs|md|sh|toml|css|html|json)$|Dockerfile$/;
const OTHERS = /(^|\/)package-lock\.json$|^fuzz\/corpus\/|^bench\/results/;

const words = Object.keys(LEFT_BEHIND).flatMap((names) => names.split(', '));
// A word ends where its letters end, or where the next part of a name begins. `timeStamp` is the browser's.
const pattern = new RegExp(
  String.raw`(?<![a-z]|time_)(?:${words.map((word) => word.replaceAll(' ', '[ _-]?')).join('|')})(?![a-z])`,
  'gi',
);

let found = 0;
for (const path of (output('git', ['ls-files']) ?? '').split('\n')) {
  if (!TEXT.test(path) || OTHERS.test(path) || FORMATS.some((format) => path.startsWith(format))) continue;
  const lines = readFileSync(at(path), 'utf8').split('\n');
  for (const [index, line] of lines.entries()) {
    if (/\balias = "/.test(line)) continue;
    for (const [word] of line.replaceAll(/([a-z])([A-Z])/g, '$1_$2').matchAll(pattern)) {
      found += 1;
      console.error(`${path}:${index + 1}: "${word}": write ${instead(word)}`);
    }
  }
}
if (found > 0) process.exit(1);

function instead(/** @type {string} */ word) {
  const plain = word.toLowerCase().replaceAll(/[_-]/g, ' ');
  return (
    Object.entries(LEFT_BEHIND).find(([names]) => names.split(', ').includes(plain))?.[1] ?? 'another word'
  );
}
