// The scores of names that are the query.

import { plain, wordsOf } from '../search-terms.ts';
import type { Result } from './entries.ts';

/** The kinds whose names are alike, from the last to the first one: a guide explains a word, a field or a type only has it as its name. */
const ORDER: Result['kind'][] = ['field', 'type', 'guide', 'error', 'operation'];

/** More than what the words of the texts can have. */
const NAMED = 1000;

/** The score of a guide whose title has the query, compared with the other headings. */
const TITLED = 300;

/** The score of an operation whose name begins with the query, for each letter that is missing less. */
const BEGINNING = 200;

/** Returns the score of a result whose name, or the last part of it, is the query: such results come first. Most other results have 0. */
export function nameScore({ kind, name, url }: Result, query: string): number {
  const wanted = plain(query);
  const whole = plain(name);
  const last = plain((kind === 'guide' ? url : name).split('/').at(-1) ?? '');
  const isPart = kind === 'guide' && url.includes('#');
  if (!isPart && (whole === wanted || last === wanted)) {
    // A word such as `cost` asks for what explains it; `idleSeconds`, for the field.
    if ((kind === 'field' || kind === 'type') && isOrdinary(query.trim())) return 0;
    const isSame = name.toLowerCase() === query.trim().toLowerCase();
    return NAMED + 100 * ORDER.indexOf(kind) + (isSame ? 50 : 0) + (whole === wanted ? 10 : 0);
  }
  if (kind === 'guide' && !isPart && wordsOf(name).some((word) => isForm(plain(word), wanted))) return TITLED;
  if (kind !== 'operation' || wanted.length < 2 || !whole.startsWith(wanted)) return 0;
  return BEGINNING / (whole.length - wanted.length);
}

/** Returns whether a word is an ordinary one, and no name such as `idleSeconds` or `NAME_TAKEN`. */
export function isOrdinary(word: string): boolean {
  return /^\p{Lu}?\p{Ll}+$/u.test(word);
}

/** Returns whether two words are the same, or one is the plural of the other. */
function isForm(one: string, other: string): boolean {
  return one === other || one === `${other}s` || other === `${one}s`;
}
