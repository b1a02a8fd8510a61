// Arguments that are missing or of another kind, as from JavaScript without types: what is refused before a call is sent.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { http, service, SnapshotterClient, SnapshotterError } from '../src/index.ts';
import { clientOver, FakeTransport } from './fakes.ts';

/** What the error of a call says: what is wrong, and what to pass. */
async function refusal(call: () => unknown): Promise<string> {
  const error = await (async () => call())().then(
    () => assert.fail('no error'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof SnapshotterError, String(error));
  assert.equal(error.code, 'INVALID_ARGUMENT');
  return error.message.replace('INVALID_ARGUMENT: ', '');
}

describe('what has no options', () => {
  const transport = new FakeTransport();
  const { client } = clientOver(transport);
  const any = client as any;
  for (const [name, call, expected] of [
    [
      'an operation',
      () => any.workspaces.create(),
      'workspaces.create() takes its options as an object, got undefined. → Pass { name: … }.',
    ],
    [
      'an operation with a text',
      () => any.workspaces.start('lab'),
      'workspaces.start() takes its options as an object, got a string. → Pass { name: "lab" }.',
    ],
    [
      'an operation with several options',
      () => any.exec('ls'),
      'exec() takes its options as an object, got a string. → Pass { name: …, command: … }.',
    ],
    [
      'a stream',
      () => any.execStream(),
      'execStream() takes its options as an object, got undefined. → Pass { name: …, command: … }.',
    ],
    [
      'a write',
      () => any.files.write(null),
      'files.write() takes its options as an object, got null. → Pass { name: …, path: …, content: … }.',
    ],
    [
      'a toolset',
      () => any.toolset(),
      'toolset() takes its options as an object, got undefined. → Pass { workspaces: [{ name: … }] }.',
    ],
    [
      'a handle',
      () => any.workspaces.handle('lab'),
      'handle() takes its options as an object, got a string. → Pass { name: "lab" }.',
    ],
    [
      'a transport',
      () => (http as any)(),
      'http() takes its options as an object, got undefined. → Pass { url: …, token: … }.',
    ],
  ] as const)
    test(`is refused: ${name}`, async () => {
      assert.equal(await refusal(call), expected);
      assert.deepEqual(transport.sent, []);
    });
});

test('a client needs a transport', async () => {
  const given = (transport: unknown) => refusal(() => new SnapshotterClient(transport as never));
  assert.match(await given({}), /must be a transport, got an object without `send`\. → Pass `service/);
  assert.match(await given(undefined), /must be a transport, got undefined\. → Pass `service/);
});

test('a service needs a binding', async () => {
  assert.match(await refusal(() => service(undefined as never)), /binding is missing.*\[\[services\]\]/);
});
