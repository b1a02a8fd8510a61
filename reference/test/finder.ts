// Fixtures: the search of the pages.

import { readFileSync } from 'node:fs';

import { at } from '../../scripts/setup.mjs';
import { Finder } from '../src/browser/find.ts';
import { textsOf } from '../src/browser/load-finder.ts';
import { descriptionsOf } from '../src/descriptions.ts';
import { codesOf } from '../src/document.ts';
import { guideIndex } from '../src/guides/search.ts';
import { servedGuides } from '../src/guides/served.ts';
import { searchIndex } from '../src/search-index.ts';
import { DOCUMENT } from './document.ts';

/** The guides. */
export const SERVED = servedGuides((file) => readFileSync(at(file), 'utf8'));

/** What the search loads about the guides. */
export const GUIDE_INDEX = guideIndex(
  SERVED,
  codesOf(DOCUMENT).map(({ code }) => code),
);

/** The operations, types and error codes. */
export const NAMES = searchIndex(DOCUMENT);

/** The search in the API document. */
export const API_FINDER = Finder.of(NAMES, textsOf(descriptionsOf(DOCUMENT), undefined));

/** The search in the API document and the guides. */
export const FINDER = Finder.of(
  [...NAMES, ...GUIDE_INDEX.targets],
  textsOf(descriptionsOf(DOCUMENT), GUIDE_INDEX),
);
