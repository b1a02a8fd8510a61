// The Directory: a list of workspaces that is updated after them. Workspaces work without it.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';

import { until, World } from '../world.ts';

let world: World;

before(async () => {
  world = await World.start({ clock: true });
});
after(() => world[Symbol.asyncDispose]());

/** Returns the names and states of a tenant's workspaces, according to the list. */
async function listed(tenant: string, options: object = {}): Promise<Record<string, string>> {
  const { workspaces } = await world.rpc('workspaces/list', { tenant, ...options });
  return Object.fromEntries(workspaces.map(({ name, state }: any) => [name, state]));
}

/** Waits until the list has these states. */
const waitForList = (tenant: string, expected: Record<string, string>) =>
  until(async () => JSON.stringify(await listed(tenant)) === JSON.stringify(expected));

describe('the list', () => {
  test('has every workspace of the tenant, with its state', async () => {
    const [a, b, other] = [
      world.workspace('a', 'one'),
      world.workspace('b', 'one'),
      world.workspace('c', 'two'),
    ];
    await Promise.all([a.create(), b.create(), other.create()]);
    await waitForList('one', { a: 'active', b: 'active' });
    await b.stop();
    await waitForList('one', { a: 'active', b: 'stopped' });
    await a.delete();
    await waitForList('one', { b: 'stopped' });
    await a.create();
    await waitForList('one', { a: 'active', b: 'stopped' });
    assert.deepEqual(await listed('two'), { c: 'active' });
    assert.deepEqual(await listed('missing'), {});
    const { workspaces } = await world.rpc('workspaces/list', { tenant: 'one', prefix: 'a' });
    const { sandboxId, createdAt } = await a.describe();
    assert.deepEqual([workspaces[0].sandboxId, workspaces[0].createdAt], [sandboxId, createdAt]);
  });

  test('has pages in the order of the names, and can be filtered by a prefix', async () => {
    const names = ['A', 'a', 'a-1', 'a.b', 'a_', 'ab', 'b', '1', '_'];
    const source = world.workspace('source', 'pages');
    await source.create();
    const { sandboxId } = await source.describe();
    await Promise.all(names.map((name) => world.workspace(name, 'pages').create({ persistent: false })));
    await until(async () => Object.keys(await listed('pages')).length === names.length + 1);
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const page = await world.http('workspaces/list', {
        tenant: 'pages',
        limit: 4,
        ...(cursor ? { cursor } : {}),
      });
      pages.push(page.workspaces.map(({ name }: any) => name));
      cursor = page.cursor;
    } while (cursor !== undefined);
    assert.deepEqual(
      pages.map(({ length }) => length),
      [4, 4, 2],
    );
    assert.deepEqual(pages.flat(), [...names, 'source'].sort());
    assert.deepEqual(Object.keys(await listed('pages', { prefix: 'a' })), ['a', 'a-1', 'a.b', 'a_', 'ab']);
    assert.deepEqual(Object.keys(await listed('pages', { prefix: 'a', cursor: 'a.b' })), ['a_', 'ab']);
    assert.deepEqual(await listed('pages', { prefix: '%' }), {});
    assert.equal(await world.exec(sandboxId, 'ls -A'), '');
  });
});

describe('while the Directory is down,', () => {
  afterEach(() => world.rpc('setDirectoryDown', { down: false }));

  test('workspaces can be created, stopped, started, forked, updated and deleted', async () => {
    await world.rpc('setDirectoryDown', { down: true });
    const [workspace, fork] = [world.workspace('agent', 'down'), world.workspace('fork', 'down')];
    await workspace.create();
    await workspace.exec('echo x > file');
    await workspace.stop();
    assert.equal((await workspace.start()).how, 'restored');
    assert.equal((await workspace.fork({ newName: 'fork' })).forks[0]?.value?.state, 'active');
    await workspace.update({ persistent: true });
    await fork.delete();
    assert.equal(await workspace.exec('cat file'), 'x\n');
    const error = await world.failure(listed('down'));
    assert.deepEqual([error.code, error.retryable], ['DIRECTORY_UNAVAILABLE', true]);
  });

  test('changes are stored, and the alarm updates the list later', async () => {
    await world.rpc('setDirectoryDown', { down: true });
    const [kept, gone] = [world.workspace('kept', 'late'), world.workspace('gone', 'late')];
    await Promise.all([kept.create(), gone.create()]);
    const sandboxId = await kept.sandboxId();
    await Promise.all([kept.stop(), gone.delete()]);
    await kept.advanceClock(600);
    await world.rpc('setDirectoryDown', { down: false });
    assert.deepEqual(await listed('late'), {});
    await kept.advanceClock(120);
    assert.deepEqual(await listed('late'), { kept: 'stopped' });
    assert.deepEqual(await world.rpc('transientRows', { name: 'kept', tenant: 'late', sandboxId }), []);
    await world.rpc('resetClock');
  });

  test('changes are stored, and the next call updates the list', async () => {
    const workspace = world.workspace('agent', 'next');
    await workspace.create();
    await waitForList('next', { agent: 'active' });
    await world.rpc('setDirectoryDown', { down: true });
    await workspace.stop();
    await world.rpc('setDirectoryDown', { down: false });
    assert.deepEqual(await listed('next'), { agent: 'active' });
    await workspace.start();
    await workspace.stop();
    await waitForList('next', { agent: 'stopped' });
  });
});

describe('a deployment without the binding', () => {
  for (const binding of ['NamedWorkspace', 'Directory']) {
    test(`${binding} refuses workspace operations without effects, and still takes snapshots`, async () => {
      await using incomplete = await World.start({ snapshotter: { without: [binding] } });
      await incomplete.exec('plain', 'echo x > file');
      const running = incomplete.running();
      for (const operation of ['create', 'getOrCreate', 'start', 'stop', 'fork', 'delete', 'getByName']) {
        for (const call of [incomplete.rpc, incomplete.http]) {
          const error = await incomplete.failure(call(`workspaces/${operation}`, { name: 'agent' }));
          assert.equal(error.code, 'WORKSPACE_BINDING_MISSING', `${operation}: ${error.message}`);
          assert.ok(error.message.includes(binding) && error.remediation?.includes(binding));
        }
      }
      assert.equal(
        (await incomplete.failure(incomplete.rpc('workspaces/list', {}))).code,
        'WORKSPACE_BINDING_MISSING',
      );
      assert.deepEqual([incomplete.running(), await incomplete.objects()], [running, []]);
      await incomplete.assertRestores(await incomplete.snapshot('plain'), 'cat file', 'x\n');
    });
  }
});
