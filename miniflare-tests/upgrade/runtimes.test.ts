// The storage of a release without runtimes, in a deployment with both: its sandboxes are in the binding that it used, and its
// workspaces can be migrated.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { exec, startBoth } from '../runtimes/both.ts';
import type { World } from '../world.ts';

let world: World;
let folder: string;
let refs: any;
before(async () => {
  const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  refs = JSON.parse(await readFile(here('refs.json'), 'utf8'));
  folder = await mkdtemp(join(tmpdir(), 'upgrade-'));
  execFileSync('tar', ['-xzf', here('state.tar.gz'), '-C', folder]);
  world = await startBoth({ persist: folder, mode: 'local' });
});
after(async () => {
  await world[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

test('workspaces of that release are listed in the runtime of its binding', async () => {
  const { workspaces } = await world.rpc('workspaces/list', {});
  assert.ok(workspaces.length > 0);
  for (const { name, runtime } of workspaces) assert.equal(runtime, 'sdk-0.12', name);
});

test('a workspace of that release is migrated with its files', async () => {
  const migrated = await world.rpc('workspaces/migrate', { name: 'notebook', runtime: 'container' });
  assert.deepEqual([migrated.runtime, migrated.lastSnapshot.id], ['container', refs.notebookSnapshotId]);
  const { sandboxId, how } = await world.workspace('notebook').start();
  assert.equal(how, 'restored');
  assert.equal(await exec(world, 'container', sandboxId, 'cat work; echo $A'), 'work\n1\n');
});

test('a sandbox of that release is not captured in another runtime', async () => {
  const error = await world.failure(world.snapshot('agent-42', { runtime: 'container' }));
  assert.equal(error.code, 'RUNTIME_MISMATCH');
});

test('a snapshot of that release is restored in both runtimes', async () => {
  const { ref } = await world.rpc('restore', { ref: refs.after });
  assert.equal(await exec(world, 'sdk-0.12', ref.sandboxId, 'cat /workspace/file'), 'second\n');
  const other = await world.rpc('restore', { ref: refs.after, runtime: 'container' });
  assert.equal(await exec(world, 'container', other.ref.sandboxId, 'cat /workspace/file'), 'second\n');
});
