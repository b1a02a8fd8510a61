// `npm run types`: writes client/schema.json, the JSON Schemas of the operations, client/src/types.ts, which says the same in
// TypeScript, and reference/openapi.json, the API document. With --check it only makes sure that they are up to date.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

import { compile } from 'json-schema-to-typescript';
import { format, resolveConfig } from 'prettier';

import { at, output } from './setup.mjs';

/**
 * @typedef {import('json-schema-to-typescript').JSONSchema} Schema
 * @typedef {{ name: string, description: string, options: { $ref: string }, answer: { $ref: string } }} Operation
 */

const text = output('cargo', ['run', '--quiet', '--locked', '--features', 'schema', '--example', 'schema']);
if (text === undefined)
  fail('The schemas could not be made: see `cargo run --features schema --example schema`.');

const { schema, openapi } = JSON.parse(text ?? '');

/** @type {{ operations: Operation[], error: { $ref: string }, $defs: Record<string, Schema> }} */
const { operations, error, $defs: types } = schema;

const files = {
  'client/schema.json': JSON.stringify(schema, null, 2),
  'client/src/types.ts': await typescript(),
  'reference/openapi.json': JSON.stringify(readable(openapi), null, 2),
};
for (const [name, content] of Object.entries(files)) {
  const path = at(name);
  const formatted = await format(content, { ...(await resolveConfig(path)), filepath: path });
  if (!process.argv.includes('--check')) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, formatted);
  } else if (readFileSync(path, 'utf8') !== formatted) {
    fail(`${name} is out of date: run \`npm run types\`.`);
  }
}

/** The API document in the order in which people read: what it is first, and the operations as they are declared. */
function readable(/** @type {Record<string, any>} */ document) {
  const { openapi, info, jsonSchemaDialect, servers, security, tags, paths, components } = document;
  const first = operations.map(({ name }) => `/v1/${name}`);
  const names = [...first, ...Object.keys(paths).filter((path) => !first.includes(path))];
  const ordered = Object.fromEntries(names.map((path) => [path, paths[path]]));
  return { openapi, info, jsonSchemaDialect, servers, security, tags, paths: ordered, components };
}

async function typescript() {
  const members = operations.map(
    ({ name, description, options, answer }) =>
      `/** ${description} */\n'${name}': { options: ${named(options)}; answer: ${named(answer)} };`,
  );
  const declarations = inOrder().map((name) => declaration(name, types[name] ?? {}));
  return [
    '// Made by `npm run types` from the types of the Worker, in Rust. Edit those.',
    `/** The operations by name: what each takes, and what it answers. */\nexport interface Operations {\n${members.join('\n')}\n}`,
    ...(await Promise.all(declarations)),
  ].join('\n\n');
}

/** One type: an interface as far as it can be one. */
async function declaration(/** @type {string} */ name, /** @type {Schema} */ schema) {
  const { allOf: bases = [], oneOf: forms, ...own } = schema;
  /** @type {any} */
  let shape = schema;
  if (bases.length > 0 && isInterface(name)) {
    shape = { ...own, extends: bases.map((base) => ({ title: named(base), type: 'object' })) };
  } else if (bases.length > 0) {
    const parts = [...bases, ...(forms ? [{ oneOf: forms }] : []), ...(own.properties ? [own] : [])];
    shape = { description: own.description, allOf: parts };
  }
  const declared = await compile({ ...legible(shape), title: name }, name, {
    additionalProperties: false,
    bannerComment: '',
    declareExternallyReferenced: false,
    ignoreMinAndMaxItems: true,
    format: false,
  });
  return declared.trim().replace(/\/\*\*\n \* ([^\n]*)\n \*\//g, '/** $1 */');
}

/**
 * A schema whose parts are called by their names, with what must be there first.
 *
 * @returns {any}
 */
function legible(/** @type {any} */ schema) {
  if (Array.isArray(schema)) return schema.map(legible);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref, default: preset, properties: all, required = [], ...rest } = plain(schema);
  const fields = Object.entries(all ?? {}).filter(([, field]) => /** @type {any} */ (field).type !== 'null');
  const properties = all && Object.fromEntries(fields);
  if ($ref) rest.tsType = named({ $ref });
  for (const [keyword, value] of Object.entries(rest)) rest[keyword] = legible(value);
  if (preset !== undefined) rest.description = `${rest.description}\n@default ${JSON.stringify(preset)}`;
  if (rest.description) rest.description = wrapped(rest.description);
  if (!properties && rest.type === 'object') rest.tsType = `Record<string, ${values(rest)}>`;
  if (!properties) return rest;
  const optional = Object.keys(properties).filter((name) => !required.includes(name));
  const ordered = [...required, ...optional].map((name) => [name, legible(properties[name])]);
  return { ...rest, properties: Object.fromEntries(ordered), required };
}

/**
 * A schema without what TypeScript does not say: rules of values and of what goes together, and that an option may be `null`.
 *
 * @returns {any}
 */
function plain(/** @type {any} */ schema) {
  const {
    if: _if,
    then: _then,
    else: _else,
    not: _not,
    contains: _contains,
    propertyNames: _names,
    ...rest
  } = schema;
  const forms = (rest.anyOf ?? []).filter((/** @type {any} */ form) => form.type !== 'null');
  if (rest.type || rest.properties || rest.allOf) delete rest.anyOf;
  else if (forms.length === 1) {
    delete rest.anyOf;
    return { ...forms[0], ...rest };
  }
  if (Array.isArray(rest.type)) {
    const types = rest.type.filter((/** @type {string} */ name) => name !== 'null');
    rest.type = types.length === 1 ? types[0] : types;
  }
  if (rest.enum) rest.enum = rest.enum.filter((/** @type {unknown} */ value) => value !== null);
  return rest;
}

/** What the values of an object are that has no fields of its own. */
function values(/** @type {any} */ schema) {
  return schema.additionalProperties?.type ?? 'unknown';
}

/** A text in lines as long as they may be in a comment. */
function wrapped(/** @type {string} */ text) {
  const lines = text.split('\n').flatMap((line) => line.match(/^- .{1,98}(?= |$)|\S.{0,99}(?= |$)/g) ?? '');
  return lines.join('\n');
}

/**
 * Whether a type has one form, as all of its bases have.
 *
 * @returns {boolean}
 */
function isInterface(/** @type {string} */ name) {
  const { allOf = [], oneOf } = types[name] ?? {};
  return !oneOf && allOf.every((base) => isInterface(named(base)));
}

/** All types, each behind the first that names it. */
function inOrder() {
  /** @type {Set<string>} */
  const found = new Set();
  const visit = (/** @type {unknown} */ value) => {
    if (typeof value !== 'object' || value === null) return;
    if ('$ref' in value) {
      const name = named(value);
      if (!found.has(name)) {
        found.add(name);
        visit(types[name]);
      }
    }
    Object.values(value).forEach(visit);
  };
  [...operations, error].forEach(visit);
  return [...found];
}

/** The name of the type that a reference is to. */
function named(/** @type {{ $ref?: any }} */ reference) {
  return String(reference.$ref).replace('#/$defs/', '');
}

function fail(/** @type {string} */ message) {
  console.error(message);
  process.exit(1);
}
