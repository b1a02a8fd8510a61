// Loads what the search finds besides names: the descriptions of the API document, and the guides.

import { descriptionsOf } from '../descriptions.ts';
import type { GuideIndex } from '../guides/search.ts';
import type { Target } from '../search-index.ts';
import type { Texts } from './entries.ts';
import { Finder } from './find.ts';

/** Loads the texts, and returns the search in them and in targets. Without one that cannot be read, it finds the others. */
export async function loadFinder(names: readonly Target[]): Promise<Finder> {
  const read = (path: string) => fetch(path).then((response) => response.json());
  const [descriptions, guides] = await Promise.all([
    read('/openapi.json').then(descriptionsOf, () => undefined),
    (read('/docs/guides.json') as Promise<GuideIndex>).catch(() => undefined),
  ]);
  return Finder.inSteps([...names, ...(guides?.targets ?? [])], textsOf(descriptions, guides));
}

/** Returns the texts of all results. They are incomplete without descriptions or guides. */
export function textsOf(
  descriptions: ReadonlyMap<string, string> | undefined,
  guides: GuideIndex | undefined,
): Texts {
  return {
    isComplete: descriptions !== undefined && guides !== undefined,
    texts: new Map([...(descriptions ?? []), ...Object.entries(guides?.texts ?? {})]),
    code: new Map(Object.entries(guides?.code ?? {})),
  };
}
