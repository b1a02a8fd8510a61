// Lists of a thousand snapshots of one sandbox.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';

import { World } from './world.ts';
import type { Page, Summary } from '../client/src/index.ts';
import type { Step } from './caller/steps.ts';

const COUNT = 1000;
const FIRST_CREATED_AT = Date.parse('2026-01-01T00:00:00.000Z');

let world: World;

/** Imports backups as snapshots, which is faster than captures. Seven of them have the same creation time. */
before(async () => {
  world = await World.start();
  const ids = Array.from({ length: COUNT }, () => randomUUID());
  const createdAt = (index: number) =>
    new Date(FIRST_CREATED_AT + Math.floor(index / 7) * 1000).toISOString();
  for (let from = 0; from < COUNT; from += 100) {
    const chunk = ids.slice(from, from + 100).map((id, offset) => ({ id, index: from + offset }));
    const objects = chunk.flatMap(({ id, index }): Step[] => {
      const metadata = { id, dir: '/workspace', sizeBytes: 1, ttl: 1e9, createdAt: createdAt(index) };
      return [
        { do: 'write', key: `backups/${id}/data.sqsh`, text: 'x' },
        { do: 'write', key: `backups/${id}/meta.json`, text: JSON.stringify(metadata) },
      ];
    });
    const imports = chunk.map(({ id, index }): Step => {
      const label = `${index % 10 === 0 ? 'tenth' : 'other'}/${index}`;
      const options = { sandboxId: 'agent', backup: { id, dir: '/workspace' }, label };
      return { do: 'rpc', method: 'import', options };
    });
    await world.all(objects);
    await world.all(imports);
  }
});
after(() => world[Symbol.asyncDispose]());

/** Returns all pages of a list. */
async function pages(options: object): Promise<Summary[][]> {
  const collected: Summary[][] = [];
  let cursor: string | undefined;
  do {
    const page: Page = await world.list('agent', { ...options, ...(cursor ? { cursor } : {}) });
    assert.ok(page.snapshots.length > 0, 'no page is empty');
    collected.push(page.snapshots);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return collected;
}

function assertNewestFirst(rows: Summary[]) {
  for (const [index, row] of rows.slice(1).entries()) {
    assert.ok(row.createdAt <= (rows[index]?.createdAt ?? ''), `row ${index + 1}`);
  }
}

test('the pages have each snapshot once, the newest first', async () => {
  const collected = await pages({ limit: 100, check: false });
  assert.deepEqual(
    collected.map(({ length }) => length),
    Array(10).fill(100),
  );
  const rows = collected.flat();
  assert.equal(new Set(rows.map(({ snapshotId }) => snapshotId)).size, COUNT);
  assertNewestFirst(rows);
});

test('the list is independent of the page size', async () => {
  const ids = async (limit: number) =>
    (await pages({ limit, check: false })).flat().map(({ snapshotId }) => snapshotId);
  assert.deepEqual(await ids(97), await ids(100));
});

test('a page has 20 snapshots by default', async () => {
  assert.equal((await world.list('agent')).snapshots.length, 20);
});

test('a list can be filtered by a prefix of the labels', async () => {
  const collected = await pages({ limit: 30, labelPrefix: 'tenth/', check: false });
  assert.deepEqual(
    collected.map(({ length }) => length),
    [30, 30, 30, 10],
  );
  const rows = collected.flat();
  assert.equal(new Set(rows.map(({ snapshotId }) => snapshotId)).size, COUNT / 10);
  assert.ok(rows.every(({ label }) => label.startsWith('tenth/')));
  assertNewestFirst(rows);
});

test('a list is complete while listed snapshots are deleted', async () => {
  const initial = (await pages({ limit: 100, check: false })).flat();
  const seen: Summary[] = [];
  let cursor: string | undefined;
  do {
    const page: Page = await world.list('agent', { limit: 100, check: false, ...(cursor ? { cursor } : {}) });
    seen.push(...page.snapshots);
    const last = page.snapshots.at(-1)!;
    await world.rpc('delete', { sandboxId: 'agent', snapshotId: last.snapshotId });
    cursor = page.cursor;
  } while (cursor !== undefined);
  assert.deepEqual(
    seen.map(({ snapshotId }) => snapshotId),
    initial.map(({ snapshotId }) => snapshotId),
  );
});

test('a policy evicts all but three snapshots at once, and keeps the objects of the application', async () => {
  const objects = await world.objects();
  await world.rpc('setRetention', { sandboxId: 'agent', policy: { keepLast: { count: 3 } } });
  assert.equal((await world.list('agent', { limit: 100 })).snapshots.length, 3);
  assert.deepEqual(await world.objects(), objects);
});
