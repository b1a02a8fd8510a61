// Backups of the published class of the SDK 0.12 are restored by the class of the client, and the reverse.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import type { TakenSnapshot } from '../../client/src/index.ts';
import { World } from '../world.ts';

const MAKE = `mkdir -p 'odd names' empty; echo 1 >file; ln -s file link; ln file hard; chmod 4755 file; chmod 700 empty
  printf 'a\\0b' >$'line\\nbreak'; head -c 12M /dev/urandom >big; touch -d @1700000123 file`;
const PRINT = 'tar --sort=name --format=gnu --numeric-owner --mtime=@0 -cf - . | sha256sum; stat -c %Y file';

let persist: string;
before(async () => {
  persist = await mkdtemp(join(tmpdir(), 'world-'));
});
after(() => rm(persist, { recursive: true }));

for (const [from, to] of [
  ['local', 'container'],
  ['container', 'local'],
  ['production', 'container'],
] as const) {
  test(`a backup of the mode ${from} is restored in the mode ${to}`, async () => {
    let backup: object;
    let ref: TakenSnapshot;
    let expected: string;
    {
      await using world = await World.start({ mode: from, persist, isUnnamed: true });
      await world.exec(`from-${from}`, MAKE);
      expected = await world.exec(`from-${from}`, PRINT);
      backup = await world.backUp(`from-${from}`);
      ref = await world.snapshot(`from-${from}`);
    }
    await using world = await World.start({ mode: to, persist, isUnnamed: true });
    await world.sandbox(`to-${to}`, 'restoreBackup', backup);
    assert.equal(await world.exec(`to-${to}`, PRINT), expected);
    await world.assertRestores(ref, PRINT, expected);
  });
}
