// What the page reads of the API document.

/** A JSON Schema, or a part of the document that is like one. */
export type Schema = Record<string, any>;

/** A document of OpenAPI. */
export interface Document {
  info: { title: string; version: string; summary: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Route>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Response> };
}

/** One method of a path. */
export interface Route {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security?: [];
  parameters?: { name: string; in: string; description: string; schema: Schema }[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, Response | { $ref: string }>;
}

/** An answer. */
export interface Response {
  description: string;
  content?: Record<string, Content>;
}

/** A body. */
export interface Content {
  schema: Schema;
  example?: unknown;
}

/** A route with where it is. */
export interface Place {
  id: string;
  path: string;
  method: string;
  route: Route;
}

/** A field of a type. */
export interface Field {
  name: string;
  schema: Schema;
  required: boolean;
  /** Which of several forms it belongs to; 0 where there is one. */
  form: number;
}

/** A code of an error. */
export interface Code {
  code: string;
  kind: string;
  meaning: string;
  status: string;
}

/** The routes of a group: operations first, by their order of the alphabet. */
export function routesOf(document: Document, tag: string): Place[] {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, route]) => ({
      id: path.slice(1).replaceAll('/', '-'),
      path,
      method,
      route,
    })),
  );
  // HEAD is GET without a body, and that is all there is to say of it.
  const shown = all.filter(({ method, route }) => method !== 'head' && route.tags.includes(tag));
  return shown.map((place) => ({ ...place, id: place.id || 'console' }));
}

/** The name of the type that a schema refers to. */
export function typeName(schema: Schema): string | undefined {
  return schema['$ref']?.split('/').at(-1);
}

/** The answer that is meant, which may be one that others have too. */
export function responseOf(document: Document, response: Response | { $ref: string }): Response {
  const name = typeName(response);
  const shared = name === undefined ? undefined : document.components.responses[name];
  return shared ?? (response as Response);
}

/** The fields of a schema. A field that belongs to forms occurs once for each of them. */
export function fieldsOf(document: Document, schema: Schema): Field[] {
  const name = typeName(schema);
  if (name !== undefined) return fieldsOf(document, document.components.schemas[name] ?? {});
  const forms = formsOf(schema);
  const all = Object.entries<Schema>(schema['properties'] ?? {}).flatMap(([name, field]): Field[] => {
    const required = schema['required']?.includes(name) ?? false;
    const own = forms.flatMap((names, index) =>
      names.includes(name) ? [{ name, schema: field, required: true, form: index + 1 }] : [],
    );
    return own.length > 0 ? own : [{ name, schema: field, required, form: 0 }];
  });
  return [...all.filter(({ required }) => required), ...all.filter(({ required }) => !required)].sort(
    (one, other) => Number(other.form > 0) - Number(one.form > 0) || one.form - other.form,
  );
}

/** The fields that each form of a schema requires; empty if it has one form. Each form excludes fields of the others. */
function formsOf(schema: Schema): string[][] {
  const conditions = ({ if: condition, else: rest }: Schema): Schema[] =>
    condition && rest ? [condition, ...(rest['if'] ? conditions(rest) : [rest])] : [];
  const isExclusive = ({ properties = {} }: Schema) =>
    Object.values<Schema>(properties).some(({ type }) => type === 'null');
  const forms = conditions(schema);
  return forms.every(isExclusive) ? forms.map(({ required = [] }) => required) : [];
}

/** The types that fields and answers refer to, and those that these do, by the alphabet. */
export function typesOf(document: Document): [string, Schema][] {
  const { schemas } = document.components;
  const found = new Set<string>();
  const visit = (schema: Schema) => {
    for (const field of fieldsOf(document, schema)) refer(field.schema);
  };
  const refer = (schema: Schema) => {
    const name = typeName(schema);
    if (name && !found.has(name)) {
      found.add(name);
      visit(schema);
    }
    if (!name) visit(schema);
    if (schema['items']) refer(schema['items']);
  };
  for (const { route } of document.tags.flatMap(({ name }) => routesOf(document, name))) {
    for (const { schema } of Object.values(route.requestBody?.content ?? {})) visit(schema);
    for (const response of Object.values(route.responses))
      for (const { schema } of Object.values(responseOf(document, response).content ?? {})) refer(schema);
  }
  return [...found].sort().map((name) => [name, schemas[name] ?? {}]);
}

/** Every code of an error. */
export function codesOf(document: Document): Code[] {
  const { enum: codes, 'x-kinds': kinds, 'x-meanings': meanings } = document.components.schemas['Code'] ?? {};
  const statuses = Object.values(document.components.responses).flatMap(({ content }) => {
    const { status, code } = content?.['application/problem+json']?.schema['properties'] ?? {};
    return (code?.enum ?? []).map((name: string) => [name, String(status.const)]);
  });
  const statusOf: Record<string, string> = Object.fromEntries(statuses);
  return (codes as string[]).map((code) => ({
    code,
    kind: kinds[code],
    meaning: meanings[code],
    status: statusOf[code] ?? '',
  }));
}

/** The error codes of an answer. */
export function codesIn(response: Response): string[] {
  return response.content?.['application/problem+json']?.schema['properties']?.code?.enum ?? [];
}
