// The examples of a call: with curl, with the TypeScript client, and on the command line.

import { format } from 'prettier';

import { COMMANDS } from './commands.ts';
import {
  allRoutes,
  answerOf,
  isDownload,
  optionsOf,
  typeName,
  type Document,
  type Place,
} from './document.ts';
import { fieldsOf } from './schema.ts';

/** An example. */
export interface Example {
  language: 'curl' | 'curl-body' | 'typescript' | 'cli';
  title: string;
  code: string;
}

/** The examples of each route, by its anchor. */
export type Examples = Record<string, Example[]>;

/** Returns the examples of all routes. */
export async function examplesOf(document: Document): Promise<Examples> {
  const entries = allRoutes(document).map(
    async (place) => [place.id, await examplesOfRoute(document, place)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

async function examplesOfRoute(document: Document, place: Place): Promise<Example[]> {
  if (isDownload(place)) return examplesOfDownload(place);
  if (!answerOf(document, place)) return [];
  const options = exampleOptions(document, place);
  const examples: Example[] = [{ language: 'curl', title: 'curl', code: curl(place, options) }];
  if (!place.path.startsWith('/v1/')) return examples;
  if (place.name === 'files/write')
    examples.push({ language: 'curl-body', title: 'curl with a file', code: curlWithFile(place, options) });
  examples.push({
    language: 'typescript',
    title: 'TypeScript',
    code: await typescript(document, place, options),
  });
  const command = COMMANDS[place.name];
  if (command !== undefined) examples.push({ language: 'cli', title: 'Command line', code: command });
  return examples;
}

/** Returns the examples of a download. Its options are in the query, and its answer has a stream. */
async function examplesOfDownload(place: Place): Promise<Example[]> {
  const given = (place.route.parameters ?? []).filter(({ example }) => example !== undefined);
  const options = given.map(({ name, example }) => [name, example] as [string, string]);
  const file = place.name === 'files/export' ? 'files.tar' : 'notes.txt';
  const code = [
    // Without --fail, the document of an error would be in the file.
    `curl --fail --get "$SNAPSHOTTER_ADDRESS${place.path}"`,
    '-H "Authorization: Bearer $SNAPSHOTTER_TOKEN"',
    ...options.map(([name, value]) => `--data-urlencode '${name}=${value}'`),
    `-o ${file}`,
  ].join(' \\\n  ');
  return [
    { language: 'curl', title: 'curl', code },
    {
      language: 'typescript',
      title: 'TypeScript',
      code: await call('{ body }', place, Object.fromEntries(options)),
    },
  ];
}

/** The options with the workspace or the sandbox that a call is about. They are before the others that are not required. */
const OWNERS = ['name', 'workspace', 'sandboxId'];

/** Returns the options of the example, with those first that the operation requires; undefined if it has none. */
function exampleOptions(document: Document, place: Place): Record<string, unknown> | undefined {
  const body = optionsOf(place);
  if (!body) return undefined;
  const fields = fieldsOf(document, body.schema);
  const required = fields.filter(({ required }) => required);
  const names = [...required.map(({ name }) => name), ...OWNERS, ...fields.map(({ name }) => name)];
  const options = Object.entries(body.example ?? {});
  return Object.fromEntries(options.sort(([one], [other]) => names.indexOf(one) - names.indexOf(other)));
}

/** Returns a call with curl: one header on a line, and the indented body in single quotes. */
function curl(place: Place, options: Record<string, unknown> | undefined): string {
  const token = place.route.security ? [] : ['-H "Authorization: Bearer $SNAPSHOTTER_TOKEN"'];
  const data = JSON.stringify(options, null, 2)
    ?.replaceAll("'", String.raw`'\''`)
    .replaceAll('\n', '\n  ');
  const content = options ? ["-H 'Content-Type: application/json'", `-d '${data}'`] : [];
  const address = `$SNAPSHOTTER_ADDRESS${place.path}${exampleQuery(place)}`;
  return [`curl "${address}"`, ...token, ...content].join(' \\\n  ');
}

/** Returns a call with curl whose body is the content, with the other options in the URL. */
function curlWithFile(place: Place, { content: _, ...options }: Record<string, unknown> = {}): string {
  return [
    `curl "$SNAPSHOTTER_ADDRESS${place.path}"`,
    `--url-query 'options=${JSON.stringify(options)}'`,
    '-H "Authorization: Bearer $SNAPSHOTTER_TOKEN"',
    "-H 'Content-Type: application/octet-stream'",
    '--data-binary @config.ts',
  ].join(' \\\n  ');
}

/** Returns the query with the parameters that have an example. */
function exampleQuery({ route }: Place): string {
  const given = (route.parameters ?? []).filter(({ in: part, example }) => part === 'query' && example);
  const query = given.flatMap(({ name, example }) => [example].flat().map((value) => `${name}=${value}`));
  return query.length > 0 ? `?${query.join('&')}` : '';
}

/** Returns a call with the client. */
async function typescript(
  document: Document,
  place: Place,
  options: Record<string, unknown> = {},
): Promise<string> {
  const answer = typeName(answerOf(document, place)?.schema ?? {}) ?? 'answer';
  return call(variable(answer), place, options);
}

/** Returns the code of a call with the client, whose answer it assigns. */
async function call(answer: string, place: Place, options: Record<string, unknown>): Promise<string> {
  const fields = Object.entries(options).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  const code = `const ${answer} = await snapshotter.${place.name.replace('/', '.')}(${fields.length > 0 ? `{ ${fields.join(', ')} }` : ''});`;
  return (await format(code, { parser: 'typescript', singleQuote: true, printWidth: 64 })).trim();
}

function variable(type: string): string {
  return type.charAt(0).toLowerCase() + type.slice(1);
}
