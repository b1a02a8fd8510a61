// The index of the search, which the build inserts.

import { expandIndex, type CompactTarget, type Target } from '../search-index.ts';

declare const SEARCH_INDEX: CompactTarget[];

/** The targets of the search. */
export const INDEX: Target[] = expandIndex(SEARCH_INDEX);
