// The types that options and answers refer to.

import { allRoutes, answerOf, optionsOf, type Document, type Place, type Schema } from './document.ts';
import { fieldsOf, typesWithin } from './schema.ts';

/** Returns the names of the types that the options and answers of some routes refer to. */
export function typesOfRoutes(document: Document, routes: Place[]): string[] {
  const answers = routes.flatMap((place) => answerOf(document, place)?.schema ?? []);
  return typesWithin(document, [...optionFields(document, routes), ...answers]);
}

/** Returns the schemas of the options of some routes. */
function optionFields(document: Document, routes: Place[]): Schema[] {
  const options = routes.flatMap((place) => optionsOf(place)?.schema ?? []);
  return options.flatMap((schema) => fieldsOf(document, schema)).map(({ schema }) => schema);
}

/** Returns the names of the types that callers pass. */
export function inputTypes(document: Document): string[] {
  return typesWithin(document, optionFields(document, allRoutes(document)));
}
