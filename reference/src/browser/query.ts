// The words of a query that say what it is about.

import type { Query } from 'minisearch';

import { termsOfWord, wordsOf } from '../search-terms.ts';

/** Words of questions, which say nothing about their subject. */
const FILLERS = new Set(
  'a all an and any are as at be been by can could do does during each for from get happens has have how i if in into is it its list long make many me much my need new no of on one only or our pass same set should show single so some that the their them then there this to unit up use used using want was we what when where which while who whole why will with would you your'.split(
    ' ',
  ),
);

/** Words that the documentation calls otherwise. They are of questions, which guides answer, and not of names. */
const SYNONYMS: ReadonlyMap<string, string[]> = new Map(
  Object.entries({
    '429': 'load',
    authenticate: 'token',
    authentication: 'token',
    automatically: 'automatic',
    big: 'large limits',
    billing: 'cost usage',
    changed: 'diff compare',
    clean: 'expire',
    cleanup: 'expire',
    clone: 'fork',
    crash: 'ended',
    crashed: 'ended',
    crashes: 'ended',
    cron: 'autosave',
    die: 'ended',
    died: 'ended',
    dies: 'ended',
    disappeared: 'lost',
    every: 'autosave',
    exclude: 'leave',
    excluding: 'leave',
    exists: 'taken',
    forever: 'idle',
    gdpr: 'delete user',
    gone: 'lost',
    jest: 'fake',
    kept: 'expire',
    key: 'secrets',
    keys: 'secrets',
    large: 'limits',
    max: 'limits',
    maximum: 'limits',
    merge: 'promote',
    mock: 'fake',
    mocking: 'fake',
    old: 'earlier',
    periodic: 'autosave',
    price: 'usage cost',
    pricing: 'usage cost',
    privacy: 'delete user',
    rate: 'load',
    restarts: 'ended',
    sleeps: 'sleep ended lost',
    symlink: 'symbolic',
    symlinks: 'symbolic',
    tag: 'label',
    throttling: 'load',
    vanished: 'lost',
    vitest: 'fake',
    zip: 'tar',
  }).map(([word, others]) => [word, others.split(' ')]),
);

/** The shortest stem that is not a word itself and whose forms are searched for. */
const SHORTEST_STEM = 4;

/** The ends of words that are not in the plural, though they end in `s`. */
const NO_PLURAL = /[isu]s$/;

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

/** The weight of another form of a word, compared with the word. */
const FORM = 0.4;

/** What is searched for synonyms: not the names of operations and fields, which have other words of their own. */
const TEXTS = ['heading', 'about', 'words', 'text'];

/** The weight of a name of several words, compared with all of its words: `--or-start`. */
const WHOLE = 8;

/**
 * Returns the query for what has a word: its whole name, all of its parts, another form of it, or a synonym. The last word of a query may
 * be incomplete, however short it is. `vocabulary` has the terms of the index.
 */
export function queryOf(word: string, vocabulary: Vocabulary, isLast = false): Query {
  const [whole = '', ...parts] = termsOfWord(word);
  const synonyms = SYNONYMS.get(whole) ?? [];
  const queries: Query[] =
    synonyms.length > 0
      ? [
          { queries: [whole], prefix: false },
          { queries: synonyms, fields: TEXTS },
        ]
      : [{ queries: [whole], ...(isLast && { prefix: true }) }];
  if (parts.length > 0) {
    queries.push({ combineWith: 'AND', queries: parts });
    if (vocabulary.has(whole)) queries.push({ queries: [whole], prefix: false, boostTerm: () => WHOLE });
  } else if (synonyms.length === 0) queries.push(...formQueries(whole, vocabulary));
  return { combineWith: 'OR', queries };
}

/** Returns the queries for the other forms of a word. A stem that is a word may begin others: `snapshotter`. */
function formQueries(word: string, vocabulary: Vocabulary): Query[] {
  const stem = stemOf(word);
  if (stem === word) return [];
  if (vocabulary.has(stem)) return [stem];
  const forms = stem.length < SHORTEST_STEM ? [] : vocabulary.formsOf(stem).filter((form) => form !== word);
  return forms.length > 0 ? [{ queries: forms, prefix: false, boostTerm: () => FORM }] : [];
}

/** The terms of an index, and the forms of words among them. */
export class Vocabulary {
  readonly #terms = new Set<string>();
  #forms: Map<string, string[]> | undefined;

  /** Adds the terms of a text. */
  add(terms: readonly string[]): void {
    for (const term of terms) this.#terms.add(term);
    this.#forms = undefined;
  }

  /** Whether a text has the term. */
  has(term: string): boolean {
    return this.#terms.has(term);
  }

  /** Returns the terms that have a stem. */
  formsOf(stem: string): string[] {
    this.#forms ??= Map.groupBy(this.#terms, stemOf);
    return this.#forms.get(stem) ?? [];
  }
}

/** Returns the beginning of a word that its other forms share: `expir` of `expired`. */
function stemOf(word: string): string {
  if (NO_PLURAL.test(word)) return word;
  const stem = word.length > 4 ? word.replace(ENDING, '') : word.replace(/(?<=\p{L}{3})s$/u, '');
  return stem.replace(/([bdgmnprt])\1$/, '$1');
}
