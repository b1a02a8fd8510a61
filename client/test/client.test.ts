// The methods of the client, and lists.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

import { clientOver, failure, FakeTransport, rpcError } from './fakes.ts';
import type { Call } from '../src/index.ts';

const schema = JSON.parse(readFileSync(new URL('../schema.json', import.meta.url), 'utf8'));
const operations: string[] = schema.operations.map(({ name }: { name: string }) => name);

describe('every operation', () => {
  for (const operation of operations) {
    test(`has a method: ${operation}`, async () => {
      const transport = new FakeTransport('answer');
      const { client } = clientOver(transport);
      const [method = '', group] = operation.split('/').reverse();
      const methods = (group === undefined ? client : client[group as 'tools']) as any;
      const options = { given: true, idempotencyKey: 'key' };
      assert.equal(await methods[method](options), 'answer');
      assert.deepEqual(transport.sent, [[operation, options]]);
    });
  }

  test('is in the schema', () => {
    assert.ok(operations.length >= 34);
  });
});

describe('a list', () => {
  /** A fake list with three rows per page, whose cursor is the index of the next row. */
  function listing(member: string, count: number) {
    const rows = Array.from({ length: count }, (_, number) => ({ number }));
    return new FakeTransport(({ options }: Call) => {
      const start = Number(options.cursor ?? 0);
      const end = start + 3;
      return { [member]: rows.slice(start, end), ...(end < count ? { cursor: String(end) } : {}) };
    });
  }
  async function numbers(rows: AsyncIterable<unknown>): Promise<number[]> {
    const read: number[] = [];
    for await (const row of rows) read.push((row as { number: number }).number);
    return read;
  }

  test('contains the items of all pages', async () => {
    const transport = listing('snapshots', 7);
    const { client } = clientOver(transport);
    assert.deepEqual(await numbers(client.snapshots({ sandboxId: 'x', limit: 3 })), [0, 1, 2, 3, 4, 5, 6]);
    assert.deepEqual(
      transport.calls.map(({ options }) => options),
      [
        { sandboxId: 'x', limit: 3 },
        { sandboxId: 'x', limit: 3, cursor: '3' },
        { sandboxId: 'x', limit: 3, cursor: '6' },
      ],
    );
  });

  test('of workspaces contains the items of all pages', async () => {
    const transport = listing('workspaces', 4);
    assert.deepEqual(await numbers(clientOver(transport).client.workspaces.all()), [0, 1, 2, 3]);
    assert.deepEqual(transport.sent, [
      ['workspaces/list', {}],
      ['workspaces/list', { cursor: '3' }],
    ]);
  });

  test('begins at the cursor of the caller', async () => {
    const { client } = clientOver(listing('snapshots', 7));
    assert.deepEqual(await numbers(client.snapshots({ sandboxId: 'x', cursor: '5' })), [5, 6]);
  });

  test('requests pages on demand', async () => {
    const transport = listing('snapshots', 7);
    const rows = clientOver(transport).client.snapshots({ sandboxId: 'x' });
    assert.equal(transport.calls.length, 0);
    for (const requested of [1, 1, 1, 2]) {
      await rows.next();
      assert.equal(transport.calls.length, requested);
    }
    await rows.return();
    assert.equal(transport.calls.length, 2);
  });

  test('can be empty', async () => {
    assert.deepEqual(
      await numbers(clientOver(listing('snapshots', 0)).client.snapshots({ sandboxId: 'x' })),
      [],
    );
  });

  test('retries the call of a page', async () => {
    const transport = new FakeTransport(
      { snapshots: [{ number: 0 }], cursor: 'next' },
      rpcError('LEDGER_UNAVAILABLE', 'transient', true),
      { snapshots: [{ number: 1 }] },
    );
    assert.deepEqual(await numbers(clientOver(transport).client.snapshots({ sandboxId: 'x' })), [0, 1]);
  });

  test('ends when the signal fires, before the next page', async () => {
    const transport = listing('snapshots', 7);
    const controller = new AbortController();
    const rows = clientOver(transport).client.snapshots({ sandboxId: 'x', signal: controller.signal });
    for (const _ of '012') await rows.next();
    controller.abort();
    assert.equal((await failure(rows.next())).code, 'ABORTED');
    assert.equal(transport.calls.length, 1);
  });
});
