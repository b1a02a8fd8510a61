// Loads the descriptions for the search.

import { descriptionsOf } from '../descriptions.ts';

/** Loads the descriptions; none if the API document cannot be read: the search then finds names and summaries. */
export async function loadDescriptions(): Promise<ReadonlyMap<string, string>> {
  try {
    return descriptionsOf(await (await fetch('/openapi.json')).json());
  } catch {
    return new Map();
  }
}
