// The words of a query that say what it is about.

import type { Query } from 'minisearch';

import { termsOfWord, wordsOf } from '../search-terms.ts';

/** Words of questions, which say nothing about their subject. */
const FILLERS = new Set(
  'a all an and any are as at be been by can could do does during each for from get happens has have how i if in into is it its list long make many me much my need new no of on one only or our pass same set should show single so some that the their them then there this to unit up use used using want was we what when where which while who whole why will with would you your'.split(
    ' ',
  ),
);

/** Words that the documentation calls otherwise. */
const SYNONYMS: ReadonlyMap<string, string[]> = new Map(
  Object.entries({
    '429': 'load',
    authenticate: 'token',
    authentication: 'token',
    automatically: 'automatic',
    big: 'large limits',
    billing: 'cost usage',
    clean: 'expire',
    cleanup: 'expire',
    crash: 'ended',
    crashed: 'ended',
    crashes: 'ended',
    cron: 'autosave',
    die: 'ended',
    died: 'ended',
    dies: 'ended',
    disappeared: 'lost',
    every: 'autosave',
    exists: 'taken',
    gdpr: 'delete user',
    gone: 'lost',
    jest: 'fake',
    kept: 'expire',
    key: 'secrets',
    keys: 'secrets',
    large: 'limits',
    max: 'limits',
    maximum: 'limits',
    mock: 'fake',
    mocking: 'fake',
    old: 'earlier',
    periodic: 'autosave',
    preview: 'port',
    price: 'usage cost',
    pricing: 'usage cost',
    privacy: 'delete user',
    rate: 'load',
    restarts: 'ended',
    symlink: 'symbolic',
    symlinks: 'symbolic',
    tag: 'label',
    throttling: 'load',
    vanished: 'lost',
    vitest: 'fake',
    zip: 'tar',
  }).map(([word, others]) => [word, others.split(' ')]),
);

/** The endings of English words. */
const ENDING = /(?<=\p{L}{3})(?:ations?|ions?|ings?|ers?|ed|es|s|e)$|(?<=\p{L}{4})(?:ies|y)$/u;

/** Returns the words of a query, without fillers unless it has no others. */
export function queryWords(query: string): string[] {
  const words = wordsOf(query.replaceAll(/['’]/g, ''));
  const telling = words.filter((word) => {
    const lower = word.toLowerCase();
    return SYNONYMS.has(lower) || !(FILLERS.has(lower) || /^\d+$/.test(lower));
  });
  return telling.length > 0 ? telling : words;
}

/**
 * Returns the query for what has a word: its whole name, all of its parts, another form of it, or a synonym. The last word of a query may
 * be incomplete, however short it is.
 */
export function queryOf(word: string, isLast = false): Query {
  const [whole = '', ...parts] = termsOfWord(word);
  const synonyms = SYNONYMS.get(whole) ?? [];
  const queries: Query[] =
    synonyms.length > 0
      ? [{ queries: [whole], prefix: false }, ...synonyms]
      : [{ queries: [whole], ...(isLast && { prefix: true }) }];
  if (parts.length > 0) queries.push({ combineWith: 'AND', queries: parts });
  else if (synonyms.length === 0 && stemOf(whole) !== whole) queries.push(stemOf(whole));
  return { combineWith: 'OR', queries };
}

/** Returns the beginning of a word that its other forms share: `expir` of `expired`. */
function stemOf(word: string): string {
  const stem = word.length > 4 ? word.replace(ENDING, '') : word.replace(/(?<=\p{L}{3})s$/u, '');
  return stem.replace(/([bdgmnprt])\1$/, '$1');
}
