// The API document, and the validation of responses against it.

import { readFileSync } from 'node:fs';

import formats from 'ajv-formats';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

import { at } from '../../scripts/setup.mjs';

/** A JSON Schema, or a part of the document. */
export type Schema = Record<string, any>;

/** One method of a path. */
export interface Route {
  operationId: string;
  tags: string[];
  requestBody?: { content: Record<string, { schema: Schema; example: unknown }> };
  responses: Record<string, Schema>;
}

/** The parts of the document that the tests read. */
export interface Document {
  openapi: string;
  info: { version: string };
  tags: { name: string }[];
  paths: Record<string, Record<string, Route>>;
  components: Record<string, Record<string, Schema>>;
}

/** The document in the repository. */
export const DOCUMENT: Document = JSON.parse(readFileSync(at('reference/openapi.json'), 'utf8'));

/** The operations with their paths. */
export const OPERATIONS = Object.entries(DOCUMENT.paths).flatMap(([path, { post }]) =>
  post && path.startsWith('/v1/') ? [{ path, route: post }] : [],
);

/** The status, headers and body of a response. */
export interface HttpResponse {
  status: number;
  headers: Headers;
  text: string;
}

/** Resolves a part of the document that is a reference. */
function resolved(part: Schema): Schema {
  const pointer: string | undefined = part.$ref;
  return pointer
    ? pointer
        .split('/')
        .slice(1)
        .reduce<Schema>((at, name) => at[name], DOCUMENT)
    : part;
}

/** A validator of the document's schemas that refuses unknown fields, unless a schema permits them. */
class StrictValidator {
  readonly #ajv = new Ajv2020({ allErrors: true, strict: false });
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor() {
    formats.default(this.#ajv);
    const schemas = Object.entries(DOCUMENT.components['schemas'] ?? {});
    const closed = Object.fromEntries(schemas.map(([name, schema]) => [name, inner(schema)]));
    this.#ajv.addSchema({ $id: 'document', components: { schemas: closed } });
  }

  /** Returns the errors of a value. */
  faults(schema: Schema, value: unknown): string[] {
    const text = JSON.stringify(schema).replaceAll('"#/components', '"document#/components');
    const validate = this.#compiled.get(text) ?? this.#ajv.compile(closed(JSON.parse(text)));
    this.#compiled.set(text, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath || 'it'} ${message} ${JSON.stringify(params)}`,
    );
  }
}

const IN_PLACE = ['allOf', 'anyOf', 'oneOf'];

/** Returns a schema of a whole value that refuses unknown fields. */
function closed(schema: Schema): Schema {
  const isOpen = 'additionalProperties' in schema || 'unevaluatedProperties' in schema;
  const hasFields = ['$ref', 'properties', ...IN_PLACE].some((keyword) => keyword in schema);
  return hasFields && !isOpen ? { ...inner(schema), unevaluatedProperties: false } : inner(schema);
}

/** Returns a schema whose parts refuse unknown fields, and which other schemas may extend. */
function inner(schema: Schema): Schema {
  const result: Schema = { ...schema };
  for (const keyword of IN_PLACE) if (result[keyword]) result[keyword] = result[keyword].map(inner);
  if (result['items']) result['items'] = closed(result['items']);
  if (result['properties']) {
    const properties = Object.entries<Schema>(result['properties']);
    result['properties'] = Object.fromEntries(properties.map(([name, part]) => [name, closed(part)]));
  }
  return result;
}

const strict = new StrictValidator();

/** Returns the errors of an operation's options. */
export function optionFaults(route: Route, options: unknown): string[] {
  return strict.faults(route.requestBody?.content['application/json']?.schema ?? {}, options);
}

/** Returns the errors of a response: its status, headers, media type and body. */
export function responseFaults(
  responses: Route['responses'],
  { status, headers, text }: HttpResponse,
): string[] {
  const part = responses[status];
  if (!part) return [`the status ${status} is none of ${Object.keys(responses)}`];
  const { headers: named = {}, content } = resolved(part);
  return [...headerFaults(named, headers), ...bodyFaults(content, headers.get('content-type'), text)];
}

function headerFaults(named: Record<string, Schema>, headers: Headers): string[] {
  return Object.entries(named).flatMap(([name, part]) => {
    const value = headers.get(name);
    if (value === null) return [`the header ${name} is missing`];
    return strict.faults(resolved(part)['schema'], value).map((fault) => `the header ${name}: ${fault}`);
  });
}

function bodyFaults(
  content: Record<string, Schema> | undefined,
  type: string | null,
  text: string,
): string[] {
  if (!content) return text === '' ? [] : ['there is a body'];
  const mediaType = type?.split(';')[0] ?? 'none';
  const form = content[mediaType];
  if (!form) return [`the media type ${mediaType} is none of ${Object.keys(content)}`];
  return strict.faults(form['schema'], mediaType.endsWith('json') ? JSON.parse(text) : text);
}

/** Yields every example in the document, with its path and its schema. */
export function* examples(part: unknown = DOCUMENT, at = ''): Generator<[string, Schema, unknown]> {
  if (typeof part !== 'object' || part === null) return;
  if ('example' in part && 'schema' in part) yield [at, part.schema as Schema, part.example];
  for (const [name, inner] of Object.entries(part))
    if (name !== 'example') yield* examples(inner, `${at}/${name}`);
}

/** Returns the errors of a value by a schema of the document. */
export function faults(schema: Schema, value: unknown): string[] {
  return strict.faults(schema, value);
}
