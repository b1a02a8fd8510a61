// The provenance of snapshots: an application is deployed again with another image.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';

import type { LocalImage } from '../scripts/local.ts';
import { PUBLISHED_CLASS, World } from './world.ts';

/** The image of the first deployment and that of the second one. Only the class for containers tells their names. */
const IMAGES: [LocalImage, LocalImage] = PUBLISHED_CLASS
  ? ['local:0.12.10', 'local:0.13.0']
  : ['debian:12', 'debian:13'];

const DIFFERENCE = PUBLISHED_CLASS
  ? 'the sandbox\'s SDK version is "0.13.0", and was "0.12.10" at the snapshot'
  : 'the sandbox\'s image is "debian:13", and was "debian:12" at the snapshot';

let persist: string;

before(async () => {
  persist = await mkdtemp(join(tmpdir(), 'provenance-'));
});
after(() => rm(persist, { recursive: true }));

/** Starts the Workers with the same state, and sandboxes of an image. */
function deploy(localImage: LocalImage): Promise<World> {
  const config = fileURLToPath(new URL('./caller/with-images.toml', import.meta.url));
  const caller = PUBLISHED_CLASS ? { localImage } : { localImage, config };
  return World.start({ sandboxesOf: 'application', persist, caller });
}

test('a snapshot has the image of its container, and another image is reported, refused or allowed', async () => {
  const sandboxId = 'agent-42';
  let snapshotId: string;
  {
    await using world = await deploy(IMAGES[0]);
    await world.exec(sandboxId, 'echo 1 > file');
    ({ snapshotId } = await world.rpc('snapshot', { sandboxId }));
    await world.workspace('notebook').create();
    await world.workspace('notebook').stop();
    const [{ provenance }] = (await world.rpc('list', { sandboxId })).snapshots;
    assert.match(provenance.packages, /^[0-9a-f]{16}$/);
    assert.deepEqual(
      [provenance.image, provenance.sdkVersion, provenance.classVersion],
      PUBLISHED_CLASS ? [undefined, '0.12.10', undefined] : ['debian:12', undefined, '0.1.0'],
    );
    const { root } = await world.rpc('lineage', { sandboxId });
    assert.deepEqual(root.snapshots[0].provenance, provenance);
    const strict = { sandboxId, snapshotId, onImageChange: 'fail' };
    assert.equal((await world.rpc('restore', strict)).stale, undefined);
  }
  await using world = await deploy(IMAGES[1]);
  const selected = { sandboxId, snapshotId };
  const reported = await world.rpc('restore', selected);
  assert.deepEqual(reported.stale, [DIFFERENCE]);
  assert.equal(await world.exec(reported.ref.sandboxId, 'cat file'), '1\n');
  assert.equal((await world.rpc('branch', { ...selected, onImageChange: 'allow' })).stale, undefined);
  const running = world.running().length;
  const error = await world.failure(world.rpc('branch', { ...selected, onImageChange: 'fail' }));
  assert.equal(error.code, 'SNAPSHOT_STALE');
  assert.equal(world.running().length, running, 'no sandbox is left');
  const refused = await world.failure(world.rpc('revive', { sandboxId, onImageChange: 'fail' }));
  assert.equal(refused.code, 'SNAPSHOT_STALE');
  assert.deepEqual((await world.rpc('revive', { sandboxId })).stale, [DIFFERENCE]);
  const started = await world.workspace('notebook').start();
  assert.deepEqual(started.stale, [DIFFERENCE]);
});
