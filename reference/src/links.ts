// The links of the operations that the texts of the document name.

import { allRoutes, type Document, type Schema } from './document.ts';

/**
 * Returns the anchors of the operations by their names. A name that is also that of an option, a field or a value is omitted: in a
 * text, it can be either.
 */
export function operationLinks(document: Document): Map<string, string> {
  const others = new Set<string>();
  for (const schema of Object.values(document.components.schemas)) addNames(schema, others);
  const routes = allRoutes(document).filter(({ path, name }) => path.startsWith('/v1/') && !others.has(name));
  return new Map(routes.map(({ name, id, route }) => [name, `/docs/${route.tags[0]}#${id}`]));
}

/** Adds the names of the fields and the values that a schema or a part of it has. */
function addNames(schema: Schema, names: Set<string>) {
  for (const name of Object.keys(schema['properties'] ?? {})) names.add(name);
  for (const value of [schema['const'], ...(schema['enum'] ?? [])]) names.add(String(value));
  for (const part of Object.values(schema))
    if (typeof part === 'object' && part !== null) addNames(part, names);
}
