// What the pages read of the API document.

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
  parameters?: { name: string; in: string; description: string; schema: Schema; example?: string }[];
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
  /** The anchor of the route: `v1-workspaces-start`. */
  id: string;
  /** The name of the operation: `workspaces/start`; the path of another route. */
  name: string;
  path: string;
  method: string;
  route: Route;
}

/** A code of an error. */
export interface Code {
  code: string;
  kind: string;
  meaning: string;
  status: string;
}

/** Returns the routes of a group, in the order of the document. */
export function routesOf(document: Document, tag: string): Place[] {
  return allRoutes(document).filter(({ route }) => route.tags.includes(tag));
}

/** Returns all routes, except those of HEAD, which are those of GET without a body. */
export function allRoutes(document: Document): Place[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => method !== 'head')
      .map(([method, route]) => ({
        id: path.slice(1).replaceAll('/', '-') || 'console',
        name: path.replace(/^\/v1\//, ''),
        path,
        method,
        route,
      })),
  );
}

/** Returns the options of a route, as JSON. */
export function optionsOf({ route }: Place): Content | undefined {
  return route.requestBody?.content['application/json'];
}

/** Returns whether a route streams files, with its options in the query. */
export function isDownload({ method, path }: Place): boolean {
  return method === 'get' && path.startsWith('/v1/files/');
}

/** Returns the answer of a successful call, as JSON. */
export function answerOf(document: Document, { route }: Place): Content | undefined {
  const success = route.responses['200'];
  return success && responseOf(document, success).content?.['application/json'];
}

/** Returns the name of the type that a schema refers to, alone or as an alternative to `null`. */
export function typeName(schema: Schema): string | undefined {
  const { $ref = schema['anyOf']?.find((part: Schema) => part['$ref'])?.$ref } = schema;
  return $ref?.split('/').at(-1);
}

/** Returns a response, which may be one that several routes share. */
export function responseOf(document: Document, response: Response | { $ref: string }): Response {
  const name = typeName(response);
  const shared = name === undefined ? undefined : document.components.responses[name];
  return shared ?? (response as Response);
}

/** Returns every error code. */
export function codesOf(document: Document): Code[] {
  const { enum: codes, 'x-kinds': kinds, 'x-meanings': meanings } = document.components.schemas['Code'] ?? {};
  const statuses = Object.values(document.components.responses).flatMap((response) => {
    const { status } = response.content?.['application/problem+json']?.schema['properties'] ?? {};
    return codesIn(response).map((name) => [name, String(status.const)]);
  });
  const statusOf: Record<string, string> = Object.fromEntries(statuses);
  return (codes as string[]).map((code) => ({
    code,
    kind: kinds[code],
    meaning: meanings[code],
    status: statusOf[code] ?? '',
  }));
}

/** Returns the error codes of a response. */
export function codesIn(response: Response): string[] {
  return response.content?.['application/problem+json']?.schema['properties']?.code?.enum ?? [];
}

/** Returns the error codes that every operation can return. */
export function commonCodes(document: Document): string[] {
  const [first = [], ...others] = allRoutes(document)
    .filter(({ path }) => path.startsWith('/v1/'))
    .map(({ route }) =>
      Object.values(route.responses).flatMap((response) => codesIn(responseOf(document, response))),
    );
  return first.filter((code) => others.every((codes) => codes.includes(code)));
}
