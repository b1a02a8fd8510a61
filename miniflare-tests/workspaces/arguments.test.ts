// Bad input, at every operation on workspaces: a clear error over both transports, and nothing changed.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { World } from '../world.ts';

const SETTINGS = {
  persistent: true,
  retention: { keepLast: { count: 3 } },
  hooks: { beforeStop: { command: 'true', timeoutSeconds: 1, onFailure: 'warn' } },
  expiry: { idleSeconds: 60, maxSeconds: 0 },
  dependsOn: { files: ['lock'], fingerprint: 'a', onMismatch: 'report', onImageChange: 'fail' },
  env: { NAME: 'value' },
};
const START = { onDiverged: 'adopt', allowEmpty: true, acceptStale: true, expect: { lock: '0' } };
const MAKE = { name: 'new', dir: '/workspace', ...SETTINGS, idempotencyKey: 'key' };

/** Arguments that each operation would take. */
const OPERATIONS: Record<string, Record<string, unknown>> = {
  create: { ...MAKE, tenant: 'default' },
  getOrCreate: { ...MAKE, tenant: 'default', ...START },
  getByName: { name: 'there', tenant: 'default' },
  list: { tenant: 'default', limit: 10, prefix: 't' },
  start: { name: 'there', tenant: 'default', fingerprint: 'a', ...START },
  stop: { name: 'there', tenant: 'default' },
  fork: { name: 'there', newName: 'new', count: 1, copyEnv: true, idempotencyKey: 'key' },
  update: { name: 'there', ...SETTINGS, acceptStale: true },
  delete: { name: 'there', tenant: 'default' },
};

const odd = (code: string, values: unknown[]): [unknown, string][] => values.map((value) => [value, code]);
const flag = odd('INVALID_ARGUMENT', ['yes', 1]);
const hook = (hook: unknown) => ({ beforeStop: hook });
const address = [
  ...odd('INVALID_ARGUMENT', [7, ['there']]),
  ...odd('INVALID_WORKSPACE_NAME', ['', '-there', '.', 'a/b', 'a b', 'ü', 'there\n', 'x'.repeat(64)]),
];

/** What is wrong with a value of an option: the value, and the code that it is refused by. */
const VALUES: Record<string, [unknown, string][]> = {
  name: [...odd('INVALID_ARGUMENT', [undefined]), ...address],
  tenant: address,
  newName: address,
  dir: [...odd('INVALID_ARGUMENT', [7]), ...odd('INVALID_DIRECTORY', ['/etc', 'workspace', ''])],
  persistent: flag,
  allowEmpty: flag,
  acceptStale: flag,
  copyEnv: flag,
  count: odd('INVALID_ARGUMENT', [0, -1, 101, 1.5, '2', 1e100]),
  limit: odd('INVALID_ARGUMENT', [0, -1, 1001, 1.5, '10']),
  prefix: odd('INVALID_ARGUMENT', [7, ['t']]),
  fingerprint: odd('INVALID_ARGUMENT', [7, '', 'x'.repeat(257)]),
  onDiverged: odd('INVALID_ARGUMENT', ['', 'Adopt', 'ask', 7, true]),
  expect: odd('INVALID_ARGUMENT', ['lock', 7, ['lock'], { lock: 7 }]),
  idempotencyKey: odd('INVALID_ARGUMENT', [7, '', 'x'.repeat(129), 'a\u0000']),
  retention: odd('INVALID_ARGUMENT', [7, { keep: 1 }, { keepLast: { count: 0 } }, { expirationSeconds: -1 }]),
  hooks: odd('INVALID_ARGUMENT', [
    7,
    'true',
    hook('true'),
    hook({}),
    hook({ command: '' }),
    hook({ command: '  ' }),
    hook({ command: 7 }),
    hook({ command: 'a\u0000b' }),
    hook({ command: 'x'.repeat(8193) }),
    hook({ command: 'true', timeoutSeconds: 0 }),
    hook({ command: 'true', timeoutSeconds: 601 }),
    hook({ command: 'true', timeoutSeconds: 1.5 }),
    hook({ command: 'true', onFailure: 'ignore' }),
    hook({ command: 'true', retries: 3 }),
    { beforeStart: { command: 'true' } },
  ]),
  expiry: odd('INVALID_ARGUMENT', [
    7,
    { idleSeconds: -1 },
    { idleSeconds: 1e9 },
    { maxSeconds: '60' },
    { days: 1 },
  ]),
  dependsOn: odd('INVALID_ARGUMENT', [
    7,
    { files: 'lock' },
    { files: [7] },
    { files: [''] },
    { files: ['a\nb'] },
    { files: ['x'.repeat(1025)] },
    { files: Array.from({ length: 33 }, (_, index) => `file-${index}`) },
    { fingerprint: '' },
    { onMismatch: 'ask' },
    { onImageChange: true },
    { image: 'x' },
  ]),
  env: odd('INVALID_ARGUMENT', [
    7,
    ['A=1'],
    { A: 1 },
    { '': 'a' },
    { '1A': 'a' },
    { 'A-B': 'a' },
    { A: 'a\u0000b' },
    Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`A${index}`, ''])),
  ]),
};

let world: World;
let untouched: unknown;

before(async () => {
  world = await World.start();
  const workspace = world.workspace('there');
  await workspace.create();
  await workspace.exec('echo x > file');
  await world.snapshot(await workspace.sandboxId());
  untouched = await everything();
});
after(() => world[Symbol.asyncDispose]());

/** All that a call could have changed. */
const everything = async () => ({
  objects: await world.objects(),
  running: world.running(),
  lists: await Promise.all(['default', 'other'].map((tenant) => world.rpc('workspaces/list', { tenant }))),
  workspace: await world.workspace('there').describe(),
});

/** The call fails with the code, over both transports and in the same words, and with all that an error has to have. */
async function refused(operation: string, options: unknown, code: string) {
  const what = `${operation} of ${JSON.stringify(options)?.slice(0, 200)}`;
  const rpc = await world.failure(world.rpc(`workspaces/${operation}`, options));
  const http = await world.failure(world.http(`workspaces/${operation}`, options));
  for (const error of [rpc, http]) {
    assert.equal(error.code, code, `${what}: ${error.message}`);
    assert.ok(error.kind && error.message && error.remediation, what);
    assert.equal(error.retryable, false, what);
    assert.match(error.correlationId ?? '', /^[0-9a-f]{16}$/, what);
  }
  assert.ok(rpc.message.startsWith(`${code}: `), rpc.message);
  assert.ok(rpc.message.includes(http.message), 'both say the same');
}

test('the table has every operation on workspaces that the Worker has', async () => {
  const rust = await readFile(new URL('../../src/api/operations.rs', import.meta.url), 'utf8');
  const names = [...rust.matchAll(/^ {4}\w+ = "workspaces\/(\w+)";$/gm)].map(([, name]) => name);
  assert.deepEqual(Object.keys(OPERATIONS).sort(), names.sort());
});

for (const [operation, takes] of Object.entries(OPERATIONS)) {
  describe(operation, () => {
    test('refuses what is no object, and an option that it does not know', async () => {
      for (const options of [null, 7, 'there', true, [], ['there']]) {
        await refused(operation, options, 'INVALID_ARGUMENT');
      }
      for (const unknown of ['Name', 'ttl', 'sandboxId', '__proto__x', 'signal2']) {
        await refused(operation, { ...takes, [unknown]: 1 }, 'INVALID_ARGUMENT');
      }
      assert.deepEqual(await everything(), untouched);
    });

    const wrong = Object.keys({ tenant: '', ...takes }).filter((option) => option in VALUES);
    test(`refuses wrong values of ${wrong.join(', ')}`, async () => {
      for (const option of wrong) {
        for (const [value, code] of VALUES[option]!) {
          await refused(operation, { ...takes, [option]: value }, code);
        }
      }
      assert.deepEqual(await everything(), untouched);
    });
  });
}

describe('what does not go together is refused:', () => {
  const refusals: Record<string, [string, object, string]> = {
    'two sources': [
      'create',
      { name: 'new', sourceWorkspace: 'there', sourceSnapshot: { sandboxId: 'a', label: 'b' } },
      'INVALID_ARGUMENT',
    ],
    'a source that is no name': ['create', { name: 'new', sourceWorkspace: '-' }, 'INVALID_WORKSPACE_NAME'],
    'a snapshot that is none': [
      'create',
      { name: 'new', sourceSnapshot: { sandboxId: 'a' } },
      'INVALID_ARGUMENT',
    ],
    'a snapshot that is a text': ['create', { name: 'new', sourceSnapshot: 'snap' }, 'INVALID_ARGUMENT'],
    'a snapshot id that is none': ['update', { name: 'there', currentSnapshotId: 'snap-1' }, 'INVALID_REF'],
    'a change of nothing': ['update', { name: 'there' }, 'INVALID_ARGUMENT'],
    'a cursor that is none': ['list', { cursor: '-' }, 'INVALID_ARGUMENT'],
    'a stop with options of a start': ['stop', { name: 'there', allowEmpty: true }, 'INVALID_ARGUMENT'],
    'forks whose numbered names are too long': [
      'fork',
      { name: 'there', newName: 'x'.repeat(62), count: 2 },
      'INVALID_WORKSPACE_NAME',
    ],
  };
  for (const [what, [operation, options, code]] of Object.entries(refusals)) {
    test(what, async () => {
      await refused(operation, options, code);
      assert.deepEqual(await everything(), untouched);
    });
  }

  test('more than any operation needs', async () => {
    const env = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`A${index}`, 'x'.repeat(1000)]),
    );
    await refused('create', { name: 'new', env }, 'PAYLOAD_TOO_LARGE');
    assert.deepEqual(await everything(), untouched);
  });
});

test('the status of an HTTP answer says what sort of error it is', async () => {
  const status = async (operation: string, options: object) =>
    (await world.fetch(`/v1/workspaces/${operation}`, { body: JSON.stringify(options) })).status;
  assert.deepEqual(
    await Promise.all([
      status('getByName', { name: 'there' }),
      status('getByName', { name: 'nobody' }),
      status('create', { name: 'there' }),
      status('create', { name: '-' }),
      status('stop', { name: 'there', memory: true }),
    ]),
    [200, 404, 409, 400, 501],
  );
});

test('operations are reached by their names, and by POST only', async () => {
  const status = async (path: string, init = {}) => (await world.fetch(path, { body: '{}', ...init })).status;
  assert.deepEqual(
    await Promise.all([
      status('/v1/workspaces/list'),
      status('/v1/workspaces'),
      status('/v1/workspaces/'),
      status('/v1/workspaces/nothing'),
      status('/v1/getByName'),
      status('/v1/workspaces/list', { method: 'PUT' }),
      status('/v1/workspaces/list', { headers: { 'content-type': 'application/json' } }),
    ]),
    [200, 404, 404, 404, 404, 405, 401],
  );
  assert.deepEqual(await everything(), untouched);
});
