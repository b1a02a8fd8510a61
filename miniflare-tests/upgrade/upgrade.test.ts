// The storage of the last release with the former names of fields, states and error codes, which this release must read.
// `state.tar.gz` is that storage, and `refs.json` contains the answers of that release.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import type { Retention, TakenSnapshot, WorkspaceRef } from '../../client/src/index.ts';
import { World } from '../world.ts';

interface Refs {
  before: TakenSnapshot;
  after: TakenSnapshot;
  restored: WorkspaceRef;
  branched: WorkspaceRef;
  notebookSnapshotId: string;
}

let world: World;
let folder: string;
let refs: Refs;

before(async () => {
  const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  refs = JSON.parse(await readFile(here('refs.json'), 'utf8'));
  folder = await mkdtemp(join(tmpdir(), 'upgrade-'));
  execFileSync('tar', ['-xzf', here('state.tar.gz'), '-C', folder]);
  world = await World.start({ persist: folder, mode: 'local' });
});
after(async () => {
  await world[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

describe('after an upgrade, snapshots of the previous release', () => {
  test('are listed with their labels', async () => {
    assert.deepEqual(await world.labels('agent-42'), ['imported', 'after', 'before']);
  });

  test('are restored by their refs', async () => {
    await world.assertRestores(refs.before, 'cat /workspace/file', 'first\n');
    await world.assertRestores(refs.after, 'cat /workspace/file', 'second\n');
  });

  test('are verified', async () => {
    const { ok } = await world.rpc('verify', { ref: refs.before });
    assert.equal(ok, true);
  });

  test('keep their dependents and their pin', async () => {
    const { dependents, pinned } = await world.get(refs.after);
    assert.ok(pinned && dependents?.includes(refs.branched.ref.sandboxId));
    const error = await world.failure(world.rpc('delete', { ref: refs.after }));
    assert.equal(error.code, 'SNAPSHOT_HAS_DEPENDENTS');
  });

  test('keep their lineage', async () => {
    const { root } = await world.rpc('lineage', { sandboxId: 'agent-42' });
    const tree = JSON.stringify(root);
    for (const { ref } of [refs.restored, refs.branched]) assert.match(tree, new RegExp(ref.sandboxId));
  });

  test('keep their retention policy', async () => {
    const { policy }: Retention = await world.rpc('retention', { sandboxId: 'agent-42' });
    assert.deepEqual([policy.keepLast?.count, policy.expirationSeconds], [5, 0]);
  });
});

describe('after an upgrade, a workspace of the previous release', () => {
  test('that was stopped can be started with its files, and stopped again', async () => {
    const notebook = world.workspace('notebook');
    const { how, sandboxId, lastSnapshot } = await notebook.start();
    assert.deepEqual([how, lastSnapshot?.id], ['restored', refs.notebookSnapshotId]);
    assert.equal(await world.exec(sandboxId, 'cat /workspace/work; echo $A'), 'work\n1\n');
    await world.exec(sandboxId, 'echo more >> /workspace/work');
    assert.equal((await notebook.stop()).hadEnded, false);
    await notebook.start();
    assert.equal(await world.exec(sandboxId, 'cat /workspace/work'), 'work\nmore\n');
  });

  test('whose container has ended can be started with its newest snapshot', async () => {
    const { how, sandboxId } = await world.workspace('active').start();
    assert.equal(how, 'restored');
    assert.equal(await world.exec(sandboxId, 'cat /workspace/work'), 'saved\n');
  });

  test('that was deleted can be created again', async () => {
    const { how } = await world.workspace('gone').create();
    assert.equal(how, 'empty');
  });

  test('is listed', async () => {
    const { workspaces } = await world.rpc('workspaces/list', {});
    const names = workspaces.map(({ name }: { name: string }) => name);
    assert.deepEqual(names.sort(), ['active', 'diverged', 'gone', 'notebook', 'notebook-fork']);
  });
});
