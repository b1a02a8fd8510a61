// Finds operations, fields, error codes and guides by their names, and by the words in their descriptions.

import type { Target } from '../search-index.ts';

/** A result of the search. */
export interface Result {
  kind: 'operation' | 'field' | 'type' | 'error' | 'guide';
  name: string;
  text: string;
  url: string;
}

/** Words of questions, which say nothing about their subject. */
const FILLERS = new Set(
  'a an and are as at be by can do does during for from happens how i if in is it its long many me much my of on or same should so that the then there this to unit use using want was what when where which while who whole why will with would you your'.split(
    ' ',
  ),
);

/** Words that the documentation calls otherwise. */
const SYNONYMS = new Map(
  Object.entries({
    '429': 'load',
    automatically: 'automatic',
    big: 'large',
    billing: 'usage cost',
    crashed: 'crash',
    crashes: 'crash',
    cron: 'automatic',
    die: 'ended',
    died: 'ended',
    dies: 'ended',
    every: 'automatic',
    gdpr: 'delete user',
    jest: 'fake',
    kept: 'expire',
    max: 'limits',
    mock: 'fake',
    mocking: 'fake',
    periodic: 'automatic',
    preview: 'port',
    price: 'usage cost',
    pricing: 'usage cost',
    privacy: 'delete user',
    rate: 'load',
    restarts: 'crash',
    symlink: 'symbolic',
    symlinks: 'symbolic',
    throttling: 'load',
    vitest: 'fake',
    zip: 'tar',
  }),
);

/** Words that so many parts of the guides have that each part counts as one with them. */
const COMMON = new Set(
  'container file files sandbox sandboxes snapshot snapshots workspace workspaces'.split(' '),
);

/** The number of fields of one name among the first results. The others come last. */
const MOST_OF_A_FIELD = 2;

/** The rate of a result whose text has all words as a phrase. */
const PHRASE = 60;

/** The rate from which a result has the words at the beginning of its name or of a part of it. */
const STRONG = 50;

/**
 * Returns the results of a query, best first. If no name begins with its words, those of corrected words come first, and those with
 * only some of the words last. `descriptions` are by the addresses of the results.
 */
export function find(
  index: Target[],
  query: string,
  descriptions: ReadonlyMap<string, string> = new Map(),
): Result[] {
  const words = wordsOf(query);
  if (words.length === 0) return [];
  const all = index.flatMap(resultsOf);
  const found = (words: string[], count?: number) => matches(all, words, descriptions, count);
  const rated = found(words);
  if ((rated[0]?.score ?? 0) >= STRONG) return fewOfEachField(rated.map(({ result }) => result));
  const others = corrected(words, all, descriptions);
  const results = [...found(others), ...rated, ...found(others, Math.ceil(others.length / 2))];
  return fewOfEachField([
    ...new Map(results.map(({ result }) => [`${result.kind} ${result.url}`, result])).values(),
  ]);
}

/** Moves the fields of one name to the end, except the first ones: they would fill the list. */
function fewOfEachField(results: Result[]): Result[] {
  const counts = new Map<string, number>();
  const isFurther = ({ kind, name }: Result) => {
    if (kind !== 'field') return false;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    return (counts.get(name) ?? 0) > MOST_OF_A_FIELD;
  };
  const { first = [], further = [] } = Object.groupBy(results, (result) =>
    isFurther(result) ? 'further' : 'first',
  );
  return [...first, ...further];
}

/** Returns the words of a query. */
function wordsOf(query: string): string[] {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .map((word) => word.replace(/[?!.,;:]+$/, ''))
    .filter(Boolean);
  const telling = words
    .filter((word) => !FILLERS.has(word) && (SYNONYMS.has(word) || !/^\d+$/.test(word)))
    .flatMap((word) => SYNONYMS.get(word)?.split(' ') ?? word);
  return telling.length > 0 ? telling : words;
}

type Candidate = ReturnType<typeof resultsOf>[number];

/** Returns the results that have at least `count` of the words, best first. */
function matches(
  all: Candidate[],
  words: string[],
  descriptions: ReadonlyMap<string, string>,
  count = words.length,
) {
  return all
    .map(({ others, ...result }) => ({
      result: result as Result,
      score: score(result, words, [others, descriptions.get(result.url) ?? ''], count),
    }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score);
}

/** Replaces each word of 4 or more letters that nothing contains, and that is one letter from a word of the names or other words. */
function corrected(words: string[], all: Candidate[], descriptions: ReadonlyMap<string, string>): string[] {
  const isDescribed = (word: string) => [...descriptions.values()].some((text) => has(text, word));
  const text = all.map(({ name, others }) => `${name} ${name.replace(/([a-z])([A-Z])/g, '$1 $2')} ${others}`);
  const known = new Set(
    text
      .join(' ')
      .toLowerCase()
      .split(/[^a-z0-9]+/),
  );
  return words.map((word) => {
    if (word.length < 4 || known.has(word) || isDescribed(word)) return word;
    const similar = (isSimilar: typeof isDifferent) => [...known].find((other) => isSimilar(word, other));
    // A short word differs from many others in one letter.
    return similar(isSlip) ?? similar(isDifferent) ?? word;
  });
}

/** Returns whether one letter is missing, added, or exchanged with the next one. */
function isSlip(one: string, other: string): boolean {
  const [rest, expected] = differenceOf(one, other);
  return (
    rest === expected.slice(1) ||
    rest.slice(1) === expected ||
    (rest[0] === expected[1] && rest[1] === expected[0] && rest.slice(2) === expected.slice(2))
  );
}

/** Returns whether one letter is different. */
function isDifferent(one: string, other: string): boolean {
  const [rest, expected] = differenceOf(one, other);
  return rest.slice(1) === expected.slice(1);
}

/** Returns two words without the letters with which both begin. */
function differenceOf(one: string, other: string): [string, string] {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return [one.slice(at), other.slice(at)];
}

/** Returns a target and its fields, each with other words for it. */
function resultsOf({ kind, name, text, url, fields, words = '' }: Target): (Result & { others: string })[] {
  const of = kind === 'operation' ? `Option of ${name}` : `Field of ${name}`;
  const inner = fields.map((field) => ({
    kind: 'field' as const,
    name: field,
    text: of,
    url: `${url}.${field}`,
    others: '',
  }));
  return [{ kind, name, text, url, others: words }, ...inner];
}

const KINDS: Record<Result['kind'], number> = { operation: 4, error: 3, type: 2, field: 1, guide: 0.5 };

/** The rate of a part of a guide that is named like the words: it comes before types and fields. */
const NAMED_GUIDE = 2.5;

/** The rate of a part of a guide for several words, which are rather a question than a name. */
const ASKED_GUIDE = 4.5;

/** Rates a result; 0 if it has less than `count` of the words. */
function score(
  { kind, name, text, url }: Result,
  words: string[],
  [others, description]: [string, string],
  count: number,
): number {
  const summary = `${text} ${others}`.toLowerCase();
  const isPart = kind === 'guide' || (kind === 'operation' && words.length > 2);
  const isKnown = (word: string) => has(description, word) || (isPart && COMMON.has(word));
  const rates = words.map((word) => rate(name.toLowerCase(), summary, word) || (isKnown(word) ? 5 : 0));
  if (rates.filter((rate) => rate > 0).length < count) return 0;
  const rated = Math.max(
    rates.reduce((sum, rate) => sum + rate, 0) / words.length,
    rate(name.toLowerCase(), '', words.join('')),
    words.length > 1 && has(summary, words.join(' ')) ? PHRASE : 0,
    // The last part of the address of a guide is its short name.
    kind === 'guide' && url.endsWith(`/${words.join('-')}`) ? 100 : 0,
  );
  if (kind !== 'guide' || (rated < STRONG && words.length === 1)) return rated + KINDS[kind];
  return rated + (rated >= STRONG ? NAMED_GUIDE : ASKED_GUIDE);
}

/** Rates a word: the whole name or a part of it first, then its start, then the rest. */
function rate(name: string, text: string, word: string): number {
  const plain = (part: string) => part.replaceAll(/[ _-]/g, '');
  const parts = name.split(/[^a-z0-9]+/);
  if (name === word || plain(name) === plain(word)) return 100;
  if (parts.includes(word)) return 99;
  if (name.startsWith(word)) return 60;
  if (parts.some((part) => part.startsWith(word))) return 50;
  if (name.includes(word) || plain(name).includes(plain(word))) return 30;
  return has(text, word) ? 10 : 0;
}

/** Returns whether a text has a word that starts like this. */
function has(text: string, word: string): boolean {
  return new RegExp(String.raw`(?:^|\W)${word.replaceAll(/[^a-z0-9]/g, String.raw`\$&`)}`).test(text);
}
