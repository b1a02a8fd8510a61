// `snapshotter cp` of directories between this machine and a running sandbox.

import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';

import { start, type Cli } from './cli.ts';
import type { World } from '../world.ts';

const NAME = 'notebook';

let world: World;
let cli: Cli;
let sandbox: string;
let folder: string;

before(async () => {
  ({ world, cli } = await start());
  sandbox = await cli.id('workspace', 'create', NAME);
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

/** Creates a directory `src` with files of different kinds on this machine. */
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'snapshotter-directories-'));
  mkdirSync(local('src/deep'), { recursive: true });
  writeFileSync(local('src/deep/ü b.txt'), 'text');
  writeFileSync(local('src/large'), Buffer.alloc(3_000_000, 'x'));
  writeFileSync(local('src/-f'), '');
  chmodSync(local('src/-f'), 0o750);
  symlinkSync('deep/ü b.txt', local('src/link'));
  symlinkSync('/nowhere', local('src/dangling'));
  await run(`rm -rf /workspace/*`);
});
afterEach(() => rmSync(folder, { recursive: true }));

const local = (name: string) => join(folder, name);

/** Runs a command line in the workspace, and returns its output. */
const run = (line: string) => cli.print('exec', '--no-stdin', `@${NAME}`, line);

/** What the files of `src` look like. */
const LISTED = '-f\ndangling\ndeep\ndeep/ü b.txt\nlarge\nlink\n';

const LIST = `find . -mindepth 1 | cut -c3- | LC_ALL=C sort`;

test('a directory is copied to a workspace and back, with modes and links', async () => {
  const copied = await cli.json('cp', local('src'), `@${NAME}:lib/src`);
  assert.deepEqual([copied.sandboxId, copied.path, copied.type], [sandbox, 'lib/src', 'directory']);
  assert.deepEqual(copied.copied, { files: 5, sizeBytes: 3_000_004 });
  assert.equal(await run(`cd lib/src && ${LIST}`), LISTED);
  assert.equal(await run(`stat -c '%a %U' lib/src/-f`), '750 root\n');
  assert.deepEqual(await cli.json('cp', `@${NAME}:lib/src`, local('back')), {
    copied: { files: 5, sizeBytes: 3_000_004 },
    output: local('back'),
    sandboxId: sandbox,
  });
  assert.deepEqual(readdirSync(local('back')).sort(), ['-f', 'dangling', 'deep', 'large', 'link']);
  assert.equal(readFileSync(local('back/link'), 'utf8'), 'text');
  assert.equal(readlinkSync(local('back/dangling')), '/nowhere');
  assert.equal(statSync(local('back/large')).size, 3_000_000);
  assert.equal(statSync(local('back/-f')).mode & 0o777, 0o750);
});

test('`-r` is accepted, and a path with a slash at its end keeps the name', async () => {
  assert.equal((await cli.json('cp', '-r', local('src'), `@${NAME}:new/`)).path, 'new/src');
  assert.equal(await run(`cd new/src && ${LIST}`), LISTED);
  await cli.print('cp', '-a', `${sandbox}:new`, local('back'));
  assert.deepEqual(readdirSync(local('back')), ['src']);
  assert.equal((await cli.json('cp', `@${NAME}:new`, `${folder}/`)).output, local('new'));
});

test('a copy into an existing directory is in it, as with `cp -r`, in both directions', async () => {
  await run('mkdir lib; echo x > lib/file');
  mkdirSync(local('back'));
  writeFileSync(local('back/file'), '');
  for (const _ of ['new', 'replaced']) {
    assert.equal((await cli.json('cp', local('src'), `@${NAME}:lib`, '--force')).path, 'lib/src');
    assert.equal(await run(`cd lib/src && ${LIST}`), LISTED);
    const { output } = await cli.json('cp', `@${NAME}:lib/src/`, local('back'), '--force');
    assert.equal(output, local('back/src'));
    assert.equal(readdirSync(local('back/src')).length, 5);
  }
  assert.deepEqual(readdirSync(local('back')).sort(), ['file', 'src']);
  assert.equal(await run('ls lib'), 'file\nsrc\n');
});

test('the copy of a directory prints how much it copied', async () => {
  assert.equal(await cli.print('cp', local('src'), `@${NAME}:`), `Copied 5 files, 3.0 MB, to @${NAME}:src\n`);
  const [back, other] = [local('back'), local('other')];
  assert.equal(await cli.print('cp', `@${NAME}:src`, back), `Copied 5 files, 3.0 MB, to ${back}\n`);
  assert.equal(await cli.print('cp', `@${NAME}:src`, other, '--quiet'), `${other}\n`);
});

test('a file keeps its name in an existing directory, in both directions', async () => {
  await run('mkdir lib');
  mkdirSync(local('back'));
  assert.equal((await cli.json('cp', local('src/large'), `@${NAME}:lib`)).path, 'lib/large');
  assert.equal((await cli.json('cp', `@${NAME}:lib/large`, local('back'))).output, local('back/large'));
});

test('several sources are copied into a directory, also after one that fails', async () => {
  writeFileSync(local('a.txt'), 'a');
  const sources = [local('a.txt'), local('missing'), local('src')];
  const { status, stdout } = await cli.run(['cp', ...sources, `@${NAME}:new/`, '--json']);
  const { copies } = JSON.parse(stdout);
  const of = ({ from, value, error }: any) => [from, value?.path ?? error.code];
  assert.deepEqual(copies.map(of), [
    [local('a.txt'), 'new/a.txt'],
    [local('missing'), 'LOCAL_FILE_UNREADABLE'],
    [local('src'), 'new/src'],
  ]);
  assert.equal(status, 1);
  assert.deepEqual(await cli.code('cp', ...sources, `@${NAME}:other`), ['INVALID_USAGE', 2]);
  assert.deepEqual(await cli.code('cp', local('a.txt'), '-', `@${NAME}:new`), ['INVALID_USAGE', 2]);
  const back = [`@${NAME}:new/a.txt`, `@${NAME}:new/src`, local('back')];
  assert.deepEqual(await cli.code('cp', ...back), ['INVALID_USAGE', 2]);
  mkdirSync(local('back'));
  const printed = await cli.print('cp', ...back, '--quiet');
  assert.equal(printed, `${local('back/a.txt')}\n${local('back/src')}\n`);
  assert.deepEqual(readdirSync(local('back')), ['a.txt', 'src']);
});

test('a source that ends with `/.` is copied without its name', async () => {
  await run('mkdir lib');
  mkdirSync(local('back'));
  assert.equal((await cli.json('cp', `${local('src')}/.`, `@${NAME}:lib`)).path, 'lib');
  assert.equal(await run(`cd lib && ${LIST}`), LISTED);
  assert.equal((await cli.json('cp', `@${NAME}:lib/.`, local('back'))).output, local('back'));
  assert.deepEqual(readdirSync(local('back')).length, 5);
  assert.deepEqual(await cli.code('cp', `@${NAME}:lib/.`, local('back')), ['LOCAL_FILE_EXISTS', 4]);
  assert.deepEqual(await cli.code('cp', `${local('src')}/.`, `@${NAME}:lib`), ['FILE_EXISTS', 4]);
});

test('a directory that is there already is completed only with `--force`', async () => {
  await cli.print('cp', local('src'), `@${NAME}:`);
  await run('echo newer > src/large; echo more > src/more');
  assert.deepEqual(await cli.code('cp', local('src'), `@${NAME}:`), ['FILE_EXISTS', 4]);
  assert.equal(await run('cat src/large'), 'newer\n');
  await cli.print('cp', local('src'), `@${NAME}:`, '--force');
  assert.equal(await run('wc -c < src/large; cat src/more'), '3000000\nmore\n');
  mkdirSync(local('back'));
  await cli.print('cp', `@${NAME}:src`, local('back'));
  assert.deepEqual(await cli.code('cp', `@${NAME}:src`, local('back')), ['LOCAL_FILE_EXISTS', 4]);
  await cli.print('cp', `@${NAME}:src`, local('back'), '--force');
});

test('a directory is not copied over a file', async () => {
  await run('echo x > src');
  assert.deepEqual(await cli.code('cp', local('src'), `@${NAME}:src`, '--force'), ['FILE_EXISTS', 4]);
});

test('a directory keeps its name in the directory of the workspace, which is copied as a tar', async () => {
  await cli.print('cp', local('src'), `@${NAME}:`);
  assert.equal(await run(`cd src && ${LIST}`), LISTED);
  await cli.print('cp', `@${NAME}:`, local('back'));
  assert.deepEqual(readdirSync(local('back')), ['src']);
  const { status, stdout } = await cli.run(['cp', `@${NAME}:/workspace`, '-']);
  assert.equal(status, 0);
  assert.ok(stdout.includes('./src/deep/') && stdout.length > 3_000_000);
});

test('a copy fails with what `tar` says', async () => {
  await cli.print('workspace', 'create', 'broken', '--env', 'TAR_OPTIONS=--no-such-option');
  await cli.print('exec', '--no-stdin', '@broken', 'mkdir', 'src');
  const { error } = await cli.failure('cp', '@broken:src', local('back'));
  assert.deepEqual([error.code, error.retryable], ['COPY_FAILED', false]);
  assert.match(error.message, /ended with exit code 64: .*--no-such-option/);
});

test('a missing directory is not found, on both sides', async () => {
  assert.deepEqual(await cli.code('cp', `@${NAME}:missing`, local('back')), ['FILE_NOT_FOUND', 3]);
  assert.equal(existsSync(local('back')), false);
  assert.equal((await cli.failure('cp', local('missing'), `@${NAME}:x`)).error.code, 'LOCAL_FILE_UNREADABLE');
});

test('a file of a snapshot is not copied to a workspace: the command that restores it is named', async () => {
  for (const to of [`@${NAME}:a2`, `@${NAME}:`]) {
    const { error, exitCode } = await cli.failure('cp', `@${NAME}`, 'good one', 'src/a', to, '--force');
    assert.deepEqual([error.code, exitCode], ['INVALID_USAGE', 2]);
    assert.ok(
      error.remediation.includes(
        `snapshotter restore-files @${NAME} 'good one' src/a --to @${NAME} --overwrite`,
      ),
      error.remediation,
    );
  }
});
