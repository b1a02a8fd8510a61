// The list of workspaces: a copy of what they are. They are all right without it, and it catches up with them.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';

import { until, World } from '../world.ts';

let world: World;

before(async () => {
  world = await World.start({ clock: true });
});
after(() => world[Symbol.asyncDispose]());

/** The names of a tenant's workspaces and what they are doing, as far as the list knows. */
async function listed(tenant: string, options: object = {}): Promise<Record<string, string>> {
  const { workspaces } = await world.rpc('workspaces/list', { tenant, ...options });
  return Object.fromEntries(workspaces.map(({ name, state }: any) => [name, state]));
}

/** Waits until the list says this. */
const comesToSay = (tenant: string, expected: Record<string, string>) =>
  until(async () => JSON.stringify(await listed(tenant)) === JSON.stringify(expected));

describe('the list', () => {
  test('has every workspace of the tenant, and what it is doing', async () => {
    const [a, b, theirs] = [
      world.workspace('a', 'one'),
      world.workspace('b', 'one'),
      world.workspace('c', 'two'),
    ];
    await Promise.all([a.create(), b.create(), theirs.create()]);
    await comesToSay('one', { a: 'active', b: 'active' });
    await b.stop();
    await comesToSay('one', { a: 'active', b: 'stopped' });
    await a.delete();
    await comesToSay('one', { b: 'stopped' });
    await a.create();
    await comesToSay('one', { a: 'active', b: 'stopped' });
    assert.deepEqual(await listed('two'), { c: 'active' });
    assert.deepEqual(await listed('nobody'), {});
    const { workspaces } = await world.rpc('workspaces/list', { tenant: 'one', prefix: 'a' });
    const { sandboxId, createdAt } = await a.describe();
    assert.deepEqual([workspaces[0].sandboxId, workspaces[0].createdAt], [sandboxId, createdAt]);
  });

  test('comes in pages, in the order of the names, and by the beginning of a name', async () => {
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

describe('while the Directory is down', () => {
  afterEach(() => world.rpc('directoryIsDown', { down: false }));

  test('workspaces are made, stopped, started, forked, changed and deleted all the same', async () => {
    await world.rpc('directoryIsDown', { down: true });
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

  test('nothing is forgotten: the list catches up by the alarm', async () => {
    await world.rpc('directoryIsDown', { down: true });
    const [kept, gone] = [world.workspace('kept', 'late'), world.workspace('gone', 'late')];
    await Promise.all([kept.create(), gone.create()]);
    const sandboxId = await kept.sandboxId();
    await Promise.all([kept.stop(), gone.delete()]);
    await kept.elapse(600);
    await world.rpc('directoryIsDown', { down: false });
    assert.deepEqual(await listed('late'), {});
    await kept.elapse(120);
    assert.deepEqual(await listed('late'), { kept: 'stopped' });
    assert.deepEqual(await world.rpc('passing', { name: 'kept', tenant: 'late', sandboxId }), []);
    await world.rpc('trueTime');
  });

  test('what it did not hear of is told by the next call', async () => {
    const workspace = world.workspace('agent', 'next');
    await workspace.create();
    await comesToSay('next', { agent: 'active' });
    await world.rpc('directoryIsDown', { down: true });
    await workspace.stop();
    await world.rpc('directoryIsDown', { down: false });
    assert.deepEqual(await listed('next'), { agent: 'active' });
    await workspace.start();
    await workspace.stop();
    await comesToSay('next', { agent: 'stopped' });
  });
});

describe('a deployment without the binding', () => {
  for (const binding of ['NamedWorkspace', 'Directory']) {
    test(`${binding} says so, touches nothing, and takes snapshots all the same`, async () => {
      await using apart = await World.start({ snapshotter: { without: [binding] } });
      await apart.exec('plain', 'echo x > file');
      const running = apart.running();
      for (const operation of ['create', 'getOrCreate', 'start', 'stop', 'fork', 'delete', 'getByName']) {
        for (const call of [apart.rpc, apart.http]) {
          const error = await apart.failure(call(`workspaces/${operation}`, { name: 'agent' }));
          assert.equal(error.code, 'WORKSPACE_BINDING_MISSING', `${operation}: ${error.message}`);
          assert.ok(error.message.includes(binding) && error.remediation?.includes(binding));
        }
      }
      assert.equal((await apart.failure(apart.rpc('workspaces/list', {}))).code, 'WORKSPACE_BINDING_MISSING');
      assert.deepEqual([apart.running(), await apart.objects()], [running, []]);
      await apart.restores(await apart.snapshot('plain'), 'cat file', 'x\n');
    });
  }
});
