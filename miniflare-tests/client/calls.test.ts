// The client with the built Worker: over RPC from a Durable Object and a Worker, with current and older compatibility dates,
// and over HTTP.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { ConflictError } from '../../client/src/index.ts';
import { ClientFixture, failure, TOKEN } from './fixture.ts';

/** The error for a sandbox that never ran. */
const NOT_RUNNING = {
  code: 'SANDBOX_NOT_RUNNING',
  kind: 'conflict',
  retryable: false,
  className: 'ConflictError',
};

for (const [when, date] of Object.entries({ 'a current': '2026-10-01', 'an older': '2026-01-01' })) {
  describe(`from a Worker with ${when} compatibility date`, () => {
    let fixture: ClientFixture;
    before(async () => {
      fixture = await ClientFixture.start({ date });
    });
    after(() => fixture[Symbol.asyncDispose]());

    test('snapshot and restore copy the files of a sandbox to a new one', async () => {
      await fixture.exec('agent', 'echo x > /workspace/file');
      const ref = await fixture.call('snapshot', { sandboxId: 'agent', label: 'first' });
      const workspace = await fixture.call('restore', { ref });
      assert.equal(await fixture.exec(workspace.ref.sandboxId, 'cat /workspace/file'), 'x\n');
    });

    test('the operations of a group can be called', async () => {
      const { sandboxId, how } = await fixture.call('workspaces/getOrCreate', { name: 'notebook' });
      assert.equal(how, 'empty');
      const found = await fixture.call('workspaces/getByName', { name: 'notebook' });
      assert.equal(found.sandboxId, sandboxId);
    });

    for (const from of ['object', 'worker'] as const) {
      test(`an error has the class of its kind, in the ${from}`, async () => {
        const error = await fixture.failure('snapshot', { sandboxId: 'never-ran' }, {}, from);
        const { code, kind, retryable, className } = error;
        assert.deepEqual({ code, kind, retryable, className }, NOT_RUNNING);
        assert.match(error.message, /never-ran/);
        assert.match(error.text, /^SANDBOX_NOT_RUNNING: .*`wake: true`/);
        assert.doesNotMatch(error.message, /SANDBOX_NOT_RUNNING/);
      });
    }

    test('a list contains the items of all pages', async () => {
      await fixture.exec('many', 'echo x > /workspace/file');
      const labels = ['one', 'two', 'three', 'four', 'five'];
      for (const label of labels) await fixture.call('snapshot', { sandboxId: 'many', label });
      for (const limit of [1, 2, 5]) {
        const read = await fixture.do(
          { do: 'all snapshots', options: { sandboxId: 'many', limit } },
          'worker',
        );
        assert.deepEqual(read, labels.toReversed(), `pages of ${limit}`);
      }
    });
  });
}

describe('over HTTP', () => {
  let fixture: ClientFixture;
  before(async () => {
    fixture = await ClientFixture.start();
    await fixture.exec('agent', 'echo x > /workspace/file');
  });
  after(() => fixture[Symbol.asyncDispose]());

  test('snapshot and restore copy the files of a sandbox to a new one', async () => {
    const { ref } = await fixture.overHttp.restore({
      ref: await fixture.overHttp.snapshot({ sandboxId: 'agent' }),
    });
    assert.equal(await fixture.exec(ref.sandboxId, 'cat /workspace/file'), 'x\n');
  });

  test('the checkpoints of a workspace are those of its present sandbox', async () => {
    const workspace = fixture.overHttp.workspaces.handle({ name: 'checked' });
    await fixture.overHttp.workspaces.create({ name: 'checked' });
    await workspace.exec('echo first > file');
    await workspace.snapshot({ label: 'first' });
    await workspace.checkpoints.create('c1');
    await workspace.exec('echo second > file');
    assert.match((await workspace.checkpoints.diff('c1')).diff, /^\+second$/m);
    assert.deepEqual((await workspace.checkpoints.restore('c1')).changed, ['file']);
    assert.equal((await workspace.exec('cat file')).stdout, 'first\n');

    await workspace.rollback('first');
    assert.deepEqual((await workspace.checkpoints.list()).checkpoints, []);
    await workspace.checkpoints.create('c2');
    for await (const { name } of workspace.checkpoints.all()) assert.equal(name, 'c2');
    assert.equal((await workspace.checkpoints.delete('c2')).removed, true);
  });

  test('an error has the class of its kind', async () => {
    const error = await failure(fixture.overHttp.snapshot({ sandboxId: 'never-ran' }));
    assert.ok(error instanceof ConflictError);
    assert.equal(error.code, 'SANDBOX_NOT_RUNNING');
    assert.match(error.remediation, /`wake: true`/);
    assert.match(error.correlationId ?? '', /^[0-9a-f]{16}$/);
  });

  test('a list contains the items of all pages', async () => {
    const labels = ['c', 'b', 'a'];
    for (const label of labels.toReversed()) await fixture.overHttp.snapshot({ sandboxId: 'agent', label });
    const read: string[] = [];
    for await (const { label } of fixture.overHttp.snapshots({ sandboxId: 'agent', limit: 2 }))
      read.push(label);
    assert.deepEqual(read.slice(0, 3), labels);
  });

  test('the same key gets the same sandbox', async () => {
    const ref = await fixture.overHttp.snapshot({ sandboxId: 'agent' });
    const [one, two] = await Promise.all([
      fixture.overHttp.restore({ ref, idempotencyKey: 'once' }),
      fixture.overHttp.restore({ ref, idempotencyKey: 'once' }),
    ]);
    assert.deepEqual(one, two);
  });
});

describe('without working RPC', () => {
  let fixture: ClientFixture;
  before(async () => {
    fixture = await ClientFixture.start();
    await fixture.exec('agent', 'echo x > /workspace/file');
  });
  after(() => fixture[Symbol.asyncDispose]());

  const proxied = { binding: 'PROXY', token: TOKEN } as const;
  const failing = { binding: 'FAILING', token: TOKEN } as const;

  test('calls use fetch if the bound Worker has no RPC methods', async () => {
    const ref = await fixture.call('snapshot', { sandboxId: 'agent' }, proxied);
    assert.equal(ref.ref.originId, 'agent');
    const { code } = await fixture.failure('snapshot', { sandboxId: 'never-ran' }, proxied);
    assert.equal(code, 'SANDBOX_NOT_RUNNING');
  });

  test('calls fail with RPC_UNSUPPORTED if the bound Worker has no RPC methods and there is no token', async () => {
    const { code, className } = await fixture.failure('list', { sandboxId: 'agent' }, { binding: 'PROXY' });
    assert.deepEqual([code, className], ['RPC_UNSUPPORTED', 'UnsupportedError']);
  });

  test('a restore creates one sandbox, although its answer is lost', async () => {
    const label = 'restored once';
    await fixture.call('snapshot', { sandboxId: 'agent', label });
    const running = fixture.running().length;
    const { ref } = await fixture.call('restore', { sandboxId: 'agent', label }, failing);
    const { derived } = await fixture.overHttp.manifest({ sandboxId: 'agent', label });
    assert.deepEqual(
      derived.map(({ sandboxId }) => sandboxId),
      [ref.sandboxId],
    );
    assert.equal(fixture.running().length, running + 1);
  });

  test('a tool creates one sandbox, although its answer is lost', async () => {
    await using own = await ClientFixture.start();
    await own.exec('agent', 'echo x > /workspace/file');
    const { capture: _, ...ref } = await own.call('snapshot', { sandboxId: 'agent' });
    const workspaces = [{ name: 'code', snapshot: true, sandboxId: 'agent' }];
    const tool = { workspaces, name: 'workspace__code__restore', arguments: { ref } };
    const { structuredContent } = await own.call('tools/call', tool, failing);
    const { derived } = await own.overHttp.manifest({ ref });
    assert.deepEqual(
      derived.map(({ sandboxId }) => sandboxId),
      [structuredContent.ref.ref.sandboxId],
    );
  });

  test('a deletion by label is not repeated after a lost answer', async () => {
    await using own = await ClientFixture.start();
    await own.exec('agent', 'echo x > /workspace/file');
    const named = { sandboxId: 'agent', label: 'x' };
    const ref = await own.call('snapshot', named);
    const { code, retryable } = await own.failure('delete', named, failing);
    assert.deepEqual([code, retryable], ['ANSWER_LOST', false]);
    assert.equal((await own.call('delete', { ref })).removed, false);
  });

  test('a key rotation is not repeated after a lost answer', async () => {
    await using own = await ClientFixture.start();
    await own.exec('agent', 'echo x > /workspace/file');
    await own.call('snapshot', { sandboxId: 'agent' });
    const { code, retryable } = await own.failure('rotateKey', { sandboxId: 'agent' }, failing);
    assert.deepEqual([code, retryable], ['ANSWER_LOST', false]);
    assert.deepEqual(await own.call('rotateKey', { sandboxId: 'agent' }), { key: 3, previous: 2 });
  });

  test('calls use fetch if the compatibility date is before RPC', async () => {
    await using ancient = await ClientFixture.start({ date: '2024-01-01' });
    const call = { do: 'call', operation: 'list', options: { sandboxId: 'agent' } } as const;
    assert.partialDeepStrictEqual(await ancient.do({ ...call, route: { token: TOKEN } }, 'worker'), {
      snapshots: [],
    });
    const { error } = await ancient.outcome(call, 'worker');
    assert.equal(error?.code, 'RPC_UNSUPPORTED');
  });
});

test('a call over fetch fails with API_TOKEN_MISSING if no token is configured', async () => {
  await using closed = await ClientFixture.start({ snapshotter: { vars: { LOCAL_BUCKET: 'true' } } });
  const route = { binding: 'PROXY', token: TOKEN } as const;
  assert.equal((await closed.failure('list', { sandboxId: 'agent' }, route)).code, 'API_TOKEN_MISSING');
});
