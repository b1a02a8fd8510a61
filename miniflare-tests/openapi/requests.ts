// Options that are made up from the document: such as it allows, and such as it does not.

import { generateSync } from 'json-schema-faker';

import { DOCUMENT, optionFaults, type Route, type Schema } from './document.ts';

/** What there is in the world that requests go to. */
export interface Known {
  sandboxId: string;
  ref: object;
  snapshotId: string;
  cursor: string;
  backup: object;
}

export type Options = Record<string, unknown>;

/** The values that fields may have, by their names. */
type Allowed = Record<string, unknown[]>;

/** Options, and what was done to them. */
export interface Wrong {
  what: string;
  options: unknown;
}

/**
 * The values that a field may have here: what there is in this world, and what does no harm to it. A field's name counts in
 * every type, unless a type or an operation is named before it.
 */
function values({ sandboxId, ref, snapshotId, cursor, backup }: Known): Allowed {
  return {
    sandboxId: [sandboxId],
    lineageScope: [sandboxId],
    snapshotId: [snapshotId],
    currentSnapshotId: [snapshotId],
    ref: [ref],
    cursor: [cursor],
    backup: [backup],
    'SnapshotOptions.label': ['kept', 'another'],
    'ImportOptions.label': ['imported'],
    label: ['kept', 'before'],
    'createWorkspace.name': ['play', 'stage', 'draft', 'sketch'],
    'WorkspaceAddress.name': ['work', 'work', 'play'],
    'ListWorkspacesOptions.cursor': ['play'],
    tenant: ['team'],
    sourceWorkspace: ['work'],
    workspace: ['work'],
    'CreateCheckpointOptions.name': ['s1', 's2'],
    'RestoreCheckpointOptions.name': ['s1'],
    'DiffCheckpointOptions.name': ['s1'],
    workspaces: [
      [{ name: 'code', snapshot: true, sandboxId }],
      [{ name: 'code', snapshot: true, workspace: 'work', tenant: 'team' }],
    ],
    'CallToolOptions.name': ['workspace__code__list', 'workspace_list'],
    dir: ['/workspace'],
    count: [1],
    command: ['true'],
    env: [{ LEVEL: 'debug' }],
    files: [['notes.txt']],
    // A workspace that ends in between would make the answers depend on the time.
    idleSeconds: [0, 3600],
    maxSeconds: [0, 7200],
  };
}

/** What a schema refers to, with the name that it has in the document. */
function referred(schema: Schema): [string, Schema] {
  const name = String(schema['$ref']).split('/').at(-1) ?? '';
  return [name, DOCUMENT.components['schemas']?.[name] ?? {}];
}

/** The most forms that options have. */
const FORMS = 3;

/** A schema as one object without references, in one of the forms that it has, whose fields are what they may be here. */
function flat(schema: Schema, allowed: Allowed, form: number, type = ''): Schema {
  const { $ref, allOf = [], oneOf = [], unevaluatedProperties: _, properties = {}, ...rest } = schema;
  const parts: Schema[] = allOf.map((part: Schema) => flat(part, allowed, form, type));
  if ($ref) {
    const [name, meant] = referred(schema);
    parts.push(flat(meant, allowed, form, name));
  }
  if (oneOf.length > 0) parts.push(flat(oneOf[form % oneOf.length], allowed, form, type));
  const fields = Object.entries<Schema>(properties).map(([name, field]) => {
    const chosen = allowed[`${type}.${name}`] ?? allowed[name];
    // A field of another form is null in this one.
    return [name, chosen && field['type'] !== 'null' ? { enum: chosen } : flat(field, allowed, form, type)];
  });
  const items = rest['items'] ? { items: flat(rest['items'], allowed, form, type) } : {};
  const required = [...parts, rest].flatMap((part) => part['required'] ?? []);
  const all = Object.assign({}, ...parts.map((part) => part['properties']), Object.fromEntries(fields));
  return { ...Object.assign({}, ...parts), ...rest, ...items, properties: all, required };
}

/** Options that an operation takes, `count` times: for an operation always the same. */
export function valid(route: Route, known: Known, count: number): Options[] {
  const seed = [...route.operationId].reduce(
    (sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1_000_003,
    0,
  );
  const usual = values(known);
  const name = usual[`${route.operationId}.name`];
  const allowed = name ? { ...usual, 'WorkspaceAddress.name': name } : usual;
  return Array.from({ length: count }, (_, index) => {
    const schema = flat(optionsOf(route), allowed, index);
    const few = { optionalsProbability: index % 2 ? 0.6 : 0.2, maxDefaultItems: 2 };
    return drawn(route, (draw) => generateSync(schema, { seed: seed + index + draw, ...few }) as Options);
  });
}

/** The most draws for one set of options. */
const DRAWS = 10;

/** The first options that the document allows: the generator can't know what one field asks of another. */
function drawn(route: Route, draw: (number: number) => Options): Options {
  let told = '';
  for (let number = 0; number < DRAWS; number++) {
    const options = draw(number * 1_000_003);
    const wrong = optionFaults(route, options);
    if (wrong.length === 0) return options;
    told = `${JSON.stringify(options)} is made up: ${wrong}`;
  }
  throw new Error(`${route.operationId}: ${told}`);
}

/** Options that an operation does not take, made of ones that it does. */
export function invalid(route: Route, options: Options): Wrong[] {
  const forms = Array.from({ length: FORMS }, (_, form) => flat(optionsOf(route), {}, form)['properties']);
  // What a model gives to a tool is for the tool to judge.
  const { arguments: _, ...fields }: Record<string, Schema> = Object.assign({}, ...forms);
  const all: Wrong[] = [
    { what: 'an unknown field', options: { ...options, unknown: true } },
    { what: 'a list', options: [options] },
    { what: 'null', options: null },
    { what: 'a text', options: 'options' },
    ...Object.keys(options).map((name) => ({ what: `without ${name}`, options: without(options, name) })),
    ...Object.entries(fields).flatMap(([name, schema]) =>
      wrongValues(schema).map(([what, value]) => ({
        what: `${name} ${what}`,
        options: { ...options, [name]: value },
      })),
    ),
  ];
  return all.filter(({ options }) => optionFaults(route, options).length > 0);
}

function without(options: Options, name: string): Options {
  return Object.fromEntries(Object.entries(options).filter(([other]) => other !== name));
}

/** Values that a field does not have, and what is wrong with each. */
function wrongValues({ type, minimum, maximum, minLength, maxLength }: Schema): [string, unknown][] {
  const of = (
    limit: number | undefined,
    what: string,
    value: (limit: number) => unknown,
  ): [string, unknown][] => (limit === undefined ? [] : [[what, value(limit)]]);
  return [
    ['of another type', type === 'boolean' ? 'yes' : true],
    ['as a list of lists', [[]]],
    ...of(minimum, 'too small', (limit) => limit - 1),
    ...of(maximum, 'too large', (limit) => limit + 1),
    ...of(minLength, 'too short', (limit) => 'x'.repeat(limit - 1)),
    ...of(maxLength, 'too long', (limit) => 'x'.repeat(limit + 1)),
  ];
}

function optionsOf(route: Route): Schema {
  return route.requestBody?.content['application/json']?.schema ?? {};
}
