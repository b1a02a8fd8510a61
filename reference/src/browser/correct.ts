// Corrects a word of a query that no text has.

import type MiniSearch from 'minisearch';

/** The shortest word that is corrected. A shorter one differs from many others in one letter. */
const SHORTEST = 4;

/** The length from which a word may differ in two letters. */
const LONG = 8;

/** Returns a similar word of the index: with two letters exchanged, or one letter missing, added or different; in a long word two. */
export function correctionOf(word: string, index: MiniSearch): string | undefined {
  if (word.length < SHORTEST || /\d/.test(word)) return undefined;
  for (let at = 0; at < word.length - 1; at += 1) {
    const exchanged = word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2);
    const [found] = index.search(exchanged);
    if (found) return found.terms.find((term) => term === exchanged) ?? found.terms[0];
  }
  const mostEdits = word.length < LONG ? 1 : 2;
  for (let edits = 1; edits <= mostEdits; edits += 1) {
    const found = index
      .search(word, { prefix: false, fuzzy: edits })
      .flatMap(({ terms }) => terms)
      .find((term) => term[0] === word[0]);
    if (found !== undefined) return found;
  }
  return undefined;
}
