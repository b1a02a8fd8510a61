// A snapshot as one text.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { World } from './world.ts';

let world: World;
let taken: any;

before(async () => {
  world = await World.start();
  await world.exec('origin', 'echo first > file');
  taken = await world.snapshot('origin');
});
after(() => world[Symbol.asyncDispose]());

for (const transport of ['rpc', 'http'] as const) {
  test(`a short ref selects its snapshot, over ${transport}`, async () => {
    assert.match(taken.shortRef, /^snap_[\w.-]+$/);
    assert.equal(taken.snapshotId, taken.ref.snapshotId);
    const found = await world[transport]('get', { ref: taken.shortRef });
    assert.deepEqual([found.snapshotId, found.shortRef], [taken.snapshotId, taken.shortRef]);
    const restored = await world[transport]('restore', { ref: taken.shortRef });
    assert.equal(await world.exec(restored.ref.sandboxId, 'cat file'), 'first\n');
    const files = await world[transport]('files/list', { ref: taken.shortRef });
    assert.deepEqual(
      files.files.map(({ name }: { name: string }) => name),
      ['file'],
    );
  });

  test(`an altered short ref is refused, over ${transport}`, async () => {
    const altered = taken.shortRef.replace(
      /^snap_[^.]+/,
      `snap_${Buffer.from('other').toString('base64url')}`,
    );
    await assert.rejects(world[transport]('restore', { ref: altered }), { code: 'REF_MISMATCH' });
    await assert.rejects(world[transport]('restore', { ref: taken.shortRef.slice(0, 30) }), {
      code: 'INVALID_REF',
    });
  });
}
