// The files of running sandboxes, and of named workspaces, which are started if they are not running.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';

import { http, SnapshotterClient } from '../../client/src/index.ts';
import { TOKEN, World } from '../world.ts';

let world: World;

before(async () => {
  world = await World.start({ snapshotter: { port: 0 } });
  await world.exec('agent', 'mkdir src; echo first > notes.txt; ln -s /etc out; ln -s notes.txt link');
});
after(() => world[Symbol.asyncDispose]());

const sum = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex');

/** Returns the bytes that `writeBytes` writes. */
const bytes = (length: number) => Uint8Array.from({ length }, (_, index) => index % 251);

test('a file of several megabytes of a workspace is read as a stream, unless it changes meanwhile', async () => {
  const { workspaces } = new SnapshotterClient(http({ url: `${await world.url('/')}`, token: TOKEN }));
  const { files } = await workspaces.getOrCreate({ name: 'large' });
  const content = bytes(2_500_000);
  await files.write('large', content);
  const { sizeBytes, body } = await files.download('large');
  assert.deepEqual([sizeBytes, sum(await new Response(body).bytes())], [content.length, sum(content)]);

  const reader = (await files.download('large')).body.getReader();
  await reader.read();
  await files.write('large', content.toReversed());
  await assert.rejects(reader.read(), { code: 'FILE_CHANGED' });
});

test('the directory of a workspace that was moved away is not created again', async () => {
  const name = 'moved';
  await world.rpc('workspaces/create', { name, dir: '/workspace/app' });
  const run = (command: string) => world.rpc('exec', { name, command, cwd: '/' });
  await run('echo draft > /workspace/app/draft && mv /workspace/app /tmp/kept');
  for (const call of [
    () => world.rpc('files/write', { name, path: 'new', content: '' }),
    () => world.rpc('files/mkdir', { name, path: 'new' }),
    () => world.rpc('workspaces/stop', { name }),
  ]) {
    const { code, remediation } = await world.failure(call());
    assert.equal(code, 'INVALID_DIRECTORY');
    assert.match(remediation ?? '', /move it back/);
  }
  await run('mv /tmp/kept /workspace/app');
  await world.rpc('workspaces/stop', { name });
  const { content } = await world.rpc('files/read', { name, path: 'draft' });
  assert.equal(content, 'draft\n');
});

for (const transport of ['rpc', 'http'] as const) {
  describe(`over ${transport}`, () => {
    const dir = `over-${transport}`;
    const call = (operation: string, path: string, options: object = {}) =>
      world[transport](`files/${operation}`, { sandboxId: 'agent', path: `${dir}/${path}`, ...options });

    test('a file is written, read, listed, moved and removed', async () => {
      const content = 'zeile 1\nÄ 2\n';
      const written = await call('write', 'deep/a.txt', { content, mode: '0600' });
      assert.deepEqual([written.sandboxId, written.type, written.mode], ['agent', 'file', '0600']);
      assert.equal(written.etag, sum(content));
      const read = await call('read', 'deep/a.txt', { offset: 6, length: 4 });
      assert.deepEqual([read.content, read.sizeBytes, read.etag], ['1\nÄ', 13, written.etag]);
      await call('mkdir', 'other');
      await call('move', 'deep/a.txt', { to: `${dir}/other/b.txt` });
      const { files } = await call('list', 'other');
      assert.deepEqual(
        files.map(({ name, sizeBytes }: any) => [name, sizeBytes]),
        [['b.txt', 13]],
      );
      const { code } = await world.failure(call('remove', 'other'));
      assert.equal(code, 'DIRECTORY_NOT_EMPTY');
      assert.equal((await call('remove', 'other', { recursive: true })).removed, true);
      assert.equal((await world.failure(call('stat', 'other/b.txt'))).code, 'FILE_NOT_FOUND');
      assert.equal(await world.exec('agent', `ls -A ${dir} ${dir}/deep`), `${dir}:\ndeep\n\n${dir}/deep:\n`);
    });

    test('every byte and every name arrives', async () => {
      const content = Buffer.from(bytes(40_000)).toString('base64');
      const odd = 'a\nb $(id) ü "*\'';
      const written = await call('write', odd, { content, encoding: 'base64' });
      assert.equal(written.etag, sum(bytes(40_000)));
      const read = await call('read', odd);
      assert.deepEqual([read.encoding, read.content], ['base64', content]);
      await world.exec('agent', `printf x > ${dir}/$'\\377'`);
      const { files } = await call('list', '');
      const last = files.at(-1);
      assert.deepEqual([files[0].name, last.name, last.nameBytes], [odd, '\ufffd', '/w==']);
    });

    test('no path leads out of the directory', async () => {
      const failures = ['../out/passwd', '../link', '../../etc/passwd'].map(async (path) => {
        const { code } = await world.failure(call('read', path));
        return code;
      });
      assert.deepEqual(await Promise.all(failures), [
        'INVALID_ARGUMENT',
        'INVALID_ARGUMENT',
        'INVALID_ARGUMENT',
      ]);
      const at = (path: string) => world[transport]('files/read', { sandboxId: 'agent', path });
      assert.equal((await world.failure(at('out/passwd'))).code, 'NOT_A_DIRECTORY');
      assert.equal((await world.failure(at('link'))).code, 'NOT_A_FILE');
      const write = world[transport]('files/write', { sandboxId: 'agent', path: 'out/x', content: '' });
      assert.equal((await world.failure(write)).code, 'NOT_A_DIRECTORY');
    });
  });
}

test('of writers with the same etag, one writes and the others are refused', async () => {
  const { etag } = await world.rpc('files/read', { sandboxId: 'agent', path: 'notes.txt' });
  const write = async (content: string) => {
    const options = { sandboxId: 'agent', path: 'notes.txt', content, ifMatch: etag };
    return world.rpc('files/write', options).then(
      () => content,
      ({ code }) => code,
    );
  };
  const outcomes = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(write));
  const winners = outcomes.filter((outcome) => outcome !== 'FILE_CHANGED');
  assert.equal(winners.length, 1, outcomes.join());
  const { content } = await world.rpc('files/read', { sandboxId: 'agent', path: 'notes.txt' });
  assert.equal(content, winners[0]);
});

for (const asStream of [false, true]) {
  test(`a content of 5 MB is written ${asStream ? 'from a stream' : 'from bytes'}`, async () => {
    const options = { sandboxId: 'agent', path: 'large' };
    const written = await world.writeBytes(options, 5_000_000, asStream);
    assert.deepEqual([written.sizeBytes, written.etag], [5_000_000, sum(bytes(5_000_000))]);
    const read = await world.rpc('files/read', { ...options, offset: 4_999_999 });
    assert.deepEqual([read.length, read.etag], [1, written.etag]);
    assert.equal(await world.exec('agent', 'ls /run/sandbox-snapshotter.input.* 2>/dev/null; true'), '');
  });
}

test('the body of a request is the content', async () => {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/octet-stream' };
  const options = JSON.stringify({ sandboxId: 'agent', path: 'body.txt' });
  const path = `/v1/files/write?options=${encodeURIComponent(options)}`;
  for (const body of ['text of a body', '']) {
    const { status, body: written } = await world.fetch(path, { headers, ...(body && { body }) });
    assert.deepEqual([status, written.etag], [200, sum(body)]);
  }
  const twice = JSON.stringify({ sandboxId: 'agent', path: 'body.txt', content: '' });
  const refused = await world.fetch(`/v1/files/write?options=${encodeURIComponent(twice)}`, {
    headers,
    body: 'x',
  });
  assert.deepEqual([refused.status, refused.body.code], [400, 'INVALID_ARGUMENT']);
});

test('a stopped workspace is started with its files, and one whose container was killed says so', async () => {
  const workspace = world.workspace('notebook');
  await workspace.create({});
  await world.rpc('files/write', { name: 'notebook', path: 'saved', content: 'saved' });
  await workspace.stop();
  const read = () => world.rpc('files/read', { name: 'notebook', path: 'saved' });
  const first = await read();
  assert.deepEqual(
    [first.content, first.started.how, first.started.mayHaveLost],
    ['saved', 'restored', false],
  );
  assert.equal((await read()).started, undefined);
  await world.kill(first.sandboxId);
  assert.equal((await read()).started.mayHaveLost, true);
});

test('a sandbox whose container ended is reported, and is not started', async () => {
  await world.exec('ended', 'echo x > file');
  await world.kill('ended');
  const failure = await world.failure(
    world.rpc('files/write', { sandboxId: 'ended', path: 'x', content: '' }),
  );
  assert.equal(failure.code, 'SANDBOX_NOT_RUNNING');
  assert.equal((await world.sandbox('ended', 'getState')).status === 'healthy', false);
});
