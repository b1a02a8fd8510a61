// The handles of named workspaces.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { clientOver, FakeTransport } from './fakes.ts';
import {
  SnapshotterError,
  type Call,
  type DownloadCall,
  type FileContent,
  type WithHandle,
  type Workspace,
  type WorkspaceOperations,
} from '../src/index.ts';

const address = { name: 'project', tenant: 'acme' };
const workspace = { ...address, sandboxId: 'ws-1', dir: '/workspace', state: 'running' };

/** A transport that answers every call with the workspace, and `snapshot` with an id. */
function answering() {
  return new FakeTransport(({ operation }: Call) =>
    operation === 'snapshot' ? { snapshotId: 'snap-1' } : workspace,
  );
}

/** Returns the answer of a read of a part of a file. */
function filePart(content: string, offset: number, sizeBytes: number) {
  const version = { etag: '0f', modifiedAt: '2026-11-30T00:00:00.000Z', sizeBytes };
  return { ...version, encoding: 'utf8', content, offset, length: content.length };
}

/** Returns the operations and options of the recorded calls, without the generated keys. */
function sentTo(transport: FakeTransport) {
  return transport.calls.map(({ operation, options: { idempotencyKey: _, ...options } }: Call) => [
    operation,
    options,
  ]);
}

/** The calls that return a workspace. */
const returning: Record<string, (all: WorkspaceOperations) => Promise<WithHandle<Workspace>>> = {
  create: (all) => all.create(address),
  getOrCreate: (all) => all.getOrCreate(address),
  getByName: (all) => all.getByName(address),
  start: (all) => all.start(address),
  stop: (all) => all.stop(address),
  update: (all) => all.update(address),
  promote: (all) => all.promote({ ...address, from: 'attempt' }),
  migrate: (all) => all.migrate({ ...address, runtime: 'container' }),
  'describe of a handle': (all) => all.handle(address).describe(),
  'start of a handle': (all) => all.handle(address).start(),
  'stop of a handle': (all) => all.handle(address).stop(),
  'update of a handle': (all) => all.handle(address).update({ persistent: true }),
  'promote of a handle': (all) => all.handle(address).promote({ from: 'attempt' }),
  'migrate of a handle': (all) => all.handle(address).migrate({ runtime: 'container' }),
  'rollback of a handle': (all) => all.handle(address).rollback('snap-abcdefghij012345'),
};

for (const [name, call] of Object.entries(returning)) {
  test(`the answer of ${name} is a handle, and has the members of the answer`, async () => {
    const transport = answering();
    const handle = await call(clientOver(transport).client.workspaces);
    assert.deepEqual({ ...handle }, workspace);
    assert.equal(JSON.stringify(handle), JSON.stringify(workspace));
    const { exec } = handle;
    await exec('npm test');
    await handle.files.stat('a');
    assert.deepEqual(sentTo(transport).slice(-2), [
      ['exec', { ...address, command: 'npm test' }],
      ['files/stat', { ...address, path: 'a' }],
    ]);
  });
}

test('a workspace that is also a handle is a plain object, as RPC and storage take it', async () => {
  const handle = await clientOver(answering()).client.workspaces.getOrCreate({ name: 'project' });
  assert.equal(Object.getPrototypeOf(handle), Object.prototype);
  assert.deepEqual(structuredClone(handle), workspace);
});

test('the workspaces of a list are handles in the tenant of the list', async () => {
  const entry = { name: 'project', sandboxId: 'ws-1', state: 'stopped' };
  const transport = new FakeTransport(({ operation }: Call) =>
    operation === 'workspaces/list' ? { workspaces: [entry] } : {},
  );
  const { workspaces } = clientOver(transport).client;
  for await (const listed of workspaces.all({ tenant: 'acme' })) {
    assert.deepEqual({ ...listed }, entry);
    await listed.delete();
  }
  await (await workspaces.list()).workspaces[0]?.delete();
  assert.deepEqual(sentTo(transport), [
    ['workspaces/list', { tenant: 'acme' }],
    ['workspaces/delete', address],
    ['workspaces/list', {}],
    ['workspaces/delete', { name: 'project' }],
  ]);
});

test('a snapshot is compared with the present files of the workspace', async () => {
  const transport = answering();
  await clientOver(transport)
    .client.workspaces.handle(address)
    .diff('snap-aaaaaaaaaaaaaaaa', undefined, { limit: 5 });
  const from = { ...address, snapshotId: 'snap-aaaaaaaaaaaaaaaa' };
  assert.deepEqual(sentTo(transport), [['diff', { limit: 5, from, to: address }]]);
});

test('a content that is neither a text, bytes nor a stream is refused before a call', async () => {
  const transport = answering();
  const { files } = clientOver(transport).client.workspaces.handle(address);
  await assert.rejects(
    files.write('a', { x: 1 } as never),
    /must be a text, a Uint8Array or a ReadableStream/,
  );
  assert.deepEqual(transport.sent, []);
});

test('the forks of a workspace are handles, unless they failed', async () => {
  const forks = [
    { name: 'a', value: { ...workspace, name: 'a' } },
    { name: 'b', error: { code: 'CONTAINER_UNAVAILABLE' } },
  ];
  const transport = new FakeTransport(({ operation }: Call) =>
    operation === 'workspaces/fork' ? { snapshotId: 'snap-1', forks } : {},
  );
  const answer = await clientOver(transport).client.workspaces.handle(address).fork({ count: 2 });
  assert.equal(JSON.stringify(answer), JSON.stringify({ snapshotId: 'snap-1', forks }));
  const [a, b] = answer.forks;
  await a?.value?.exec('npm test');
  assert.deepEqual(sentTo(transport).at(-1), ['exec', { ...address, name: 'a', command: 'npm test' }]);
  assert.equal(b?.value, undefined);
});

describe('a handle', () => {
  test('makes no call when it is created', () => {
    const transport = answering();
    clientOver(transport).client.workspaces.handle(address);
    assert.deepEqual(transport.sent, []);
  });

  test('calls each operation by name', async () => {
    const transport = answering();
    const handle = clientOver(transport).client.workspaces.handle(address);
    await handle.exec({ argv: ['ls', '-l'], timeoutSeconds: 5 });
    await handle.commands.start('npm run dev');
    await handle.commands.list();
    await handle.commands.output('c1', { offset: 7 });
    await handle.commands.end('c1', { killSignal: 'INT' });
    await handle.start({ from: 'snap-abcdefghij012345' });
    await handle.turnEnded();
    await handle.stop({ snapshot: { label: 'green', expirationSeconds: 60 } });
    await handle.fork({ newName: 'attempt', count: 1, from: 'latest' });
    await handle.usage();
    await handle.update({ persistent: false });
    await handle.promote({ from: 'attempt' });
    await handle.delete();
    assert.deepEqual(sentTo(transport), [
      ['exec', { ...address, argv: ['ls', '-l'], timeoutSeconds: 5 }],
      ['commands/start', { ...address, command: 'npm run dev' }],
      ['commands/list', address],
      ['commands/output', { ...address, commandId: 'c1', offset: 7 }],
      ['commands/end', { ...address, commandId: 'c1', killSignal: 'INT' }],
      ['workspaces/start', { ...address, from: 'snap-abcdefghij012345' }],
      ['workspaces/turnEnded', address],
      ['workspaces/stop', { ...address, snapshot: { label: 'green', expirationSeconds: 60 } }],
      ['workspaces/fork', { ...address, newName: 'attempt', count: 1, from: 'latest' }],
      ['usage', address],
      ['workspaces/update', { ...address, persistent: false }],
      ['workspaces/promote', { ...address, from: 'attempt' }],
      ['workspaces/delete', address],
    ]);
  });

  test('reads and changes files by name', async () => {
    const transport = answering();
    const { files } = clientOver(transport).client.workspaces.handle(address);
    await files.read('a.txt', { offset: 3 });
    await files.write('a.txt', 'text', { ifMatch: '0f' });
    await files.list();
    await files.stat('a.txt');
    await files.mkdir('src');
    await files.move('a.txt', 'src/a.txt', { overwrite: true });
    await files.remove('src', { recursive: true });
    assert.deepEqual(sentTo(transport), [
      ['files/read', { offset: 3, ...address, path: 'a.txt' }],
      ['files/write', { ifMatch: '0f', ...address, path: 'a.txt', content: 'text' }],
      ['files/list', { ...address, path: '/' }],
      ['files/stat', { ...address, path: 'a.txt' }],
      ['files/mkdir', { ...address, path: 'src' }],
      ['files/move', { overwrite: true, ...address, path: 'a.txt', to: 'src/a.txt' }],
      ['files/remove', { recursive: true, ...address, path: 'src' }],
    ]);
  });

  test('reads a file of any size as a stream, in parts', async () => {
    const texts = ['first', 'second'];
    const transport = new FakeTransport(({ options: { offset } }: Call) =>
      filePart(texts[offset === 0 ? 0 : 1] ?? '', Number(offset), 11),
    );
    const { files } = clientOver(transport).client.workspaces.handle(address);
    const { sizeBytes, body } = await files.download('a', { dir: '/data' });
    assert.equal(sizeBytes, 11);
    assert.equal(await new Response(body).text(), 'firstsecond');
    const part = { dir: '/data', ...address, path: 'a', length: 1_048_576 };
    assert.deepEqual(sentTo(transport), [
      ['files/read', { ...part, offset: 0 }],
      ['files/read', { ...part, offset: 5 }],
    ]);
  });

  test('does not join the parts of two versions of a file', async () => {
    const versions: Partial<FileContent>[] = [
      { etag: '1f' },
      { modifiedAt: '2026-11-30T00:00:01.000Z' },
      { sizeBytes: 12 },
    ];
    for (const version of versions) {
      const transport = new FakeTransport(({ options: { offset } }: Call) => ({
        ...filePart('first', Number(offset), 11),
        ...(offset === 0 ? {} : version),
      }));
      const { files } = clientOver(transport).client.workspaces.handle(address);
      const { body } = await files.download('a');
      await assert.rejects(new Response(body).text(), { code: 'FILE_CHANGED', retryable: false });
    }
  });

  test('downloads a file of a snapshot', async () => {
    const opened: unknown[] = [];
    const transport = Object.assign(answering(), {
      open: async ({ download, options }: DownloadCall) => {
        opened.push([download, options]);
        const body = new Response('text').body as ReadableStream<Uint8Array>;
        return { snapshotId: 'snap-1', etag: '"1"', sizeBytes: 4, body };
      },
    });
    const { files } = clientOver(transport).client.workspaces.handle(address);
    const { sizeBytes, body } = await files.download('a', { label: 'before' });
    assert.deepEqual([sizeBytes, await new Response(body).text()], [4, 'text']);
    assert.deepEqual(opened, [['files/download', { label: 'before', ...address, path: 'a' }]]);
  });

  test('sends bytes, streams and long texts beside the options', async () => {
    const stream = new Response('stream').body as ReadableStream<Uint8Array>;
    for (const content of [new Uint8Array([0, 255]), stream, 'ü'.repeat(10_000)]) {
      const transport = answering();
      await clientOver(transport).client.workspaces.handle(address).files.write('a', content);
      const { options, input } = transport.calls[0] as Call;
      assert.deepEqual(options, { ...address, path: 'a' });
      const sent = await new Response(input as ReadableStream).bytes();
      const expected = content === stream ? 'stream' : content;
      assert.deepEqual(sent, typeof expected === 'string' ? new TextEncoder().encode(expected) : expected);
    }
  });

  test('does not send a stream twice', async () => {
    const busy = { code: 'SANDBOX_BUSY', kind: 'transient', message: '', remediation: '', retryable: true };
    for (const [content, attempts] of [
      [new Response('x').body as ReadableStream<Uint8Array>, 1],
      [new Uint8Array([1]), 4],
    ] as const) {
      const transport = new FakeTransport(() => {
        throw Object.assign(new Error('SANDBOX_BUSY'), busy);
      });
      const { files } = clientOver(transport).client.workspaces.handle(address);
      await assert.rejects(files.write('a', content), { code: 'SANDBOX_BUSY' });
      assert.equal(transport.calls.length, attempts);
    }
  });

  test('promotes a workspace by its answer', async () => {
    const transport = new FakeTransport(workspace);
    const { workspaces } = clientOver(transport).client;
    const attempt = await workspaces.getByName({ name: 'attempt' });
    await workspaces.handle(address).promote({ from: { ...attempt, name: 'attempt' } });
    assert.deepEqual(sentTo(transport).at(-1), ['workspaces/promote', { ...address, from: 'attempt' }]);
  });

  test('calls each operation on checkpoints by name', async () => {
    const transport = new FakeTransport(({ operation }: Call) =>
      operation === 'checkpoints/list' ? { checkpoints: [{ name: 'cp-1' }] } : workspace,
    );
    const { checkpoints } = clientOver(transport).client.workspaces.handle(address);
    await checkpoints.create('cp-1', { description: 'tests pass' });
    await checkpoints.list({ limit: 5 });
    for await (const { name } of checkpoints.all()) assert.equal(name, 'cp-1');
    await checkpoints.diff('cp-1', { maxBytes: 10 });
    await checkpoints.restore('cp-1', { pruneEmptyDirectories: true });
    await checkpoints.delete('cp-1');
    const place = { workspace: 'project', tenant: 'acme' };
    assert.deepEqual(sentTo(transport), [
      ['checkpoints/create', { ...place, name: 'cp-1', description: 'tests pass' }],
      ['checkpoints/list', { ...place, limit: 5 }],
      ['checkpoints/list', place],
      ['checkpoints/diff', { ...place, name: 'cp-1', maxBytes: 10 }],
      ['checkpoints/restore', { ...place, name: 'cp-1', pruneEmptyDirectories: true }],
      ['checkpoints/delete', { ...place, name: 'cp-1' }],
    ]);
  });

  test('takes the options of a command beside it or with it', async () => {
    const transport = answering();
    const handle = clientOver(transport).client.workspaces.handle(address);
    await handle.exec('npm test', { timeoutSeconds: 1 });
    await handle.exec(['npm', 'test'], { cwd: 'app' });
    await handle.exec({ command: 'npm test', cwd: 'app' });
    await handle.commands.start('npm run dev', { timeoutSeconds: 600 });
    await handle.commands.start(['npm', 'run', 'dev']);
    assert.deepEqual(sentTo(transport), [
      ['exec', { ...address, command: 'npm test', timeoutSeconds: 1 }],
      ['exec', { ...address, argv: ['npm', 'test'], cwd: 'app' }],
      ['exec', { ...address, command: 'npm test', cwd: 'app' }],
      ['commands/start', { ...address, command: 'npm run dev', timeoutSeconds: 600 }],
      ['commands/start', { ...address, argv: ['npm', 'run', 'dev'] }],
    ]);
  });

  test('refuses a rollback without a snapshot', async () => {
    const transport = answering();
    const handle = clientOver(transport).client.workspaces.handle(address);
    const missing = undefined as unknown as string;
    await assert.rejects(handle.rollback(missing), /rollback\(\) needs a snapshot/);
    assert.deepEqual(transport.sent, []);
  });

  test('refuses a text in place of options, and says what to pass', async () => {
    const transport = answering();
    const handle = clientOver(transport).client.workspaces.handle(address);
    for (const [method, expected] of [
      ['snapshot', /Pass \{ label: "before" \}/],
      ['start', /Pass \{ from: "before" \}/],
      ['stop', /Pass \{ snapshot: \{ label: "before" \} \}/],
      ['fork', /Pass \{ newName: "before" \}/],
      ['promote', /Pass \{ from: "before" \}/],
      ['update', /Pass \{ currentSnapshotId: "before" \}/],
    ] as const) {
      const call = async () => (handle[method] as (options: unknown) => Promise<unknown>)('before');
      await assert.rejects(
        call,
        (error: Error) => error instanceof SnapshotterError && expected.test(error.remediation),
      );
    }
    assert.deepEqual(transport.sent, []);
  });

  test('refuses `name` as the name of a fork, which would be that of the workspace', async () => {
    const transport = answering();
    const handle = clientOver(transport).client.workspaces.handle(address);
    await assert.rejects(handle.fork({ name: 'attempt' } as never), /Pass \{ newName: … \}/);
    assert.deepEqual(transport.sent, []);
  });

  test('rolls the workspace back to a snapshot', async () => {
    const [transport, id] = [answering(), 'snap-abcdefghij012345'];
    await clientOver(transport).client.workspaces.handle(address).rollback(id, { acceptStale: true });
    assert.deepEqual(sentTo(transport), [
      ['workspaces/update', { ...address, currentSnapshotId: id, acceptStale: true }],
    ]);
  });

  test('lists the snapshots of all its sandboxes by name, page by page', async () => {
    const transport = new FakeTransport(({ options }: Call) =>
      options.cursor
        ? { snapshots: [{ snapshotId: 'a' }] }
        : { snapshots: [{ snapshotId: 'b' }], cursor: 'more' },
    );
    const ids: string[] = [];
    const handle = clientOver(transport).client.workspaces.handle(address);
    for await (const { snapshotId } of handle.snapshots({ limit: 1 })) ids.push(snapshotId);
    assert.deepEqual(ids, ['b', 'a']);
    assert.deepEqual(sentTo(transport), [
      ['list', { ...address, limit: 1 }],
      ['list', { ...address, limit: 1, cursor: 'more' }],
    ]);
  });

  test('captures, migrates and returns its lineage by name', async () => {
    const transport = answering();
    const handle = clientOver(transport).client.workspaces.handle(address);
    assert.deepEqual(await handle.snapshot({ label: 'tests pass' }), { snapshotId: 'snap-1' });
    await handle.lineage({ check: true });
    await handle.migrate({ runtime: 'container' });
    assert.deepEqual(sentTo(transport), [
      ['snapshot', { ...address, label: 'tests pass' }],
      ['lineage', { ...address, check: true }],
      ['workspaces/migrate', { ...address, runtime: 'container' }],
    ]);
  });

  test('can stop the workspace after the snapshot', async () => {
    const transport = answering();
    await clientOver(transport).client.workspaces.handle(address).snapshot({ stop: true });
    assert.deepEqual(
      transport.calls.map(({ operation }: Call) => operation),
      ['snapshot', 'workspaces/stop'],
    );
  });

  test('contains the address even if the options of a caller without types contain another', async () => {
    const transport = answering();
    const handle = clientOver(transport).client.workspaces.handle(address);
    await handle.exec({ command: 'ls', name: 'other' } as never);
    await handle.stop({ name: 'other' } as never);
    assert.deepEqual(
      sentTo(transport).map(([, options]) => (options as typeof address).name),
      ['project', 'project'],
    );
  });
});
