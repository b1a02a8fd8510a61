// Access tokens over HTTP and MCP.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { SnapshotterClient, http } from '../client/src/index.ts';
import { McpClient } from './mcp/mcp-client.ts';
import { World, type HttpAnswer } from './world.ts';

let world: World;

before(async () => {
  world = await World.start({ clock: true, snapshotter: { port: 0 } });
  for (const name of ['mine', 'other']) {
    await world.workspace(name).getOrCreate();
    await world.workspace(name).exec('echo secret > notes.txt');
    await world.rpc('workspaces/stop', { name });
  }
});
after(() => world[Symbol.asyncDispose]());

/** Creates a token, and returns it with its id. */
async function create(options: object): Promise<{ token: string; id: string }> {
  return world.rpc('tokens/create', options);
}

/** Sends a request with a token. */
function send(token: string, path: string, options: object = {}, headers: object = {}): Promise<HttpAnswer> {
  const own = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers };
  return world.fetch(path, { headers: own, body: JSON.stringify(options) });
}

async function assertRefused(answer: Promise<HttpAnswer>, status: number, code: string) {
  const { status: actual, body } = await answer;
  assert.deepEqual([actual, body.code], [status, code]);
}

test('no interface runs a command without the permission `work`', async () => {
  const { token } = await create({ permissions: ['snapshot'], workspaces: ['mine'] });
  const command = { name: 'mine', command: 'echo done > ran.txt' };
  const tools = { workspaces: [{ name: 'mine', work: true }] };
  const call = { ...tools, name: 'workspace__mine__exec', arguments: { command: command.command } };
  const query = `?options=${encodeURIComponent(JSON.stringify(command))}`;
  const events = { accept: 'text/event-stream' };
  for (const answer of [
    send(token, '/v1/exec', command),
    send(token, '/v1/exec', command, events),
    send(token, `/v1/exec${query}`, {}, { ...events, 'content-type': 'application/octet-stream' }),
    send(token, '/v1/tools/list', tools),
    send(token, '/v1/workspaces/update', { name: 'mine', hooks: { afterStart: { command: 'true' } } }),
    send(token, '/v1/workspaces/update', { name: 'mine', env: { NODE_OPTIONS: '--require ./x.js' } }),
  ])
    await assertRefused(answer, 403, 'PERMISSION_MISSING');
  // The failure of a tool is a result.
  const result = (await send(token, '/v1/tools/call', call)).body;
  assert.match(result.content[0].text, /^PERMISSION_MISSING/);
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const accept = { accept: 'application/json, text/event-stream' };
  const mcp = await send(token, '/mcp?workspace=mine&work=true', message, accept);
  assert.equal(mcp.body.error.data.code, 'PERMISSION_MISSING');
  assert.equal(
    (await world.rpc('workspaces/getByName', { name: 'mine' })).state,
    'stopped',
    'nothing was started',
  );
});

test('a token for one workspace works in it by every selection, and in no other', async () => {
  const { token } = await create({ permissions: ['snapshot', 'work'], workspaces: ['mine'] });
  const client = new SnapshotterClient(http({ url: `${await world.url('/')}`, token }), { retry: false });
  const { sandboxId, exitCode } = await client.exec({ name: 'mine', command: 'cat notes.txt' });
  assert.equal(exitCode, 0);
  const { ref, shortRef, snapshotId, providerId } = await client.snapshot({ sandboxId });
  const fork = await client.workspaces.fork({ name: 'mine', newName: 'mine-fork' });
  assert.equal(fork.forks[0]?.error, undefined);
  assert.equal((await client.exec({ name: 'mine-fork', command: 'true' })).exitCode, 0);
  for (const selection of [{ ref: { providerId, ref } }, { ref: shortRef }, { sandboxId, snapshotId }])
    assert.equal((await client.get(selection as any)).snapshotId, snapshotId);
  const { workspaces } = await client.workspaces.list();
  assert.deepEqual(
    workspaces.map(({ name }) => name),
    ['mine', 'mine-fork'],
  );

  const other = await world.rpc('workspaces/getByName', { name: 'other' });
  const foreign = await world.rpc('get', { sandboxId: other.sandboxId, snapshotId: other.lastSnapshot?.id });
  const select = new URLSearchParams({ ref: JSON.stringify(foreign.ref), path: 'notes.txt' });
  for (const [path, options] of [
    ['exec', { name: 'other', command: 'true' }],
    ['exec', { sandboxId: other.sandboxId, command: 'true' }],
    ['list', { sandboxId: other.sandboxId }],
    ['restore', { ref: foreign.ref }],
    ['restore', { ref: foreign.shortRef }],
    ['workspaces/getByName', { name: 'other' }],
    ['workspaces/getByName', { name: 'missing' }],
    ['workspaces/fork', { name: 'mine', newName: 'fork' }],
    ['workspaces/list', { tenant: 'acme' }],
  ] as const)
    await assertRefused(send(token, `/v1/${path}`, options), 403, 'NOT_PERMITTED');
  // A tool declares for itself that it may use other lineages.
  const tools = { workspaces: [{ name: 'mine', snapshot: true, allowCrossLineage: true }] };
  const call = { ...tools, name: 'workspace__mine__restore', arguments: { ref: foreign.ref } };
  const result = (await send(token, '/v1/tools/call', call)).body;
  assert.deepEqual([result.isError, result.content[0].text.split(':')[0]], [true, 'NOT_PERMITTED']);
  const download = async (query: URLSearchParams) =>
    (
      await fetch(await world.url(`/v1/files/download?${query}`), {
        headers: { authorization: `Bearer ${token}` },
      })
    ).status;
  assert.equal(await download(select), 403);
  const own = new URLSearchParams({ ref: JSON.stringify({ providerId, ref }), path: 'notes.txt' });
  assert.equal(await download(own), 200);
});

test('MCP offers and runs the tools that a token permits', async () => {
  const { token } = await create({ permissions: ['work'], workspaces: ['mine'] });
  const url = await world.url('/mcp?workspace=mine&readOnly=true');
  await using mcp = await McpClient.connect(url, 'auto', token);
  assert.ok((await mcp.names()).includes('workspace__mine__list'));
  const { snapshots } = await mcp.data('workspace__mine__list');
  assert.ok(snapshots.length > 0);
  const { body } = await send(
    token,
    '/mcp?workspace=other&readOnly=true',
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
    },
    { accept: 'application/json, text/event-stream' },
  );
  assert.equal(body.error.data.code, 'NOT_PERMITTED');
});

test('a revoked token is refused 30 seconds later, and a restart keeps the others', async () => {
  const [kept, revoked] = [await create({ permissions: ['read'] }), await create({ permissions: ['read'] })];
  assert.equal((await send(revoked.token, '/v1/tokens/current')).body.token.id, revoked.id);
  await world.rpc('tokens/revoke', { id: revoked.id });
  await world.advanceClock('agent', 30);
  await assertRefused(send(revoked.token, '/v1/tokens/current'), 401, 'UNAUTHORIZED');
  await world.crash();
  assert.equal((await send(kept.token, '/v1/tokens/current')).body.token.id, kept.id);
  const listed = await world.rpc('tokens/list', {});
  const ids = listed.tokens.map(({ id }: { id: string }) => id);
  assert.ok(ids.includes(kept.id) && !ids.includes(revoked.id));
  assert.ok(!JSON.stringify(listed).includes(kept.token.split('.').at(-1) ?? ''));
});

test('the log has the id of a token, and never the token', async () => {
  const { token, id } = await create({ permissions: ['read'], label: 'a label' });
  await send(token, '/v1/workspaces/list');
  await assertRefused(send(`${token.slice(0, -1)}~`, '/v1/workspaces/list'), 401, 'UNAUTHORIZED');
  const lines = world.log.filter((line) => line.includes(id));
  assert.ok(lines.some((line) => line.includes('"tokenId"') && line.includes('workspaces/list')));
  assert.ok(!world.log.some((line) => line.includes(token.split('.').at(-1) ?? '')));
});
