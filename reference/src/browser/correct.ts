// Corrects a word of a query that no text has.

import type MiniSearch from 'minisearch';

/** The shortest word that is corrected. It differs from many others in one letter, so for it none is replaced. */
const SHORTEST = 4;

/** The length from which a word may differ in two letters. */
const LONG = 8;

/** Returns a similar word of the index: with two letters exchanged, or one letter missing, added or replaced; in a long word two. */
export function correctionOf(word: string, index: MiniSearch): string | undefined {
  if (word.length < SHORTEST || /\d/.test(word)) return undefined;
  const termsOf = (word: string, fuzzy: number) =>
    index.search(word, { prefix: false, fuzzy }).flatMap(({ terms }) => terms);
  for (let at = 0; at < word.length - 1; at += 1) {
    const exchanged = word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2);
    if (termsOf(exchanged, 0).length > 0) return exchanged;
  }
  const mostEdits = word.length < LONG ? 1 : 2;
  for (let edits = 1; edits <= mostEdits; edits += 1) {
    const found = termsOf(word, edits).find(
      (term) => term[0] === word[0] && (word.length > SHORTEST || term.length !== word.length),
    );
    if (found !== undefined) return found;
  }
  return undefined;
}
