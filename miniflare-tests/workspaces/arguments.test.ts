// Invalid arguments of every workspace operation: an error over both transports, without any effect.

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

/** Valid arguments of each operation. */
const OPERATIONS: Record<string, Record<string, unknown>> = {
  create: { ...MAKE, tenant: 'default' },
  getOrCreate: { ...MAKE, tenant: 'default', ...START },
  getByName: { name: 'existing', tenant: 'default' },
  list: { tenant: 'default', limit: 10, prefix: 't' },
  start: { name: 'existing', tenant: 'default', fingerprint: 'a', ...START },
  stop: { name: 'existing', tenant: 'default' },
  fork: { name: 'existing', newName: 'new', count: 1, copyEnv: true, idempotencyKey: 'key' },
  update: { name: 'existing', ...SETTINGS, acceptStale: true },
  delete: { name: 'existing', tenant: 'default' },
};

const invalid = (code: string, values: unknown[]): [unknown, string][] =>
  values.map((value) => [value, code]);
const flag = invalid('INVALID_ARGUMENT', ['yes', 1]);
const hook = (hook: unknown) => ({ beforeStop: hook });
const address = [
  ...invalid('INVALID_ARGUMENT', [7, ['existing']]),
  ...invalid('INVALID_WORKSPACE_NAME', [
    '',
    '-existing',
    '.',
    'a/b',
    'a b',
    'ü',
    'existing\n',
    'x'.repeat(64),
  ]),
];

/** Invalid values of each option, with the code of the refusal. */
const VALUES: Record<string, [unknown, string][]> = {
  name: [...invalid('INVALID_ARGUMENT', [undefined]), ...address],
  tenant: address,
  newName: address,
  dir: [...invalid('INVALID_ARGUMENT', [7]), ...invalid('INVALID_DIRECTORY', ['/etc', 'workspace', ''])],
  persistent: flag,
  allowEmpty: flag,
  acceptStale: flag,
  copyEnv: flag,
  count: invalid('INVALID_ARGUMENT', [0, -1, 101, 1.5, '2', 1e100]),
  limit: invalid('INVALID_ARGUMENT', [0, -1, 1001, 1.5, '10']),
  prefix: invalid('INVALID_ARGUMENT', [7, ['t']]),
  fingerprint: invalid('INVALID_ARGUMENT', [7, '', 'x'.repeat(257)]),
  onDiverged: invalid('INVALID_ARGUMENT', ['', 'Adopt', 'ask', 7, true]),
  expect: invalid('INVALID_ARGUMENT', ['lock', 7, ['lock'], { lock: 7 }]),
  idempotencyKey: invalid('INVALID_ARGUMENT', [7, '', 'x'.repeat(129), 'a\u0000']),
  retention: invalid('INVALID_ARGUMENT', [
    7,
    { keep: 1 },
    { keepLast: { count: 0 } },
    { expirationSeconds: -1 },
  ]),
  hooks: invalid('INVALID_ARGUMENT', [
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
  expiry: invalid('INVALID_ARGUMENT', [
    7,
    { idleSeconds: -1 },
    { idleSeconds: 1e9 },
    { maxSeconds: '60' },
    { days: 1 },
  ]),
  dependsOn: invalid('INVALID_ARGUMENT', [
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
  env: invalid('INVALID_ARGUMENT', [
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
let initialState: unknown;

before(async () => {
  world = await World.start();
  const workspace = world.workspace('existing');
  await workspace.create();
  await workspace.exec('echo x > file');
  await world.snapshot(await workspace.sandboxId());
  initialState = await readState();
});
after(() => world[Symbol.asyncDispose]());

/** Reads everything that a call could change. */
const readState = async () => ({
  objects: await world.objects(),
  running: world.running(),
  lists: await Promise.all(['default', 'other'].map((tenant) => world.rpc('workspaces/list', { tenant }))),
  workspace: await world.workspace('existing').describe(),
});

/** Asserts that a call fails with `code` and with the same message over both transports, and that the error is complete. */
async function assertRefused(operation: string, options: unknown, code: string) {
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
  assert.ok(rpc.message.includes(http.message), 'both messages must be the same');
}

test('the table covers every workspace operation of the Worker', async () => {
  const rust = await readFile(new URL('../../src/model/operation.rs', import.meta.url), 'utf8');
  const names = [...rust.matchAll(/^ +\w+ = "workspaces\/(\w+)",/gm)].map(([, name]) => name);
  assert.deepEqual(Object.keys(OPERATIONS).sort(), names.sort());
});

for (const [operation, validOptions] of Object.entries(OPERATIONS)) {
  describe(operation, () => {
    test('refuses arguments that are not an object, and unknown options', async () => {
      for (const options of [null, 7, 'existing', true, [], ['existing']]) {
        await assertRefused(operation, options, 'INVALID_ARGUMENT');
      }
      for (const unknown of ['Name', 'ttl', 'sandboxId', '__proto__x', 'signal2']) {
        await assertRefused(operation, { ...validOptions, [unknown]: 1 }, 'INVALID_ARGUMENT');
      }
      assert.deepEqual(await readState(), initialState);
    });

    const options = Object.keys({ tenant: '', ...validOptions }).filter((option) => option in VALUES);
    test(`refuses invalid values of ${options.join(', ')}`, async () => {
      for (const option of options) {
        for (const [value, code] of VALUES[option]!) {
          await assertRefused(operation, { ...validOptions, [option]: value }, code);
        }
      }
      assert.deepEqual(await readState(), initialState);
    });
  });
}

describe('an operation refuses', () => {
  const refusals: Record<string, [string, object, string]> = {
    'two sources': [
      'create',
      { name: 'new', sourceWorkspace: 'existing', sourceSnapshot: { sandboxId: 'a', label: 'b' } },
      'INVALID_ARGUMENT',
    ],
    'an invalid name of a source': [
      'create',
      { name: 'new', sourceWorkspace: '-' },
      'INVALID_WORKSPACE_NAME',
    ],
    'a source snapshot without a selector': [
      'create',
      { name: 'new', sourceSnapshot: { sandboxId: 'a' } },
      'INVALID_ARGUMENT',
    ],
    'a source snapshot that is a string': [
      'create',
      { name: 'new', sourceSnapshot: 'snap' },
      'INVALID_ARGUMENT',
    ],
    'an invalid snapshot id': ['update', { name: 'existing', currentSnapshotId: 'snap-1' }, 'INVALID_REF'],
    'an update without a change': ['update', { name: 'existing' }, 'INVALID_ARGUMENT'],
    'an invalid cursor': ['list', { cursor: '-' }, 'INVALID_ARGUMENT'],
    'a stop with options of a start': ['stop', { name: 'existing', allowEmpty: true }, 'INVALID_ARGUMENT'],
    'forks whose numbered names are too long': [
      'fork',
      { name: 'existing', newName: 'x'.repeat(62), count: 2 },
      'INVALID_WORKSPACE_NAME',
    ],
  };
  for (const [what, [operation, options, code]] of Object.entries(refusals)) {
    test(what, async () => {
      await assertRefused(operation, options, code);
      assert.deepEqual(await readState(), initialState);
    });
  }

  test('a body that is too large', async () => {
    const env = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`A${index}`, 'x'.repeat(1000)]),
    );
    await assertRefused('create', { name: 'new', env }, 'PAYLOAD_TOO_LARGE');
    assert.deepEqual(await readState(), initialState);
  });
});

test('the status of an HTTP response reflects the kind of the error', async () => {
  const status = async (operation: string, options: object) =>
    (await world.fetch(`/v1/workspaces/${operation}`, { body: JSON.stringify(options) })).status;
  assert.deepEqual(
    await Promise.all([
      status('getByName', { name: 'existing' }),
      status('getByName', { name: 'missing' }),
      status('create', { name: 'existing' }),
      status('create', { name: '-' }),
      status('stop', { name: 'existing', memory: true }),
    ]),
    [200, 404, 409, 400, 501],
  );
});

test('an operation is called by its name, and with POST only', async () => {
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
  assert.deepEqual(await readState(), initialState);
});
