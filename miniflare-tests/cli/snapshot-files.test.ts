// The commands for the files of a snapshot, in both output modes.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';

import { start, type Cli } from './cli.ts';
import type { World } from '../world.ts';

let world: World;
let cli: Cli;
let origins = 0;
let origin: string;

before(async () => {
  ({ world, cli } = await start());
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});
beforeEach(async () => {
  origin = `origin-${++origins}`;
  await world.exec(origin, 'echo x > file; mkdir cache; echo y > cache/file');
});

describe('the files of a snapshot', () => {
  beforeEach(() => cli.print('snapshot', 'create', origin, '--label', 'files'));

  test('`ls` lists a directory', async () => {
    const printed = await cli.print('ls', origin, 'files');
    assert.match(printed, /^MODE +SIZE +MODIFIED +NAME\n0755 .*cache\/\n0644 +2 B .*file\n$/);
    assert.equal(await cli.print('ls', origin, 'files', 'cache', '--quiet'), 'file\n');
    const { files } = await cli.json('ls', origin, 'files');
    assert.deepEqual([files[0].name, files[0].type], ['cache', 'directory']);
  });

  test('`stat` prints the attributes of a file', async () => {
    assert.match(
      await cli.print('stat', origin, 'files', 'file'),
      /^path +file\ntype +file\nsize +2 B\nmode +0644\n/,
    );
  });

  test('`du` shows what takes the space', async () => {
    const printed = await cli.print('du', origin, 'files');
    assert.match(printed, /^size +4 B\nfiles +2\ndirectories +1$/m);
    assert.match(printed, /^ *2 B +1 +cache\/$/m);
    assert.match(printed, /^ *2 B +cache\/file$/m);
    assert.deepEqual(await cli.code('du', `${origin}:cache`), ['INVALID_USAGE', 2]);
  });

  test('`cat` prints the bytes of a file', async () => {
    assert.equal(await cli.print('cat', origin, 'files', 'cache/file'), 'y\n');
    const ref = await cli.file('ref.json', JSON.stringify(await cli.json('snapshot', 'create', origin)));
    assert.equal(await cli.print('cat', '--ref', ref, 'file'), 'x\n');
    const similar = await cli.failure('cat', origin, 'files', 'cache/fil');
    assert.match(similar.error['remediation'], /^Did you mean "cache\/file"\? `snapshotter ls /);
    const { error } = await cli.failure('cat', origin, 'files', 'missing');
    assert.equal(error.code, 'FILE_NOT_FOUND');
  });

  test('`cp` copies a file or a directory, and replaces nothing without `--force`', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'cp-'));
    try {
      const [file, directory] = [join(folder, 'copy'), join(folder, 'directory')];
      assert.equal(await cli.print('cp', origin, 'files', 'file', file, '--quiet'), `${file}\n`);
      await cli.print('cp', origin, 'files', '/', directory);
      assert.deepEqual(
        await Promise.all([file, join(directory, 'cache/file')].map((path) => readFile(path, 'utf8'))),
        ['x\n', 'y\n'],
      );
      await writeFile(file, 'newer');
      for (const [path, local] of [
        ['file', file],
        ['/', directory],
      ] as const)
        assert.deepEqual(await cli.code('cp', origin, 'files', path, local), ['LOCAL_FILE_EXISTS', 4]);
      assert.equal(await readFile(file, 'utf8'), 'newer');
      const { sizeBytes, output } = await cli.json('cp', origin, 'files', 'file', file, '--force');
      assert.deepEqual([sizeBytes, output], [2, file]);
      assert.deepEqual((await readdir(folder)).sort(), ['copy', 'directory']);
    } finally {
      await rm(folder, { recursive: true });
    }
    assert.equal(await cli.print('cp', origin, 'files', 'file', '-'), 'x\n');
    assert.deepEqual(await cli.code('cp', origin, 'files', 'missing', '-'), ['FILE_NOT_FOUND', 3]);
    assert.deepEqual(await cli.code('cp', origin, 'files'), ['INVALID_USAGE', 2]);
  });

  test('`export` writes a tar', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'export-'));
    try {
      const tar = join(folder, 'all.tar');
      await cli.print('export', origin, 'files', '--output', tar);
      const names = execFileSync('tar', ['-tf', tar]).toString().split('\n').slice(0, -1).sort();
      assert.deepEqual(names, ['./', 'cache/', 'cache/file', 'file']);
      assert.deepEqual(await cli.code('export', origin, 'files', '--output', tar), ['LOCAL_FILE_EXISTS', 4]);
    } finally {
      await rm(folder, { recursive: true });
    }
    assert.deepEqual(await cli.code('export', origin, 'files', 'file', '--output', '-'), [
      'NOT_A_DIRECTORY',
      4,
    ]);
  });

  test('`export` leaves files with secrets out unless they are requested', async () => {
    await world.exec(
      'secrets',
      'mkdir app; touch .env app/server.key app/main.js; ln app/main.js app/other.key',
    );
    await cli.print('snapshot', 'create', 'secrets', '--label', 'all', '--secrets', 'keep');
    const folder = await mkdtemp(join(tmpdir(), 'export-'));
    const names = (tar: string) => execFileSync('tar', ['-tf', tar]).toString().trim().split('\n').sort();
    try {
      const [some, all] = [join(folder, 'some.tar'), join(folder, 'all.tar')];
      const { secrets } = await cli.json('export', 'secrets', 'all', '--output', some);
      assert.deepEqual([secrets.count, secrets.excluded], [3, 3]);
      const { stderr } = await cli.run(['export', 'secrets', 'all', '--output', some, '--force']);
      const warning = /left out: 3 \(\.env, app\/other\.key, app\/server\.key\)\. Pass --secrets keep/;
      assert.match(stderr, warning);
      const piped = await cli.shell('snapshotter export secrets all --output - --json | tar -t');
      assert.match(piped.stderr, warning);
      assert.deepEqual(piped.stdout.trim().split('\n').sort(), ['./', 'app/', 'app/main.js']);
      assert.deepEqual(names(some), ['./', 'app/', 'app/main.js']);
      await cli.print('export', 'secrets', 'all', '--output', all, '--secrets', 'keep');
      assert.deepEqual(names(all), ['./', '.env', 'app/', 'app/main.js', 'app/other.key', 'app/server.key']);
      const refused = await cli.code('export', 'secrets', 'all', '--output', '-', '--secrets', 'refuse');
      assert.equal(refused[0], 'SECRETS_FOUND');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('`diff` lists the files that differ from another snapshot', async () => {
    await world.exec(origin, 'echo longer > file; rm -r cache; echo new > new');
    await cli.print('snapshot', 'create', origin, '--label', 'later');
    const printed = await cli.print('diff', origin, 'files', 'later');
    const lines = printed.split('\n').map((line) => line.split(/ {2,}/));
    assert.deepEqual(lines.slice(0, -1), [
      ['CHANGE', 'SIZE', 'PATH'],
      ['removed', 'cache/'],
      ['removed', '2 B', 'cache/file'],
      ['changed', '2 B → 7 B', 'file'],
      ['added', '4 B', 'new'],
    ]);
    const { changes } = await cli.json('diff', origin, 'files', 'later');
    assert.deepEqual(changes.length, 4);
    assert.match(await cli.print('diff', origin, 'files', 'files'), /same files/);
  });

  test('`diff --patch` prints a patch with which git makes the other snapshot', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'snapshotter-'));
    const run = (command: string) => execFileSync('sh', ['-c', command], { cwd: folder, encoding: 'utf8' });
    try {
      const before =
        'seq 30 > lines; echo x > "two words"; printf x > unterminated; echo x > removed; echo x > mode; ln -s file link; mkdir src; seq 9 > src/old; echo é > \'quo"te\'; find . -exec touch -h -d @1000000000 {} +';
      await world.exec(origin, before);
      await cli.print('snapshot', 'create', origin, '--label', 'from');
      const changes =
        'sed -i s/15/fifteen/ lines; echo y > "two words"; printf y > unterminated; rm removed cache/file; chmod +x mode; rm link; ln -s lines link; mv src/old src/new; echo ü > \'quo"te\'; : > empty; echo 1 > file; mkdir a; seq 3 > a/added';
      await world.exec(origin, changes);
      const present = await cli.print('diff', origin, 'from', '--patch');
      await cli.print('snapshot', 'create', origin, '--label', 'to');
      const patch = await cli.print('diff', origin, 'from', 'to', '--patch');
      assert.equal(present, patch);
      assert.match(patch, /^@@ -12,7 \+12,7 @@.*\n 12\n 13\n 14\n-15\n\+fifteen\n 16\n/m);
      await writeFile(join(folder, 'patch'), patch);
      for (const side of ['from', 'to'])
        await cli.print('export', origin, side, '--output', join(folder, side));
      run('for side in from to; do mkdir tree-$side && tar -xf $side -C tree-$side; done');
      run('cd tree-from && git init -q && git apply --whitespace=nowarn ../patch && rm -r .git');
      run('find tree-* -type d -empty -delete; diff -r --no-dereference tree-from tree-to');
      assert.equal(run('stat -c %a tree-from/mode'), '755\n');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('`diff --patch` shows no content of binary and large files, and selects paths', async () => {
    await world.exec(
      origin,
      'printf "\\0" > binary; head -c 2000000 /dev/zero | tr "\\0" x > large; echo longer > file',
    );
    assert.equal(
      await cli.print('diff', origin, 'files', '-p'),
      'diff --git a/binary b/binary\nnew file mode 100644\nBinary files /dev/null and b/binary differ\n' +
        'diff --git a/file b/file\n--- a/file\n+++ b/file\n@@ -1 +1 @@\n-x\n+longer\n' +
        'diff --git a/large b/large\nnew file mode 100644\nFiles /dev/null and b/large differ: too large to show\n',
    );
    const selected = await cli.print('diff', origin, 'files', '--patch', '--path', 'file', '--path', 'cache');
    assert.match(selected, /^diff --git a\/file b\/file\n[^\n]*\n[^\n]*\n@@ -1 \+1 @@\n-x\n\+longer\n$/);
    assert.deepEqual(await cli.code('diff', origin, 'files', '--patch', '--quiet'), ['INVALID_USAGE', 2]);
  });
});
