// What a model reaches by its tools: the workspace that it is in, and what was made from it; and nobody else's work.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { World } from '../world.ts';
import type { SnapshotRef, WorkspaceRef } from '../../client/src/index.ts';

let world: World;
before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

/** The ref of a sandbox, as a model could make it up. */
const made = (sandboxId: string): WorkspaceRef => ({
  providerId: 'cloudflare-sandbox',
  ref: { sandboxId, rootId: 'template' },
  capabilities: { fs: true, shell: true, code: true, snapshot: true },
  schemaVersion: 1,
});

/** Calls a tool of the workspaces that `declared` says. */
async function call(declared: object, op: string, args: object = {}) {
  const workspaces = [{ name: 'work', snapshot: true, ...declared }];
  return world.rpc('tools/call', { workspaces, name: `workspace__work__${op}`, arguments: args });
}

async function refused(declared: object, op: string, args: object) {
  const { isError, _meta, content } = await call(declared, op, args);
  assert.equal(isError, true, `${op} is refused`);
  assert.equal(_meta['sandbox-snapshotter/error'].code, 'CROSS_LINEAGE');
  return content[0].text as string;
}

test('two workspaces that began with one snapshot are nothing to each other', async () => {
  await world.exec('template', 'echo template > file');
  const template = await world.snapshot('template');
  const begin = (tenant: string) =>
    world.rpc('workspaces/create', { name: 'project', tenant, sourceSnapshot: { ref: template } });
  const [alice, bob] = [await begin('alice'), await begin('bob')];
  await world.exec(bob.sandboxId, 'echo secret > file');
  const bobs: SnapshotRef = (await call({ workspace: 'project', tenant: 'bob' }, 'snapshot'))
    .structuredContent.ref;

  const hers = { workspace: 'project', tenant: 'alice' };
  for (const id of [bob.sandboxId, 'template']) {
    const workspace = made(id);
    await refused(hers, 'snapshot', { workspace });
    await refused(hers, 'list', { workspace });
    await refused(hers, 'snapshot_create', { name: 's1', workspace });
    await refused(hers, 'snapshot_restore', { name: 's1', workspace });
    await refused(hers, 'snapshot_diff', { name: 's1', workspace });
  }
  assert.doesNotMatch(await refused(hers, 'restore', { ref: bobs }), new RegExp(bob.sandboxId));
  await refused(hers, 'branch', { ref: bobs });
  await refused(hers, 'delete', { ref: bobs });
  await refused(hers, 'delete', { ref: template });

  assert.equal(await world.exec(bob.sandboxId, 'cat file'), 'secret\n');
  const { structuredContent } = await call(hers, 'restore', { ref: template });
  assert.equal(await world.exec(structuredContent.ref.ref.sandboxId, 'cat file'), 'template\n');
  assert.equal(await world.exec(alice.sandboxId, 'cat file'), 'template\n');
});

test('the tools of a branch leave alone what it was made from', async () => {
  await world.exec('parent', 'echo first > file');
  const { structuredContent: taken } = await call({ sandboxId: 'parent' }, 'snapshot');
  const { structuredContent: branched } = await call({ sandboxId: 'parent' }, 'branch', taken);
  const branch = { sandboxId: branched.ref.ref.sandboxId };
  await refused(branch, 'snapshot_create', { name: 's1', workspace: made('parent') });
  await refused(branch, 'delete', taken);
  assert.equal((await call(branch, 'restore', taken)).isError, undefined, 'it may go back to where it began');
});

test('the tools of a workspace reach what was made from it, and what was made from that', async () => {
  await world.exec('origin', 'echo first > file');
  const sandbox = { sandboxId: 'origin' };
  const { ref: first } = (await call(sandbox, 'snapshot')).structuredContent;
  const { ref: child } = (await call(sandbox, 'restore', { ref: first })).structuredContent;
  const { ref: second } = (await call(sandbox, 'snapshot', { workspace: child })).structuredContent;
  const { ref: grandchild } = (await call(sandbox, 'branch', { ref: second })).structuredContent;
  const { checkpoints } = (await call(sandbox, 'snapshot_list', { workspace: grandchild })).structuredContent;
  assert.deepEqual(checkpoints, []);
  const kept = (await call(sandbox, 'delete', { ref: second }))._meta['sandbox-snapshotter/error'];
  assert.equal(kept.code, 'SNAPSHOT_HAS_DEPENDENTS', 'the grandchild needs it');
});

test('a call of a tool that is made again with its key makes nothing twice', async () => {
  await world.exec('once', 'echo good > file');
  const { ref } = (await call({ sandboxId: 'once' }, 'snapshot')).structuredContent;
  const again = {
    workspaces: [{ name: 'work', snapshot: true, sandboxId: 'once' }],
    name: 'workspace__work__restore',
    arguments: { ref },
    idempotencyKey: 'turn-17',
  };
  const first = await world.rpc('tools/call', again);
  assert.deepEqual(await world.rpc('tools/call', again), first);
});
