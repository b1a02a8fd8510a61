// Loads what the search finds besides names: the descriptions of the API document, the remediations of errors, and the guides.

import { descriptionsOf } from '../descriptions.ts';
import type { GuideIndex } from '../guides/search.ts';
import { urlOfError, type Target } from '../search-index.ts';
import type { Texts } from './entries.ts';
import { errorsPage, remediationsOn } from './errors-page.ts';
import { Finder } from './find.ts';

/** What is loaded. A member is absent if it could not be read. */
interface Loaded {
  descriptions?: ReadonlyMap<string, string> | undefined;
  /** The remediations by the codes of errors. */
  remediations?: ReadonlyMap<string, string> | undefined;
  guides?: GuideIndex | undefined;
}

/** Loads the texts, and returns the search in them and in targets. Without one that cannot be read, it finds the others. */
export async function loadFinder(names: readonly Target[]): Promise<Finder> {
  const read = (path: string) => fetch(path).then((response) => response.json());
  const [descriptions, remediations, guides] = await Promise.all([
    read('/openapi.json').then(descriptionsOf, () => undefined),
    errorsPage().then(remediationsOn, () => undefined),
    (read('/docs/guides.json') as Promise<GuideIndex>).catch(() => undefined),
  ]);
  return Finder.inSteps(
    [...names, ...(guides?.targets ?? [])],
    textsOf({ descriptions, remediations, guides }),
  );
}

/** Returns the texts of all results. They are incomplete without one of those that are loaded. */
export function textsOf({ descriptions, remediations, guides }: Loaded): Texts {
  const ofErrors = [...(remediations ?? [])].map(([code, text]) => [urlOfError(code), text] as const);
  return {
    isComplete: descriptions !== undefined && remediations !== undefined && guides !== undefined,
    texts: new Map([...(descriptions ?? []), ...ofErrors, ...Object.entries(guides?.texts ?? {})]),
    code: new Map(Object.entries(guides?.code ?? {})),
  };
}
