// The commands that the pages of the API document show: each calls its operation with the example of the document.

import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { dirname } from 'node:path';
import { describe, test } from 'node:test';

import { COMMANDS, FILES } from '../../reference/src/commands.ts';
import { optionFaults, OPERATIONS, type Route } from '../openapi/document.ts';
import { Cli, fakeServer, withServer } from './cli.ts';

/** A call that the fake server received. */
interface Call {
  operation: string;
  options: Record<string, unknown>;
}

const ROUTES = new Map(OPERATIONS.map(({ path, route }) => [path.replace('/v1/', ''), route]));

const bodyOf = (part: any): any => part.content['application/json'].example;

/** Runs a command with a server that answers with the examples of the document, and returns the calls. */
async function callsOf(command: string, files: Record<string, unknown>): Promise<Call[]> {
  const calls: Call[] = [];
  const server = fakeServer(async (request, response) => {
    const operation = (request.url ?? '').replace('/v1/', '');
    calls.push({ operation, options: JSON.parse((await text(request)) || '{}') });
    // `doctor` requests the public form of the health first.
    const route = ROUTES.get(operation === '/healthz' ? 'health' : operation);
    const answer = route ? bodyOf(route.responses['200']) : {};
    if (request.headers.accept === 'text/event-stream') {
      const { sandboxId, exitCode, durationMs } = answer;
      response.setHeader('Content-Type', 'text/event-stream');
      response.end(`event: exit\ndata: ${JSON.stringify({ sandboxId, exitCode, durationMs })}\n\n`);
      return;
    }
    response.setHeader('Content-Type', 'application/json');
    // `doctor` compares the time with its clock.
    response.end(JSON.stringify('time' in answer ? { ...answer, time: new Date() } : answer));
  });
  await withServer(server, async (address) => {
    await using cli = await Cli.create(address);
    let folder = '.';
    for (const [name, value] of Object.entries(files))
      folder = dirname(await cli.file(name, JSON.stringify(value)));
    const { status, stdout, stderr } = await cli.shell(`cd '${folder}' && ${command}`);
    // The answer to `revive` has a loss, of which the program warns.
    assert.deepEqual([status, stderr.replace(/^warning: the files were restored .*\n/, '')], [0, ''], stdout);
  });
  return calls;
}

/** Returns the options of an example as the program sends them: with the sandbox and the snapshot that it finds by name. */
function found(operation: string, options: any): any {
  const { name, workspace, label, from, to, ...others } = options;
  if (from) return { ...others, from: found('get', from), to: to.label ? found('get', to) : to };
  const { sandboxId } = bodyOf(ROUTES.get('workspaces/getByName')!.responses['200']);
  const { snapshotId } = bodyOf(ROUTES.get('get')!.responses['200']);
  return {
    ...others,
    sandboxId,
    ...(workspace && name && { name }),
    ...(label && (operation === 'snapshot' ? { label } : { snapshotId })),
  };
}

describe('the command of', () => {
  for (const [operation, command] of Object.entries(COMMANDS))
    test(`${operation} calls it with the example`, async () => {
      const route = ROUTES.get(operation) as Route;
      const example = bodyOf(route.requestBody);
      const files = Object.fromEntries(
        Object.entries(FILES).map(([name, field]) => [name, example[field] ?? null]),
      );
      const calls = await callsOf(command, files);
      const call = calls.find((call) => call.operation === operation);
      assert.ok(call, `${command}\n${JSON.stringify(calls)}`);
      assert.deepEqual(optionFaults(route, call.options), []);
      const isByName =
        typeof example.from === 'object' ||
        ['name', 'workspace'].some((name) => name in example && !(name in call.options));
      assert.partialDeepStrictEqual(call.options, isByName ? found(operation, example) : example);
    });
});
