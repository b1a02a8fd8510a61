// Fixtures: the search of the pages.

import { readFileSync } from 'node:fs';

import { at } from '../../scripts/setup.mjs';
import { Finder } from '../src/browser/find.ts';
import { textsOf } from '../src/browser/load-finder.ts';
import { descriptionsOf } from '../src/descriptions.ts';
import { codesOf } from '../src/document.ts';
import { guideIndex } from '../src/guides/search.ts';
import { servedGuides, type ReadFile } from '../src/guides/served.ts';
import { remediationsOf } from '../src/remediations.ts';
import { searchIndex } from '../src/search-index.ts';
import { DOCUMENT } from './document.ts';

const read: ReadFile = (file) => readFileSync(at(file), 'utf8');
const descriptions = descriptionsOf(DOCUMENT);

/** The guides. */
export const SERVED = servedGuides(read);

/** What the search loads about the guides. */
export const GUIDE_INDEX = guideIndex(
  SERVED,
  codesOf(DOCUMENT).map(({ code }) => code),
);

/** The operations, types and error codes. */
export const NAMES = searchIndex(DOCUMENT);

/** The search in the API document. */
export const API_FINDER = Finder.of(NAMES, textsOf({ descriptions }));

/** The search in the API document and the guides. */
export const FINDER = Finder.of(
  [...NAMES, ...GUIDE_INDEX.targets],
  textsOf({ descriptions, remediations: remediationsOf(read('docs/errors.md')), guides: GUIDE_INDEX }),
);
