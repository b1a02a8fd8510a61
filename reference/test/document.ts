// A fixture: the API document.

import { readFileSync } from 'node:fs';

import { at } from '../../scripts/setup.mjs';
import type { Document } from '../src/document.ts';

/** The API document of the repository. */
export const DOCUMENT: Document = JSON.parse(readFileSync(at('reference/openapi.json'), 'utf8'));
