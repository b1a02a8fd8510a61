// Finds operations, fields, error codes and guides by their names, and by the words of their texts.

import MiniSearch, { type SearchResult } from 'minisearch';

import { termsOf } from '../search-terms.ts';
import type { Target } from '../search-index.ts';
import { correctionOf } from './correct.ts';
import { entriesOf, NO_TEXTS, type Entry, type Result, type Texts } from './entries.ts';
import { isOrdinary, nameScore } from './name-score.ts';
import { queryOf, queryWords, Vocabulary } from './query.ts';

/** The results of a query. */
export interface Found {
  /** The results, best first. */
  results: Result[];
  /** The terms by which the results were found. */
  terms: ReadonlySet<string>;
  /** The words of the query that nothing has. */
  missing: string[];
  /** The words of the query that nothing has, with the similar words that were used instead. */
  corrected: ReadonlyMap<string, string>;
}

/** The number of entries that are added to the index in one step. */
const STEP = 100;

/** The weights of what an entry has. */
const BOOST = { heading: 7, name: 5, about: 1, words: 4, text: 1, code: 0.5 };

/** The weights of the kinds: a part of a guide explains more than a field. */
const KINDS = { guide: 1.25, operation: 1, error: 0.7, type: 0.5, field: 0.45 };

/** The weight of the last guide, compared with the first: they are in the order in which most people need them. */
const LAST_GUIDE = 0.75;

/** The kinds that only list a name. */
const LISTED: Result['kind'][] = ['field', 'type', 'error'];

/** The weight of the first part of a guide, compared with its other parts. */
const FIRST_PART = 1.2;

/** The weight of the guides that have the words of all subjects: names in other products, the glossary, and how incremental snapshots work. */
const OF_ALL_SUBJECTS = 0.7;

/** The exponent of the score of a word: a rare word does not outweigh all others. */
const RARE = 0.75;

/** The weight of a result whose name has all words of the query. */
const ALL_IN_NAME = 1.4;

/** The weight of the results that only list a name, for a query of ordinary words such as `timeout`: it asks for what explains it. */
const OF_NAMES = 0.6;

/** The least part of the words that a result has, by their weights, compared with the result that has most of them. */
const LEAST_PART = 0.5;

/** The number of fields of one name among the first results. The others come last. */
const MOST_OF_A_FIELD = 2;

/** The search in targets and their texts. */
export class Finder {
  readonly #entries: Entry[];
  readonly #weights: number[];
  readonly #index: MiniSearch<Entry>;
  readonly #vocabulary = new Vocabulary();

  /** Whether it has all texts, or only names and some of them. */
  readonly isComplete: boolean;

  /** Whether similar words are searched for. Without texts, most words that names do not have are not misspelled. */
  readonly #isCorrecting: boolean;

  private constructor(targets: readonly Target[], texts: Texts) {
    this.#isCorrecting = texts !== NO_TEXTS;
    this.#entries = entriesOf(targets, texts);
    this.#weights = weightsOf(this.#entries);
    this.isComplete = texts.isComplete;
    this.#index = new MiniSearch<Entry>({
      fields: Object.keys(BOOST),
      tokenize: (text) => {
        const terms = termsOf(text);
        this.#vocabulary.add(terms);
        return terms;
      },
      processTerm: (term) => term,
      searchOptions: {
        tokenize: (term) => [term],
        prefix: (term) => term.length > 2,
        boost: BOOST,
        boostDocument: (id) => this.#weights[id]!,
      },
    });
  }

  /** Returns the search in targets. */
  static of(targets: readonly Target[], texts: Texts = NO_TEXTS): Finder {
    const finder = new Finder(targets, texts);
    finder.#index.addAll(finder.#entries);
    return finder;
  }

  /** Builds the search in targets in steps, between which the page responds. */
  static async inSteps(targets: readonly Target[], texts: Texts): Promise<Finder> {
    const finder = new Finder(targets, texts);
    await finder.#index.addAllAsync(finder.#entries, { chunkSize: STEP });
    return finder;
  }

  /** Returns the results of a query. */
  find(query: string): Found {
    const words = queryWords(query);
    if (words.length === 0) return this.#byName(query.trim());
    const corrected = new Map<string, string>();
    const missing: string[] = [];
    const terms = new Set<string>();
    const sums = new Map<number, { score: number; weight: number; named: number }>();
    for (const [at, word] of words.entries()) {
      const matches = this.#matchesOf(word, at === words.length - 1, corrected);
      if (matches.length === 0) missing.push(word);
      const weight = Math.sqrt(Math.log(1 + this.#entries.length / matches.length));
      for (const match of matches) {
        const sum = sums.get(match.id) ?? { score: 0, weight: 0, named: 0 };
        sum.score += match.score ** RARE;
        sum.weight += weight;
        sum.named += isNamed(match) ? 1 : 0;
        sums.set(match.id, sum);
        for (const term of match.terms) terms.add(term);
      }
    }
    const isOfWords = words.every(isOrdinary);
    const most = Math.max(...[...sums.values()].map(({ weight }) => weight));
    const results = [...sums]
      .filter(([, { weight }]) => weight >= most * LEAST_PART)
      .map(([id, { score, weight, named }]) => {
        const { result } = this.#entries[id]!;
        const inName = named === words.length ? ALL_IN_NAME : 1;
        const ofKind = isOfWords && LISTED.includes(kindOf(result)) ? OF_NAMES : 1;
        return { result, score: (score * inName * ofKind * weight) / most + nameScore(result, query) };
      })
      .sort((one, other) => other.score - one.score)
      .map(({ result }) => result);
    return { results: fewOfEachField(results), terms, missing, corrected };
  }

  /** Returns what has a name without words: `/`. */
  #byName(name: string): Found {
    const results = this.#entries.map(({ result }) => result).filter((result) => result.name === name);
    return { results, terms: new Set(), missing: [], corrected: new Map() };
  }

  /** Returns what has a word, or if nothing has it, what has a similar one. */
  #matchesOf(word: string, isLast: boolean, corrected: Map<string, string>) {
    const matches = this.#index.search(queryOf(word, this.#vocabulary, isLast));
    if (matches.length > 0 || !this.#isCorrecting) return matches;
    const similar = correctionOf(word.toLowerCase(), this.#index);
    if (similar === undefined) return [];
    corrected.set(word, similar);
    return this.#index.search(queryOf(similar, this.#vocabulary));
  }
}

/** Returns whether the name or the heading of a result has the word. */
function isNamed({ match }: SearchResult): boolean {
  return Object.values(match).some((fields) => fields.includes('name') || fields.includes('heading'));
}

/** Returns the weights of entries. The guides are in the order of their list. */
function weightsOf(entries: readonly Entry[]): number[] {
  const guides = entries.filter(({ result }) => result.kind === 'guide');
  const places = new Map(guides.map(({ id }, at) => [id, at / guides.length]));
  return entries.map(({ id, result }) => weightOf(result) * (1 - (1 - LAST_GUIDE) * (places.get(id) ?? 0)));
}

function weightOf(result: Result): number {
  const kind = kindOf(result);
  if (kind !== 'guide') return KINDS[kind];
  const { url } = result;
  const isOfAll = /^\/docs\/guides\/(?:names|glossary|incremental)\b/.test(url);
  return KINDS.guide * (url.includes('#') ? 1 : FIRST_PART) * (isOfAll ? OF_ALL_SUBJECTS : 1);
}

/** Returns the kind of a result. Some error codes have only a part of a guide. */
function kindOf({ kind, name }: Result): Result['kind'] {
  return kind === 'guide' && /^[A-Z]+_[A-Z_]+$/.test(name) ? 'error' : kind;
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
