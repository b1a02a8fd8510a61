// What a snapshot leaves out: what the patterns and git name, and nothing else. mksquashfs is the real one.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { World } from './world.ts';

const FILES = ['a/b/1', 'a/c/2', 'b/3', 'x/a/4', 'x/b/5', 'top'];

let world: World;
let count = 0;
before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

/** A sandbox with the files. */
async function sandbox(prepare = ':'): Promise<string> {
  const id = `excludes-${++count}`;
  const make = FILES.map((file) => `mkdir -p "$(dirname ${file})"; echo x > ${file}`);
  await world.exec(id, [...make, prepare].join('; '));
  return id;
}

/** The files that a snapshot brings to a new sandbox. */
async function kept(id: string, options: object): Promise<string[]> {
  const { sandboxId } = (await world.restore(await world.snapshot(id, options))).ref;
  const found = await world.exec(sandboxId, "find . -name .git -prune -o -type f -printf '%P\\n'");
  await world.sandbox(sandboxId, 'destroy');
  return found.trim().split('\n').sort();
}

const without = (...gone: string[]) => FILES.filter((file) => !gone.includes(file)).sort();

describe('a pattern of `excludes`', () => {
  const NO_A = without('a/b/1', 'a/c/2', 'x/a/4');
  for (const [pattern, files] of Object.entries({
    a: NO_A,
    'a/': NO_A,
    '**/a': NO_A,
    'a/**': NO_A,
    '**/a/**': NO_A,
    '[ac]': without('a/b/1', 'a/c/2', 'x/a/4'),
    't*p': without('top'),
    '**': FILES.slice().sort(),
    nothing: FILES.slice().sort(),
  })) {
    test(`${pattern} leaves out what it names at any depth`, async () => {
      assert.deepEqual(await kept(await sandbox(), { excludes: [pattern] }), files);
    });
  }

  test('with a slash is refused, since the SDK would leave out more', async () => {
    const id = await sandbox();
    const objects = await world.objects();
    for (const pattern of ['a/b', '/a', './a', 'a/*', '**/a/b', 'a/**/b']) {
      const error = await world.failure(world.snapshot(id, { excludes: ['top', pattern] }));
      assert.equal(error.code, 'EXCLUDE_UNSUPPORTED');
      assert.ok(error.message.includes(`: "${pattern}".`), error.message);
    }
    assert.deepEqual(await world.objects(), objects);
  });

  test('with a slash makes the SDK leave out more', async () => {
    const id = await sandbox();
    const backup = await world.backUp(id, { excludes: ['a/b'] });
    const copy = `${id}-raw`;
    await world.sandbox(copy, 'restoreBackup', backup);
    assert.equal(
      await world.exec(copy, 'find . -type f | sort'),
      './b/3\n./top\n./x/b/5\n',
      'a/c/2 and x/a/4 are gone',
    );
  });
});

describe('`gitignore: true`', () => {
  test('leaves out what git ignores at the top of the directory', async () => {
    const id = await sandbox('git init -q; echo top > .gitignore');
    assert.deepEqual(await kept(id, { gitignore: true }), [...without('top'), '.gitignore'].sort());
  });

  test('is refused where git ignores a path in a subdirectory, which the message names', async () => {
    const id = await sandbox('git init -q; echo /a/b > .gitignore');
    const objects = await world.objects();
    const error = await world.failure(world.snapshot(id, { gitignore: true }));
    assert.equal(error.code, 'EXCLUDE_UNSUPPORTED');
    assert.match(error.message, /: "a\/b\/1"\. /);
    assert.deepEqual(await world.objects(), objects);
    assert.deepEqual(await kept(id, {}), [...FILES, '.gitignore'].sort());
  });

  test('names ten paths at most', async () => {
    const id = await sandbox('git init -q; echo a > .gitignore; touch a/b/{2..20}');
    const { message } = await world.failure(world.snapshot(id, { gitignore: true }));
    assert.equal(message.match(/"a\/b\/\d+"/g)?.length, 10);
    assert.match(message, /, and more\. /);
  });

  test('is refused where an ignored subdirectory is a repository of its own', async () => {
    const id = await sandbox('git init -q; echo /x/y > .gitignore; git init -q x/y');
    const error = await world.failure(world.snapshot(id, { gitignore: true }));
    assert.match(error.message, /: "x\/y"\. /);
  });

  test('counts what is below the directory that is captured', async () => {
    const id = await sandbox('git init -q; printf "b\\n/top\\n" > .gitignore');
    const { message } = await world.failure(world.snapshot(id, { dir: '/workspace/a', gitignore: true }));
    assert.match(message, /: "b\/1"\. /);
    await world.snapshot(id, { dir: '/workspace/x/a', gitignore: true });
  });

  test('leaves out nothing where the directory is in no repository', async () => {
    const id = await sandbox('echo a > .gitignore');
    assert.deepEqual(await kept(id, { gitignore: true }), [...FILES, '.gitignore'].sort());
  });

  test('runs no program of the repository before a refusal', async () => {
    const id = await sandbox(`git init -q; echo a > .gitignore
      printf '#!/bin/sh\\necho ran >> /tmp/ran\\n' > /tmp/monitor; chmod +x /tmp/monitor
      git config core.fsmonitor /tmp/monitor; rm -f /tmp/ran`);
    const error = await world.failure(world.snapshot(id, { gitignore: true }));
    assert.equal(error.code, 'EXCLUDE_UNSUPPORTED');
    assert.equal(await world.exec(id, 'test -e /tmp/ran && echo ran || echo none'), 'none\n');
  });
});
