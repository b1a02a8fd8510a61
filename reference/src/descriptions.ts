// The descriptions that the search reads: those of operations, and of the fields of their options and of types.

import { optionsOf, routesOf, type Document } from './document.ts';
import { fieldsOf } from './schema.ts';
import { typesOfRoutes } from './types.ts';

/** Returns the descriptions by the addresses of what they describe. */
export function descriptionsOf(document: Document): Map<string, string> {
  const found = new Map<string, string>();
  const add = (url: string, text = '') => found.set(url, text);
  const addFields = (url: string, schema: object) => {
    for (const field of fieldsOf(document, schema)) add(`${url}.${field.name}`, field.schema['description']);
  };
  for (const { name: tag } of document.tags) {
    const routes = routesOf(document, tag);
    for (const place of routes) {
      const url = `/docs/${tag}#${place.id}`;
      add(url, place.route.description);
      const options = optionsOf(place);
      if (options) addFields(url, options.schema);
    }
    for (const name of typesOfRoutes(document, routes)) {
      const schema = document.components.schemas[name] ?? {};
      add(`/docs/${tag}#type-${name}`, schema['description']);
      addFields(`/docs/${tag}#type-${name}`, schema);
    }
  }
  return found;
}
