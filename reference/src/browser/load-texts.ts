// Loads what the search finds besides the names in its index: the words of descriptions, and the guides.

import { descriptionsOf } from '../descriptions.ts';
import type { GuideIndex } from '../guides/search.ts';
import type { Target } from '../search-index.ts';

/** What the search finds besides the names in its index. */
export interface Texts {
  /** The words of results, by their addresses. */
  words: ReadonlyMap<string, string>;
  /** The parts of the guides. */
  guides: Target[];
}

/** Loads the texts. Without one that cannot be read, the search finds the others. */
export async function loadTexts(): Promise<Texts> {
  const read = (path: string) => fetch(path).then((response) => response.json());
  const [described, guides] = await Promise.all([
    read('/openapi.json').then(descriptionsOf, () => new Map<string, string>()),
    read('/docs/guides.json').catch(() => ({ targets: [], words: {} })) as Promise<GuideIndex>,
  ]);
  return { words: new Map([...described, ...Object.entries(guides.words)]), guides: guides.targets };
}
