// The terms by which the search compares texts and queries.

/** A word, or a name of several words: `node_modules`, `workspaces/fork`. */
const WORD = /[\p{L}\p{N}]+(?:[_/.:@-]+[\p{L}\p{N}]+)*/gu;

/** Returns the words of a text, as it has them. */
export function wordsOf(text: string): string[] {
  return text.match(WORD) ?? [];
}

/** Returns the words of a text with where they begin. */
export function placesOf(text: string): { word: string; at: number }[] {
  return [...text.matchAll(WORD)].map(({ 0: word, index: at }) => ({ word, at }));
}

/** Returns the terms of a text: its words in lower case, and for a name of several words the name and each of them. */
export function termsOf(text: string): string[] {
  const terms: string[] = [];
  for (const word of wordsOf(text)) for (const term of termsOfWord(word)) terms.push(term);
  return terms;
}

const known = new Map<string, string[]>();

/** Returns the terms of a word. `workspaces/getOrCreate` has `workspacesgetorcreate`, `workspaces`, `getorcreate`, `get`, `or` and `create`. */
export function termsOfWord(word: string): string[] {
  const found = known.get(word);
  if (found) return found;
  const segments = word.split(/[/.:@]+/);
  const terms = [...new Set([word, ...segments, ...segments.flatMap(partsOf)].map(plain))];
  known.set(word, terms);
  return terms;
}

/** Returns a name in lower case and without what separates its words. */
export function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '');
}

/** Returns the words of a name: `turn-ended`, `NAME_TAKEN`, `getOrCreate`. */
function partsOf(name: string): string[] {
  return name.replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2').split(/[ _-]+/);
}
