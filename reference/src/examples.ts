// The examples of a call: with curl, with the TypeScript client, and on the command line.

import { format } from 'prettier';

import { COMMANDS } from './commands.ts';
import { allRoutes, answerOf, optionsOf, typeName, type Document, type Place } from './document.ts';

/** An example. */
export interface Example {
  language: 'curl' | 'typescript' | 'cli';
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
  if (!answerOf(document, place)) return [];
  const examples: Example[] = [{ language: 'curl', title: 'curl', code: curl(place) }];
  if (!place.path.startsWith('/v1/')) return examples;
  examples.push({ language: 'typescript', title: 'TypeScript', code: await typescript(document, place) });
  const command = COMMANDS[place.name];
  if (command !== undefined) examples.push({ language: 'cli', title: 'Command line', code: command });
  return examples;
}

/** Returns a call with curl: one header on a line, and the indented body in single quotes. */
function curl(place: Place): string {
  const body = optionsOf(place);
  const token = place.route.security ? [] : ['-H "Authorization: Bearer $SNAPSHOTTER_TOKEN"'];
  const data = JSON.stringify(body?.example, null, 2)
    ?.replaceAll("'", String.raw`'\''`)
    .replaceAll('\n', '\n  ');
  const content = body ? ["-H 'Content-Type: application/json'", `-d '${data}'`] : [];
  return [`curl "$SNAPSHOTTER_ADDRESS${place.path}"`, ...token, ...content].join(' \\\n  ');
}

/** Returns a call with the client. A ref is that of a snapshot, because applications do not write refs themselves. */
async function typescript(document: Document, place: Place): Promise<string> {
  const options = Object.entries(optionsOf(place)?.example ?? {});
  const answer = typeName(answerOf(document, place)?.schema ?? {}) ?? 'answer';
  const fields = options.map(([name, value]) =>
    name === 'ref' ? name : `${name}: ${JSON.stringify(value)}`,
  );
  const origin = options.find(([name]) => name === 'ref')?.[1].ref.originId;
  const lines = [
    ...(origin === undefined ? [] : [`const ref = await snapshotter.snapshot({ sandboxId: '${origin}' });`]),
    `const ${variable(answer)} = await snapshotter.${place.name.replace('/', '.')}(${fields.length > 0 ? `{ ${fields.join(', ')} }` : ''});`,
  ];
  return (await format(lines.join('\n'), { parser: 'typescript', singleQuote: true, printWidth: 64 })).trim();
}

function variable(type: string): string {
  return type.charAt(0).toLowerCase() + type.slice(1);
}
