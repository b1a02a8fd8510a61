// Generates valid and invalid options from the document.

import { generateSync } from 'json-schema-faker';

import { DOCUMENT, optionFaults, type Route, type Schema } from './document.ts';

/** The existing entities that requests refer to. */
export interface Entities {
  sandboxId: string;
  /** A background command of the sandbox. */
  commandId: string;
  ref: object;
  snapshotId: string;
  /** A snapshot of the workspace `work` of the tenant `team`. */
  workspaceSnapshotId: string;
  cursor: string;
  backup: object;
}

export type Options = Record<string, unknown>;

/** The values of fields, by the names of the fields. */
type Allowed = Record<string, unknown[]>;

/** Invalid options, with a description of the error. */
export interface InvalidOptions {
  what: string;
  options: unknown;
}

/**
 * Returns the values of fields: existing entities, and values without lasting effects. The name of a field applies to every
 * type, unless a type or an operation precedes it.
 */
function values(entities: Entities): Allowed {
  const { sandboxId, commandId, ref, snapshotId, workspaceSnapshotId, cursor, backup } = entities;
  return {
    sandboxId: [sandboxId],
    commandId: [commandId],
    'EndCommandOptions.graceSeconds': [0],
    lineageScope: [sandboxId],
    snapshotId: [snapshotId],
    currentSnapshotId: [snapshotId],
    ref: [ref],
    cursor: [cursor],
    backup: [backup],
    'SnapshotOptions.label': ['kept', 'another'],
    'SnapshotOptions.name': ['work'],
    'ImportOptions.label': ['imported'],
    label: ['kept', 'before'],
    'CreateWorkspaceOptions.name': ['play', 'review', 'draft', 'sketch'],
    ...Object.fromEntries(
      ['WorkspaceAddress', 'GetOrCreateWorkspaceOptions', 'StartWorkspaceOptions', 'ForkWorkspaceOptions']
        .concat('UpdateWorkspaceOptions', 'MigrateWorkspaceOptions', 'PromoteWorkspaceOptions')
        .concat('StopWorkspaceOptions', 'UsageOptions', 'ListOptions', 'LineageOptions')
        .map((type) => [`${type}.name`, ['work', 'work', 'play']]),
    ),
    ...Object.fromEntries(
      ['Exec', 'StartCommand', 'Commands', 'CommandOutput', 'EndCommand'].map((type) => [
        `${type}Options.name`,
        ['work'],
      ]),
    ),
    waitSeconds: [0],
    ...Object.fromEntries(
      ['ListFiles', 'StatFile', 'ReadFile', 'WriteFile', 'MakeDirectory', 'MoveFile', 'RemoveFile'].map(
        (type) => [`${type}Options.name`, ['work']],
      ),
    ),
    'StatFileOptions.path': ['notes.txt'],
    'WriteFileOptions.path': ['written.txt'],
    'MakeDirectoryOptions.path': ['made'],
    'MoveFileOptions.path': ['written.txt'],
    'MoveFileOptions.to': ['moved.txt'],
    'RemoveFileOptions.path': ['moved.txt'],
    content: ['YWJj'],
    ifMatch: [null],
    argv: [['true']],
    cwd: ['/tmp'],
    stdin: ['yes\n'],
    timeoutSeconds: [10],
    'PromoteWorkspaceOptions.from': [workspaceSnapshotId],
    'ForkWorkspaceOptions.from': ['latest', workspaceSnapshotId],
    'StartWorkspaceOptions.from': [null], // Each start from a snapshot makes a sandbox.
    'GetOrCreateWorkspaceOptions.from': [null],
    'StopWorkspaceOptions.snapshot': [{ expirationSeconds: 3600 }],
    'UsageOptions.cursor': ['play'],
    'ListWorkspacesOptions.cursor': ['play'],
    tenant: ['team'],
    sourceWorkspace: ['work'],
    workspace: ['work'],
    'CreateCheckpointOptions.name': ['s1', 's2'],
    'RestoreCheckpointOptions.name': ['s1'],
    'DiffCheckpointOptions.name': ['s1'],
    'DeleteCheckpointOptions.name': ['s2'],
    'DiffOptions.cursor': ['bm90ZXMudHh0'],
    'ListFilesOptions.cursor': ['bWFpbi5ycw'],
    'ListFilesOptions.path': ['/'],
    'RestoreFilesOptions.paths': [['notes.txt']],
    'RestoreFilesOptions.to': [sandboxId],
    'ReadFileOptions.path': ['notes.txt'],
    'CreateTokenOptions.workspaces': [['work']],
    workspaces: [
      [{ name: 'code', snapshot: true, sandboxId }],
      [{ name: 'code', snapshot: true, workspace: 'work', tenant: 'team' }],
    ],
    'CallToolOptions.name': ['workspace__code__list', 'workspace_list'],
    dir: ['/workspace'],
    runtime: ['sdk-0.12'],
    storage: ['archive'], // The class has no platform snapshots.
    count: [1],
    command: ['true'],
    env: [{ LEVEL: 'debug' }],
    files: [['notes.txt']],
    // If a workspace expired in between, the responses would depend on the time.
    idleSeconds: [0, 3600],
    maxSeconds: [0, 7200],
  };
}

/** Returns the schema that a reference points to, with its name in the document. */
function referred(schema: Schema): [string, Schema] {
  const name = String(schema['$ref']).split('/').at(-1) ?? '';
  return [name, DOCUMENT.components['schemas']?.[name] ?? {}];
}

/** The maximum number of forms that options have. */
const FORMS = 4;

/** Resolves the references of a schema to one of its forms, with the allowed values of its fields. */
function flat(schema: Schema, allowed: Allowed, form: number, type = ''): Schema {
  if (schema['$ref']) {
    const [name, target] = referred(schema);
    return flat(target, allowed, form, name);
  }
  const {
    if: _if,
    then: _then,
    else: _else,
    allOf: _allOf,
    properties = {},
    required = [],
    ...rest
  } = schema;
  const chosen = formOf(schema, form);
  const fields = Object.entries<Schema>(properties).map(([name, field]) => {
    const values = allowed[`${type}.${name}`] ?? allowed[name];
    // A field of another form is null in this one.
    if (chosen.properties[name]?.['type'] === 'null') return [name, { type: 'null' }];
    return [name, values ? { enum: values } : flat(field, allowed, form, type)];
  });
  const items = rest['items'] ? { items: flat(rest['items'], allowed, form, type) } : {};
  const names = [...required, ...chosen.required];
  return {
    ...rest,
    ...items,
    ...(fields.length > 0 && { properties: Object.fromEntries(fields) }),
    required: names,
  };
}

/** Returns one of the forms of a schema: a choice in each chain of conditions, of which `allOf` may have further ones. */
function formOf(schema: Schema, form: number): { properties: Record<string, Schema>; required: string[] } {
  const chosen = { properties: {}, required: [] as string[] };
  let number = form;
  for (const forms of [schema, ...(schema['allOf'] ?? [])].map(formsOf)) {
    if (forms.length === 0) continue;
    const { properties = {}, required = [] }: Schema = forms[number % forms.length] ?? {};
    Object.assign(chosen.properties, properties);
    chosen.required.push(...required);
    number = Math.trunc(number / forms.length);
  }
  return chosen;
}

/** Returns the forms of a schema, which exclude each other: the chain of its conditions. */
function formsOf({ if: condition, else: rest }: Schema): Schema[] {
  if (!condition || !rest) return [];
  const forms: Schema[] = [condition, ...(rest['if'] ? formsOf(rest) : [rest])];
  const isExclusive = ({ properties = {} }: Schema) =>
    Object.values<Schema>(properties).some(({ type }) => type === 'null');
  return forms.every(isExclusive) ? forms : [];
}

/** Generates valid options of an operation, `count` times. The same operation always gets the same options. */
export function valid(route: Route, entities: Entities, count: number): Options[] {
  const seed = [...route.operationId].reduce(
    (sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1_000_003,
    0,
  );
  const allowed = values(entities);
  return Array.from({ length: count }, (_, index) => {
    const schema = flat(optionsOf(route), allowed, index);
    const few = { optionalsProbability: index % 2 ? 0.6 : 0.2, maxDefaultItems: 2 };
    return drawn(route, (draw) => generateSync(schema, { seed: seed + index + draw, ...few }) as Options);
  });
}

/** The maximum number of draws for one set of options. */
const DRAWS = 10;

/** Draws until the options are valid: the generator does not support dependencies between fields. */
function drawn(route: Route, draw: (number: number) => Options): Options {
  let problem = '';
  for (let number = 0; number < DRAWS; number++) {
    const options = draw(number * 1_000_003);
    const faults = optionFaults(route, options);
    if (faults.length === 0) return options;
    problem = `${JSON.stringify(options)} is invalid: ${faults}`;
  }
  throw new Error(`${route.operationId}: ${problem}`);
}

/** Generates invalid options of an operation from valid ones. */
export function invalid(route: Route, options: Options): InvalidOptions[] {
  const forms = Array.from({ length: FORMS }, (_, form) => flat(optionsOf(route), {}, form)['properties']);
  // The tool itself validates its arguments.
  const { arguments: _, ...fields }: Record<string, Schema> = Object.assign({}, ...forms);
  const all: InvalidOptions[] = [
    { what: 'an unknown field', options: { ...options, unknown: true } },
    { what: 'a list', options: [options] },
    { what: 'null', options: null },
    { what: 'a string', options: 'options' },
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

/** Returns invalid values of a field, with a description of each. */
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
