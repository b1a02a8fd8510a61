// The scores of names that are the query.

import { plain } from '../search-terms.ts';
import type { Result } from './entries.ts';

/** The kinds whose names are alike, from the last to the first one. */
const ORDER: Result['kind'][] = ['guide', 'field', 'type', 'error', 'operation'];

/** More than what the words of the texts can have. */
const NAMED = 1000;

/** The score of an operation whose name begins with the query, for each letter that is missing less. */
const BEGINNING = 200;

/** Returns the score of a result whose name, or the last part of it, is the query: such results come first. Other results have 0. */
export function nameScore({ kind, name, url }: Result, query: string): number {
  const wanted = plain(query);
  const whole = plain(name);
  const last = plain((kind === 'guide' ? url : name).split('/').at(-1) ?? '');
  if (whole === wanted || last === wanted) {
    const isSame = name.toLowerCase() === query.trim().toLowerCase();
    return NAMED + 100 * ORDER.indexOf(kind) + (isSame ? 50 : 0) + (whole === wanted ? 10 : 0);
  }
  if (kind !== 'operation' || wanted.length < 2 || !whole.startsWith(wanted)) return 0;
  return BEGINNING / (whole.length - wanted.length);
}
