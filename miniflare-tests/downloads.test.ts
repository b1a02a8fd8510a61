// Files and directories of snapshots as streams, read from their archives in R2 without a container.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import type { SnapshotRef } from '../client/src/index.ts';
import { TOKEN, World } from './world.ts';

const LARGE = 3_000_000;

let world: World;
let ref: SnapshotRef;
let sha256: string;

before(async () => {
  world = await World.start({ snapshotter: { port: 0 } });
  await world.exec(
    'origin',
    `mkdir -p src/deep empty; echo 'fn main() {}' > src/main.rs; ln -s main.rs src/link; touch nothing
    head -c ${LARGE} /dev/urandom > src/deep/large; chmod 640 src/deep/large; ln src/main.rs src/deep/same
    echo x > 'ü "name".txt'`,
  );
  sha256 = (await world.exec('origin', 'sha256sum < src/deep/large')).slice(0, 64);
  ref = await world.snapshot('origin', { label: 'before' });
  await world.kill('origin');
});
after(() => world[Symbol.asyncDispose]());

const query = (options: object) =>
  new URLSearchParams(
    Object.entries(options).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]) as [string, string][],
  );

/** Requests a download, by default of the snapshot `ref` and with the token. */
async function get(
  name: 'download' | 'export',
  options: object,
  { headers = {}, ...init }: { method?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
  const url = await world.url(`/v1/files/${name}?${query(options)}`);
  return fetch(url, { headers: { authorization: `Bearer ${TOKEN}`, ...headers }, ...init });
}

async function digest(bytes: ArrayBuffer): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex');
}

describe('a download over HTTP', () => {
  test('selects the snapshot by its short ref, and in a workspace by its label', async () => {
    const name = 'downloaded';
    await world.rpc('workspaces/create', { name });
    await world.rpc('exec', { name, command: 'echo saved > notes.txt' });
    const { sandboxId } = await world.rpc('workspaces/getByName', { name });
    const { shortRef } = await world.snapshot(sandboxId, { label: 'good' });
    await world.rpc('exec', { name, command: 'echo later > notes.txt' });
    for (const selection of [{ ref: shortRef }, { name, label: 'good' }, { name, label: 'latest' }]) {
      const response = await get('download', { ...selection, path: 'notes.txt' });
      assert.equal(await response.text(), 'saved\n');
      assert.equal((await get('export', selection)).status, 200);
      const { text } = await world.rpc('files/download', { ...selection, path: 'notes.txt' });
      assert.equal(text, 'saved\n');
    }
    await world.rpc('workspaces/stop', { name });
    const refused = await get('download', { name, path: 'notes.txt' });
    assert.match(JSON.stringify(await refused.json()), /must select exactly one snapshot/);
  });

  test('has the content of a file, and the headers of a download', async () => {
    const response = await get('download', { ref, path: 'src/deep/large' });
    assert.equal(response.status, 200);
    const header = (name: string) => response.headers.get(name);
    assert.equal(header('content-type'), 'application/octet-stream');
    assert.equal(header('content-length'), String(LARGE));
    assert.equal(header('content-disposition'), 'attachment; filename="large"; filename*=UTF-8\'\'large');
    assert.equal(header('x-content-type-options'), 'nosniff');
    assert.equal(header('accept-ranges'), 'bytes');
    assert.equal(header('cache-control'), 'private, no-cache');
    assert.equal(header('x-snapshot-id'), ref.ref.snapshotId);
    assert.match(header('etag') ?? '', /^"snap-\w+-\w+"$/);
    assert.equal(await digest(await response.arrayBuffer()), sha256);
  });

  test('selects the snapshot by its label or its id', async () => {
    for (const selection of [{ label: 'before' }, { snapshotId: ref.ref.snapshotId }]) {
      const options = { sandboxId: 'origin', ...selection, path: 'src/main.rs' };
      const response = await get('download', options);
      assert.equal(await response.text(), 'fn main() {}\n');
    }
  });

  test('encodes the name of the file', async () => {
    const response = await get('download', { ref, path: 'ü "name".txt' });
    assert.equal(
      response.headers.get('content-disposition'),
      `attachment; filename="_ _name_.txt"; filename*=UTF-8''%C3%BC%20%22name%22.txt`,
    );
    assert.equal(await response.text(), 'x\n');
  });

  test('has the headers without the content for HEAD', async () => {
    for (const [path, length] of [
      ['src/deep/large', LARGE],
      ['nothing', 0],
    ] as const) {
      const response = await get('download', { ref, path }, { method: 'HEAD' });
      assert.deepEqual([response.status, await response.text()], [200, '']);
      assert.equal(response.headers.get('content-length'), String(length));
    }
  });

  test('of a range has only its bytes', async () => {
    const whole = Buffer.from(await (await get('download', { ref, path: 'src/deep/large' })).arrayBuffer());
    for (const [range, start, end] of [
      ['bytes=0-0', 0, 1],
      ['bytes=131000-131100', 131_000, 131_101],
      ['bytes=2999990-', 2_999_990, LARGE],
      ['bytes=-10', LARGE - 10, LARGE],
      ['bytes=2999999-9999999', 2_999_999, LARGE],
    ] as const) {
      const response = await get('download', { ref, path: 'src/deep/large' }, { headers: { range } });
      assert.equal(response.status, 206, range);
      assert.equal(response.headers.get('content-range'), `bytes ${start}-${end - 1}/${LARGE}`);
      assert.equal(response.headers.get('content-length'), String(end - start));
      const bytes = Buffer.from(await response.arrayBuffer());
      assert.ok(bytes.equals(whole.subarray(start, end)), range);
    }
  });

  test('of a range behind the end is refused', async () => {
    const response = await get('download', { ref, path: 'nothing' }, { headers: { range: 'bytes=0-' } });
    assert.deepEqual([response.status, response.headers.get('content-range')], [416, 'bytes */0']);
  });

  test('is conditional', async () => {
    const { headers } = await get('download', { ref, path: 'src/main.rs' }, { method: 'HEAD' });
    const etag = headers.get('etag') ?? '';
    const status = async (conditions: Record<string, string>) => {
      const response = await get('download', { ref, path: 'src/main.rs' }, { headers: conditions });
      return [response.status, (await response.text()).length];
    };
    assert.deepEqual(await status({ 'if-none-match': etag }), [304, 0]);
    assert.deepEqual(await status({ 'if-none-match': '"other"' }), [200, 13]);
    assert.deepEqual(await status({ 'if-range': etag, range: 'bytes=3-' }), [206, 10]);
    assert.deepEqual(await status({ 'if-range': '"other"', range: 'bytes=3-' }), [200, 13]);
  });

  test('needs the token', async () => {
    for (const method of ['GET', 'HEAD']) {
      const response = await get(
        'download',
        { ref, path: 'src/main.rs' },
        { method, headers: { authorization: '' } },
      );
      assert.equal(response.status, 401);
      await response.text();
    }
  });

  test('reports errors as other operations do', async () => {
    const failure = async (options: object, init: { method?: string } = {}) => {
      const response = await get('download', { ref, ...options }, init);
      return [response.status, ((await response.json()) as any).code];
    };
    assert.deepEqual(await failure({ path: 'missing' }), [404, 'FILE_NOT_FOUND']);
    assert.deepEqual(await failure({ path: 'src' }), [409, 'NOT_A_FILE']);
    assert.deepEqual(await failure({ path: '../x' }), [400, 'INVALID_ARGUMENT']);
    assert.deepEqual(await failure({}), [400, 'INVALID_ARGUMENT']);
    assert.deepEqual(await failure({ path: 'src/main.rs', other: 'x' }), [400, 'INVALID_ARGUMENT']);
    assert.deepEqual(await failure({ path: 'x' }, { method: 'POST' }), [405, 'METHOD_NOT_ALLOWED']);
    const forged = { ...ref, ref: { ...ref.ref, signature: '1.x' } };
    assert.deepEqual(await failure({ ref: forged, path: 'src/main.rs' }), [403, 'REF_MISMATCH']);
  });

  test('can be abandoned many times', async () => {
    for (let count = 0; count < 10; count++) {
      const response = await get('download', { ref, path: 'src/deep/large' });
      assert.equal(response.status, 200);
      await response.body?.cancel();
    }
    assert.equal(await (await get('download', { ref, path: 'src/main.rs' })).text(), 'fn main() {}\n');
  });
});

describe('an export', () => {
  test('is a tar with the files, links, modes and times', async () => {
    const response = await get('export', { ref });
    assert.equal(response.headers.get('content-type'), 'application/octet-stream');
    assert.equal(
      response.headers.get('content-disposition')?.split(';')[1],
      ` filename="${ref.ref.snapshotId}.tar"`,
    );
    const folder = await mkdtemp(join(tmpdir(), 'export-'));
    try {
      await writeFile(join(folder, 'all.tar'), Buffer.from(await response.arrayBuffer()));
      execFileSync('tar', ['-xf', 'all.tar'], { cwd: folder });
      assert.equal(await readFile(join(folder, 'src/main.rs'), 'utf8'), 'fn main() {}\n');
      assert.equal(await readlink(join(folder, 'src/link')), 'main.rs');
      assert.ok((await stat(join(folder, 'empty'))).isDirectory());
      const large = join(folder, 'src/deep/large');
      assert.equal((await stat(large)).mode & 0o777, 0o640);
      assert.equal(await digest(new Uint8Array(await readFile(large)).buffer), sha256);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('of a directory has the names in it', async () => {
    const bytes = Buffer.from(await (await get('export', { ref, path: 'src' })).arrayBuffer());
    const names = execFileSync('tar', ['-t'], { input: bytes }).toString().split('\n').slice(0, -1).sort();
    assert.deepEqual(names, ['./', 'deep/', 'deep/large', 'deep/same', 'link', 'main.rs']);
    assert.ok(bytes.subarray(-1024).every((byte) => byte === 0));
  });

  test('of a file is refused', async () => {
    const response = await get('export', { ref, path: 'src/main.rs' });
    assert.deepEqual([response.status, ((await response.json()) as any).code], [409, 'NOT_A_DIRECTORY']);
  });
});

test('the RPC methods return streams', async () => {
  const { sizeBytes, text } = await world.rpc('files/download', { ref, path: 'src/main.rs' });
  assert.deepEqual([sizeBytes, text], [13, 'fn main() {}\n']);
  const { text: tar } = await world.rpc('files/export', { ref, path: 'src' });
  assert.ok(tar.includes('fn main() {}'));
  assert.equal((await world.failure(world.rpc('files/download', { ref, path: 'src' }))).code, 'NOT_A_FILE');
});

test('no container runs', () => assert.deepEqual(world.running(), []));
