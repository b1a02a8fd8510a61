// The index of the search, which the build inserts.

import type { Target } from '../search-index.ts';

declare const SEARCH_INDEX: Target[];

/** The targets of the search. */
export const INDEX = SEARCH_INDEX;
