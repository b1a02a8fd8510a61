// Exclusions: a snapshot omits the files that the patterns and git name, and no others. It uses the real mksquashfs.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { PUBLISHED_CLASS, World } from './world.ts';

const FILES = ['a/b/1', 'a/c/2', 'b/3', 'x/a/4', 'x/b/5', 'top'];

let world: World;
let count = 0;
before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

/** Creates a sandbox with the files. */
async function createSandbox(prepare = ':'): Promise<string> {
  const id = `excludes-${++count}`;
  const make = FILES.map((file) => `mkdir -p "$(dirname ${file})"; echo x > ${file}`);
  await world.exec(id, [...make, prepare].join('; '));
  return id;
}

/** Returns the files that a restore of a snapshot creates. */
async function restoredFiles(id: string, options: object): Promise<string[]> {
  const { sandboxId } = (await world.restore(await world.snapshot(id, options))).ref;
  const found = await world.exec(sandboxId, "find . -name .git -prune -o -type f -printf '%P\\n'");
  await world.sandbox(sandboxId, 'destroy');
  return found.trim().split('\n').sort();
}

const without = (...excluded: string[]) => FILES.filter((file) => !excluded.includes(file)).sort();

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
    test(`${pattern} excludes matching names at any depth`, async () => {
      assert.deepEqual(await restoredFiles(await createSandbox(), { excludes: [pattern] }), files);
    });
  }

  test('with a slash is refused, because the SDK would exclude more', async () => {
    const id = await createSandbox();
    const objects = await world.objects();
    for (const pattern of ['a/b', '/a', './a', 'a/*', '**/a/b', 'a/**/b']) {
      const error = await world.failure(world.snapshot(id, { excludes: ['top', pattern] }));
      assert.equal(error.code, 'EXCLUDE_UNSUPPORTED');
      assert.ok(error.message.includes(`: "${pattern}".`), error.message);
    }
    assert.deepEqual(await world.objects(), objects);
  });

  // A defect of the published class.
  if (PUBLISHED_CLASS)
    test('with a slash makes the SDK exclude more', async () => {
      const id = await createSandbox();
      const backup = await world.backUp(id, { excludes: ['a/b'] });
      const copy = `${id}-raw`;
      await world.sandbox(copy, 'restoreBackup', backup);
      assert.equal(
        await world.exec(copy, 'find . -type f | sort'),
        './b/3\n./top\n./x/b/5\n',
        'the SDK also excludes a/c/2 and x/a/4',
      );
    });
});

describe('`gitignore: true`', () => {
  test('excludes files that git ignores at the top of the directory', async () => {
    const id = await createSandbox('git init -q; echo top > .gitignore');
    assert.deepEqual(await restoredFiles(id, { gitignore: true }), [...without('top'), '.gitignore'].sort());
  });

  test('excludes a directory that each package has', async () => {
    const id = await createSandbox(
      'git init -q; echo node_modules > .gitignore; mkdir -p node_modules/p a/node_modules/q; touch {node_modules/p,a/node_modules/q}/1',
    );
    assert.deepEqual(await restoredFiles(id, { gitignore: true }), [...FILES, '.gitignore'].sort());
  });

  test('excludes names with special characters', async () => {
    const id = await createSandbox(
      String.raw`git init -q; printf '*.log\n' > .gitignore; touch a/{'x y','[1]','#','(a|b)','?','"'}.log`,
    );
    assert.deepEqual(await restoredFiles(id, { gitignore: true }), [...FILES, '.gitignore'].sort());
  });

  test('is refused if a path that git keeps has the name of an ignored one, and the error names the path', async () => {
    const id = await createSandbox('git init -q; echo /a/b > .gitignore');
    const objects = await world.objects();
    const error = await world.failure(world.snapshot(id, { gitignore: true }));
    assert.equal(error.code, 'EXCLUDE_UNSUPPORTED');
    assert.match(error.message, /: "(b|x\/b)", "(b|x\/b)"\. /);
    assert.deepEqual(await world.objects(), objects);
    assert.deepEqual(await restoredFiles(id, {}), [...FILES, '.gitignore'].sort());
  });

  test('is refused with at most ten paths in the error', async () => {
    const id = await createSandbox('git init -q; echo /top > .gitignore; mkdir {1..20}; touch {1..20}/top');
    const { message } = await world.failure(world.snapshot(id, { gitignore: true }));
    assert.equal(message.match(/"\d+\/top"/g)?.length, 10);
    assert.match(message, /, and more\. /);
  });

  test('excludes an ignored subdirectory that is a repository', async () => {
    const id = await createSandbox('git init -q; echo /x/y > .gitignore; git init -q x/y; touch x/y/1');
    assert.deepEqual(await restoredFiles(id, { gitignore: true }), [...FILES, '.gitignore'].sort());
  });

  test('applies to the captured directory only', async () => {
    const id = await createSandbox('git init -q; printf "/b\\n/top\\n" > .gitignore');
    const { message } = await world.failure(world.snapshot(id, { gitignore: true }));
    assert.match(message, /: "(a|x)\/b", "(a|x)\/b"\. /);
    await world.snapshot(id, { dir: '/workspace/x/a', gitignore: true });
  });

  test('excludes nothing if the directory is not in a repository', async () => {
    const id = await createSandbox('echo a > .gitignore');
    assert.deepEqual(await restoredFiles(id, { gitignore: true }), [...FILES, '.gitignore'].sort());
  });

  test('runs no program of the repository before a refusal', async () => {
    const id = await createSandbox(`git init -q; echo /a > .gitignore
      printf '#!/bin/sh\\necho ran >> /tmp/ran\\n' > /tmp/monitor; chmod +x /tmp/monitor
      git config core.fsmonitor /tmp/monitor; rm -f /tmp/ran`);
    const error = await world.failure(world.snapshot(id, { gitignore: true }));
    assert.equal(error.code, 'EXCLUDE_UNSUPPORTED');
    assert.equal(await world.exec(id, 'test -e /tmp/ran && echo ran || echo none'), 'none\n');
  });
});
