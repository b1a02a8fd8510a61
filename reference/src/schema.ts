// What the pages read of a JSON Schema: fields, nested types, and the combinations of fields that it permits.

import { typeName, type Document, type Schema } from './document.ts';

/** A field of a type. */
export interface Field {
  name: string;
  schema: Schema;
  required: boolean;
}

/** Returns the schema that a reference names, or the schema itself. */
export function resolve(document: Document, schema: Schema): Schema {
  const name = typeName(schema);
  return name === undefined ? schema : (document.components.schemas[name] ?? {});
}

/** Returns the fields of a schema: those that it requires first, then those of its alternatives in their order. */
export function fieldsOf(document: Document, schema: Schema): Field[] {
  const { properties = {}, required = [], ...rest } = resolve(document, schema);
  const alternatives = partsOf(rest).flatMap((part) => exclusiveForms(part)?.flat() ?? []);
  const rank = ({ name, required }: Field) => {
    const index = alternatives.indexOf(name);
    return required ? -1 : index >= 0 ? index : alternatives.length;
  };
  return Object.entries<Schema>(properties)
    .map(([name, schema]) => ({ name, schema, required: required.includes(name) }))
    .sort((one, other) => rank(one) - rank(other));
}

/** Returns the name of the type with fields that a value has or contains; undefined if it has no fields. */
export function nestedType(document: Document, schema: Schema): string | undefined {
  const { items, additionalProperties } = schema;
  const inner = items ?? (additionalProperties?.$ref && additionalProperties);
  if (inner) return nestedType(document, inner);
  return resolve(document, schema)['properties'] ? typeName(schema) : undefined;
}

/** Returns the names of the types with fields that some schemas refer to, directly or in other types, sorted. */
export function typesWithin(document: Document, schemas: Schema[]): string[] {
  const found = new Set<string>();
  const visit = (schema: Schema) => {
    const name = nestedType(document, schema);
    if (name !== undefined && found.has(name)) return;
    if (name !== undefined) found.add(name);
    const owner = name === undefined ? schema : (document.components.schemas[name] ?? {});
    for (const field of fieldsOf(document, owner)) visit(field.schema);
  };
  schemas.forEach(visit);
  return [...found].sort();
}

/** Returns the sentences about the combinations of fields that a schema permits. */
export function combinations(schema: Schema): string[] {
  return partsOf(schema).flatMap(combinationsOf);
}

/** Returns a schema and those that it requires besides: each is about other fields. */
const partsOf = (schema: Schema): Schema[] => [schema, ...(schema['allOf'] ?? [])];

function combinationsOf(schema: Schema): string[] {
  const forms = exclusiveForms(schema);
  if (forms) {
    // A field of two types has a form for each of them.
    const named = new Set(forms.filter((names) => names.length > 0).map((names) => list(names, 'and')));
    const count = forms.some((names) => names.length === 0) ? 'at most' : 'exactly';
    return [`Pass ${count} one of:\n\n${[...named].map((form) => `- ${form}`).join('\n')}`];
  }
  const branches = branchesOf(schema);
  const names = branches.flatMap(({ required = [] }) => required);
  if (branches.length > 1 && branches.length === names.length)
    return [`Pass at least one of ${list(names, 'and')}.`];
  return [...excluded(schema), ...implied(schema)];
}

/** Returns the fields that each of several forms requires; undefined if the forms do not exclude each other. */
function exclusiveForms(schema: Schema): string[][] | undefined {
  const branches = branchesOf(schema);
  const isExclusive = ({ properties = {} }: Schema) =>
    Object.values<Schema>(properties).some(({ type }) => type === 'null');
  if (branches.length < 2 || !branches.every(isExclusive)) return undefined;
  return branches.map(({ required = [] }) => required);
}

/** Returns the branches of a chain of `if` and `else`. */
function branchesOf({ if: condition, else: rest }: Schema): Schema[] {
  return condition && rest ? [condition, ...(rest['if'] ? branchesOf(rest) : [rest])] : [];
}

function excluded({ not }: Schema): string[] {
  return not?.required ? [`Pass at most one of ${list(not.required, 'and')}.`] : [];
}

function implied({ if: condition, then }: Schema): string[] {
  const [[name, value] = []] = Object.entries<Schema>(condition?.properties ?? {});
  if (name === undefined || !then?.required || value?.['const'] === undefined) return [];
  return [`\`${name}: ${value['const']}\` requires ${list(then.required, 'and')}.`];
}

/** Lists names in words. */
export function list(names: string[], conjunction: string): string {
  const code = names.map((name) => `\`${name}\``);
  return code.length < 2
    ? code.join('')
    : `${code.slice(0, -1).join(', ')} ${conjunction} ${code.at(-1) ?? ''}`;
}
