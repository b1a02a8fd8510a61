// The client over the real Worker: from a Durable Object and a Worker over RPC, of today and of older compatibility
// dates, and from outside over HTTP.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { ConflictError } from '../../client/src/index.ts';
import { failure, TOKEN, Visit } from './visit.ts';

/** What is said of a sandbox that never ran. */
const REFUSED = {
  code: 'SANDBOX_NOT_RUNNING',
  kind: 'conflict',
  retryable: false,
  className: 'ConflictError',
};

for (const [when, date] of Object.entries({ 'of today': '2026-10-01', 'of an older date': '2026-01-01' })) {
  describe(`from a Worker ${when}`, () => {
    let visit: Visit;
    before(async () => {
      visit = await Visit.start({ date });
    });
    after(() => visit[Symbol.asyncDispose]());

    test('a sandbox is captured, and its files are in a new one', async () => {
      await visit.exec('agent', 'echo x > /workspace/file');
      const ref = await visit.call('snapshot', { sandboxId: 'agent', label: 'first' });
      const workspace = await visit.call('restore', { ref });
      assert.equal(await visit.exec(workspace.ref.sandboxId, 'cat /workspace/file'), 'x\n');
    });

    test('an operation of a group is reached', async () => {
      const { sandboxId, how } = await visit.call('workspaces/getOrCreate', { name: 'notebook' });
      assert.equal(how, 'empty');
      const found = await visit.call('workspaces/getByName', { name: 'notebook' });
      assert.equal(found.sandboxId, sandboxId);
    });

    for (const from of ['object', 'worker'] as const) {
      test(`a refusal is an error of its class, in the ${from}`, async () => {
        const error = await visit.failure('snapshot', { sandboxId: 'never-ran' }, {}, from);
        const { code, kind, retryable, className } = error;
        assert.deepEqual({ code, kind, retryable, className }, REFUSED);
        assert.match(error.message, /never-ran/);
        assert.match(error.text, /^SANDBOX_NOT_RUNNING: .*`wake: true`/);
        assert.doesNotMatch(error.message, /SANDBOX_NOT_RUNNING/);
      });
    }

    test('a list is all of its pages', async () => {
      await visit.exec('many', 'echo x > /workspace/file');
      const labels = ['one', 'two', 'three', 'four', 'five'];
      for (const label of labels) await visit.call('snapshot', { sandboxId: 'many', label });
      for (const limit of [1, 2, 5]) {
        const read = await visit.do({ do: 'all snapshots', options: { sandboxId: 'many', limit } }, 'worker');
        assert.deepEqual(read, labels.toReversed(), `pages of ${limit}`);
      }
    });
  });
}

describe('from outside, over HTTP', () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.start();
    await visit.exec('agent', 'echo x > /workspace/file');
  });
  after(() => visit[Symbol.asyncDispose]());

  test('a sandbox is captured, and its files are in a new one', async () => {
    const { ref } = await visit.outside.restore({
      ref: await visit.outside.snapshot({ sandboxId: 'agent' }),
    });
    assert.equal(await visit.exec(ref.sandboxId, 'cat /workspace/file'), 'x\n');
  });

  test('a refusal is an error of its class', async () => {
    const error = await failure(visit.outside.snapshot({ sandboxId: 'never-ran' }));
    assert.ok(error instanceof ConflictError);
    assert.equal(error.code, 'SANDBOX_NOT_RUNNING');
    assert.match(error.remediation, /`wake: true`/);
    assert.match(error.correlationId ?? '', /^[0-9a-f]{16}$/);
  });

  test('a list is all of its pages', async () => {
    const labels = ['c', 'b', 'a'];
    for (const label of labels.toReversed()) await visit.outside.snapshot({ sandboxId: 'agent', label });
    const read: string[] = [];
    for await (const { label } of visit.outside.snapshots({ sandboxId: 'agent', limit: 2 })) read.push(label);
    assert.deepEqual(read.slice(0, 3), labels);
  });

  test('the same key gets the same sandbox', async () => {
    const ref = await visit.outside.snapshot({ sandboxId: 'agent' });
    const [one, two] = await Promise.all([
      visit.outside.restore({ ref, idempotencyKey: 'once' }),
      visit.outside.restore({ ref, idempotencyKey: 'once' }),
    ]);
    assert.deepEqual(one, two);
  });
});

describe('where RPC gets nowhere', () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.start();
    await visit.exec('agent', 'echo x > /workspace/file');
  });
  after(() => visit[Symbol.asyncDispose]());

  const proxied = { binding: 'PROXY', token: TOKEN } as const;
  const failing = { binding: 'FAILING', token: TOKEN } as const;

  test('because what is bound knows none, fetch is used', async () => {
    const ref = await visit.call('snapshot', { sandboxId: 'agent' }, proxied);
    assert.equal(ref.ref.originId, 'agent');
    const { code } = await visit.failure('snapshot', { sandboxId: 'never-ran' }, proxied);
    assert.equal(code, 'SANDBOX_NOT_RUNNING');
  });

  test('because what is bound knows none, and there is no token, that is said', async () => {
    const { code, className } = await visit.failure('list', { sandboxId: 'agent' }, { binding: 'PROXY' });
    assert.deepEqual([code, className], ['RPC_UNSUPPORTED', 'UnsupportedError']);
  });

  test('because its answers get lost, a restore is made once all the same', async () => {
    const label = 'restored once';
    await visit.call('snapshot', { sandboxId: 'agent', label });
    const running = visit.running().length;
    const { ref } = await visit.call('restore', { sandboxId: 'agent', label }, failing);
    const { derived } = await visit.outside.manifest({ sandboxId: 'agent', label });
    assert.deepEqual(
      derived.map(({ sandboxId }) => sandboxId),
      [ref.sandboxId],
    );
    assert.equal(visit.running().length, running + 1);
  });

  test('because its answers get lost, a tool makes one sandbox all the same', async () => {
    await using own = await Visit.start();
    await own.exec('agent', 'echo x > /workspace/file');
    const { capture: _, ...ref } = await own.call('snapshot', { sandboxId: 'agent' });
    const workspaces = [{ name: 'code', snapshot: true, sandboxId: 'agent' }];
    const tool = { workspaces, name: 'workspace__code__restore', arguments: { ref } };
    const { structuredContent } = await own.call('tools/call', tool, failing);
    const { derived } = await own.outside.manifest({ ref });
    assert.deepEqual(
      derived.map(({ sandboxId }) => sandboxId),
      [structuredContent.ref.ref.sandboxId],
    );
  });

  test('because its answers get lost, a label is not followed again', async () => {
    await using own = await Visit.start();
    await own.exec('agent', 'echo x > /workspace/file');
    const named = { sandboxId: 'agent', label: 'x' };
    const ref = await own.call('snapshot', named);
    const { code, retryable } = await own.failure('delete', named, failing);
    assert.deepEqual([code, retryable], ['ANSWER_LOST', false]);
    assert.equal((await own.call('delete', { ref })).removed, false);
  });

  test('because its answers get lost, what can’t be repeated is not', async () => {
    await using own = await Visit.start();
    await own.exec('agent', 'echo x > /workspace/file');
    await own.call('snapshot', { sandboxId: 'agent' });
    const { code, retryable } = await own.failure('rotateKey', { sandboxId: 'agent' }, failing);
    assert.deepEqual([code, retryable], ['ANSWER_LOST', false]);
    assert.deepEqual(await own.call('rotateKey', { sandboxId: 'agent' }), { key: 3, previous: 2 });
  });

  test('because the Worker is of a date before RPC, fetch is used', async () => {
    await using ancient = await Visit.start({ date: '2024-01-01' });
    const call = { do: 'call', operation: 'list', options: { sandboxId: 'agent' } } as const;
    assert.deepEqual(await ancient.do({ ...call, way: { token: TOKEN } }, 'worker'), { snapshots: [] });
    const { error } = await ancient.outcome(call, 'worker');
    assert.equal(error?.code, 'RPC_UNSUPPORTED');
  });
});

test('where no token is configured, fetch says so', async () => {
  await using closed = await Visit.start({ snapshotter: { vars: { LOCAL_BUCKET: 'true' } } });
  const way = { binding: 'PROXY', token: TOKEN } as const;
  assert.equal((await closed.failure('list', { sandboxId: 'agent' }, way)).code, 'API_TOKEN_MISSING');
});
