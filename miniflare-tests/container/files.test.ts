// Operations on files, of a class with `withFiles`.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';

import { World } from '../world.ts';

let world: World;
before(async () => {
  const main = fileURLToPath(new URL('./own-class.ts', import.meta.url));
  world = await World.start({ sandboxesOf: 'application', mode: 'container', caller: { main } });
});
after(() => world[Symbol.asyncDispose]());

/** Calls a method of the sandbox `files`. */
const call = (method: string, ...args: unknown[]) => world.sandbox('files', method, ...args);

/** Returns the code of the error of a call, which must fail. */
async function codeOf(method: string, ...args: unknown[]): Promise<string | undefined> {
  const { code, errorResponse } = (await world.failure(call(method, ...args))) as {
    code?: string;
    errorResponse?: { code: string };
  };
  return errorResponse?.code ?? code;
}

test('bytes are written and read as streams of any size', async () => {
  assert.equal(await call('copyBytes', 'random', 40), true);
  await call('writeBytes', 'bytes', 0, 255, 10, 0);
  assert.equal(await world.exec('files', 'od -An -tu1 bytes'), '   0 255  10   0\n');
  await call('writeBytes', 'bytes');
  assert.equal((await call('stat', 'bytes')).size, 0);
});

test('files are listed with their types and permissions', async () => {
  const make = `mkdir list && cd list && mkdir -p sub/deep && printf 12345 >sub/file && ln -s sub link && mkfifo fifo
    chmod 640 sub/file; touch -d @1700000000.5 sub/file; : >.hidden; : >$'line\\nbreak'; : >-x; : >"it's \\"quoted\\" \\\\"`;
  await world.exec('files', make);
  const { files } = await call('listFiles', 'list');
  const names = ['-x', '.hidden', 'fifo', 'it\'s "quoted" \\', 'line\nbreak', 'link', 'sub'];
  assert.deepEqual(files.map(({ name }: { name: string }) => name).sort(), names);
  const types = Object.fromEntries(files.map(({ name, type }: any) => [name, type]));
  assert.deepEqual(
    [types.fifo, types.link, types.sub, types['-x']],
    ['other', 'symlink', 'directory', 'file'],
  );
  const all = (await call('listFiles', 'list', { recursive: true })).files;
  assert.equal(all.length, names.length + 2);
  const file = all.find(({ relativePath }: any) => relativePath === 'sub/file');
  const expected = { type: 'file', size: 5, modifiedAt: '2023-11-14T22:13:20.500Z', mode: '640' };
  assert.deepEqual(file, { name: 'file', path: 'list/sub/file', relativePath: 'sub/file', ...expected });
  const found = await call('stat', '/workspace/list/sub/file');
  assert.deepEqual(found, { name: 'file', path: '/workspace/list/sub/file', relativePath: '', ...expected });
  assert.equal((await call('stat', 'list/link')).type, 'symlink');
  assert.deepEqual(await call('listInSession', 'list'), names);
  await world.exec('files', 'mkdir none');
  assert.deepEqual((await call('listFiles', 'none')).files, []);
});

test('files and directories are moved and deleted, also with odd names', async () => {
  for (const name of ['-rf', 'line\nbreak', '$(touch x)', "it's", '*']) {
    await call('writeFile', `odd/../${name}`, name).catch(() => {});
    await call('mkdir', 'odd', { recursive: true });
    await call('writeFile', name, name);
    await call('moveFile', name, `odd/${name}`);
    assert.equal((await call('readFile', `odd/${name}`)).content, name);
    assert.equal((await call('exists', name)).exists, false);
    await call('deleteFile', `odd/${name}`);
  }
  await world.exec('files', 'mkdir -p from/sub to; echo 1 >from/sub/file');
  await call('renameFile', 'from', 'to/new');
  assert.equal((await call('readFile', 'to/new/sub/file')).content, '1\n');
  assert.equal(await codeOf('deleteFile', 'to'), 'IS_DIRECTORY');
  await call('deleteTree', 'to');
  assert.equal((await call('exists', 'to')).exists, false);
});

test('an operation that fails has the code of its reason', async () => {
  await world.exec('files', 'mkdir -p codes/sub; : >codes/file; : >codes/sub/file');
  for (const [code, method, ...args] of [
    ['FILE_NOT_FOUND', 'readFile', 'codes/none'],
    ['FILE_NOT_FOUND', 'readFileStream', 'codes/none'],
    ['FILE_NOT_FOUND', 'writeFile', 'codes/none/file', ''],
    ['FILE_NOT_FOUND', 'stat', 'codes/none'],
    ['FILE_NOT_FOUND', 'listFiles', 'codes/none'],
    ['FILE_NOT_FOUND', 'deleteTree', 'codes/none'],
    ['FILE_NOT_FOUND', 'moveFile', 'codes/none', 'codes/new'],
    ['FILE_NOT_FOUND', 'mkdir', 'codes/none/sub'],
    ['FILE_EXISTS', 'mkdir', 'codes/sub'],
    ['IS_DIRECTORY', 'readFile', 'codes'],
    ['IS_DIRECTORY', 'readFileStream', 'codes'],
    ['IS_DIRECTORY', 'writeFile', 'codes/sub', ''],
    ['NOT_DIRECTORY', 'listFiles', 'codes/file'],
    ['NOT_DIRECTORY', 'readFile', 'codes/file/below'],
    ['OUTPUT_TOO_LARGE', 'readFile', '/dev/zero'],
  ] as [string, string, ...unknown[]][])
    assert.equal(await codeOf(method, ...args), code, `${method} ${args[0]}`);
});
