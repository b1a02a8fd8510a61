// The scope of tools: a model can access its workspace and the descendants of that, and no others.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { World } from '../world.ts';
import type { SnapshotRef, WorkspaceRef } from '../../client/src/index.ts';

let world: World;
before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

/** Returns a ref of a sandbox, which a model could invent. */
const workspaceRef = (sandboxId: string): WorkspaceRef => ({
  providerId: 'cloudflare-sandbox',
  ref: { sandboxId, rootId: 'template' },
  capabilities: { fs: true, shell: true, code: true, snapshot: true },
  schemaVersion: 1,
});

/** Calls a tool of a declared workspace. */
async function call(declared: object, op: string, args: object = {}) {
  const workspaces = [{ name: 'work', snapshot: true, ...declared }];
  return world.rpc('tools/call', { workspaces, name: `workspace__work__${op}`, arguments: args });
}

/** Asserts that a call is refused with CROSS_LINEAGE, and returns the text of the error. */
async function assertRefused(declared: object, op: string, args: object) {
  const { isError, _meta, content } = await call(declared, op, args);
  assert.equal(isError, true, `${op} is refused`);
  assert.equal(_meta['sandbox-snapshotter/error'].code, 'CROSS_LINEAGE');
  return content[0].text as string;
}

test('two workspaces from the same snapshot cannot access each other', async () => {
  await world.exec('template', 'echo template > file');
  const template = await world.snapshot('template');
  const create = (tenant: string) =>
    world.rpc('workspaces/create', { name: 'project', tenant, sourceSnapshot: { ref: template } });
  const [alice, bob] = [await create('alice'), await create('bob')];
  await world.exec(bob.sandboxId, 'echo secret > file');
  const bobsRef: SnapshotRef = (await call({ workspace: 'project', tenant: 'bob' }, 'snapshot'))
    .structuredContent.ref;

  const alicesWork = { workspace: 'project', tenant: 'alice' };
  for (const id of [bob.sandboxId, 'template']) {
    const workspace = workspaceRef(id);
    await assertRefused(alicesWork, 'snapshot', { workspace });
    await assertRefused(alicesWork, 'list', { workspace });
    await assertRefused(alicesWork, 'snapshot_create', { name: 's1', workspace });
    await assertRefused(alicesWork, 'snapshot_restore', { name: 's1', workspace });
    await assertRefused(alicesWork, 'snapshot_diff', { name: 's1', workspace });
  }
  assert.doesNotMatch(
    await assertRefused(alicesWork, 'restore', { ref: bobsRef }),
    new RegExp(bob.sandboxId),
  );
  await assertRefused(alicesWork, 'branch', { ref: bobsRef });
  await assertRefused(alicesWork, 'delete', { ref: bobsRef });
  await assertRefused(alicesWork, 'delete', { ref: template });

  assert.equal(await world.exec(bob.sandboxId, 'cat file'), 'secret\n');
  const { structuredContent } = await call(alicesWork, 'restore', { ref: template });
  assert.equal(await world.exec(structuredContent.ref.ref.sandboxId, 'cat file'), 'template\n');
  assert.equal(await world.exec(alice.sandboxId, 'cat file'), 'template\n');
});

test('the tools of a branch cannot change the sandbox of its snapshot', async () => {
  await world.exec('parent', 'echo first > file');
  const { structuredContent: taken } = await call({ sandboxId: 'parent' }, 'snapshot');
  const { structuredContent: branched } = await call({ sandboxId: 'parent' }, 'branch', taken);
  const branch = { sandboxId: branched.ref.ref.sandboxId };
  await assertRefused(branch, 'snapshot_create', { name: 's1', workspace: workspaceRef('parent') });
  await assertRefused(branch, 'delete', taken);
  assert.equal(
    (await call(branch, 'restore', taken)).isError,
    undefined,
    'it may restore its source snapshot',
  );
});

test('the tools of a workspace can access its descendants', async () => {
  await world.exec('origin', 'echo first > file');
  const sandbox = { sandboxId: 'origin' };
  const { ref: first } = (await call(sandbox, 'snapshot')).structuredContent;
  const { ref: child } = (await call(sandbox, 'restore', { ref: first })).structuredContent;
  const { ref: second } = (await call(sandbox, 'snapshot', { workspace: child })).structuredContent;
  const { ref: grandchild } = (await call(sandbox, 'branch', { ref: second })).structuredContent;
  const { checkpoints } = (await call(sandbox, 'snapshot_list', { workspace: grandchild })).structuredContent;
  assert.deepEqual(checkpoints, []);
  const error = (await call(sandbox, 'delete', { ref: second }))._meta['sandbox-snapshotter/error'];
  assert.equal(error.code, 'SNAPSHOT_HAS_DEPENDENTS', 'the grandchild is a dependent');
});

test('a repeated tool call with its key returns the first result', async () => {
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
