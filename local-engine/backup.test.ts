/** Backups in local mode: another sandbox restores the same files. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startFixture, type TestSandbox, type TestFixture } from './testing.ts';

let fixture: TestFixture;
let from: TestSandbox;
let count = 0;
let fault: { method: RegExp; act: (sandboxId: string) => Promise<void> } | undefined;

before(async () => {
  fixture = await startFixture({
    async onCall({ method, command, sandboxId }) {
      if (!fault?.method.test(`${method} ${command ?? ''}`)) return;
      const { act } = fault;
      fault = undefined;
      await act(sandboxId);
    },
  });
  from = fixture.sandbox('from');
});
after(() => fixture[Symbol.asyncDispose]());

const backUp = (dir: string, options: object = {}) =>
  from.call('createBackup', { dir, localBucket: true, ...options });

async function restore(backup: object): Promise<TestSandbox> {
  const to = fixture.sandbox(`to-${++count}`);
  await to.call('restoreBackup', backup);
  return to;
}

/** Prints hashes of all properties of a tree that a backup must preserve, and the names of its files. */
const describe = async (sandbox: TestSandbox, dir: string): Promise<string> =>
  (
    await sandbox.call(
      'exec',
      String.raw`(cd ${dir} && find . -printf '%y %m %T@ %l %p\0' | sort -z | sha256sum
        find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum; find . | sort | tail -30)`,
    )
  ).stdout;

test('a backup preserves unusual names, modes, links, times and empty directories', async () => {
  await from.call(
    'exec',
    String.raw`mkdir -p /workspace/odd/{empty,-dir,.hidden} && (cd /workspace/odd
      for name in $'new\nline' "quote'\"" -rf 'ünï 🦀' $'bad\xff\xfebytes' ' lead' 'trail ' '*' '[a]' '\back' '$(x)' '#x'; do
        printf '%s' "$name" >"./$name"; done
      seq 1 100000 >.hidden/big; head -c 5000 /dev/urandom >bin; : >none
      ln -s '*' link; ln -s /nowhere broken; ln ./bin ./-dir/hard
      chmod 4751 none; chmod 000 bin; chmod 1777 empty; chmod 700 .
      find . -depth -exec touch -h -d @1700000123 {} +)`,
  );
  const to = await restore(await backUp('/workspace/odd'));
  assert.equal(await describe(to, '/workspace/odd'), await describe(from, '/workspace/odd'));
});

test('a backup preserves ten thousand files', async () => {
  await from.call('exec', 'mkdir /workspace/many; for i in {1..10000}; do echo $i >/workspace/many/$i; done');
  await from.call('exec', 'touch -d @1700000123 /workspace/many/* /workspace/many');
  const to = await restore(await backUp('/workspace/many'));
  assert.equal(await describe(to, '/workspace/many'), await describe(from, '/workspace/many'));
});

test('a backup preserves a file of 100 MB', async () => {
  await from.call('exec', 'mkdir /workspace/large; head -c 100M /dev/urandom >/workspace/large/blob');
  await from.call('exec', 'touch -d @1700000123 /workspace/large/blob /workspace/large');
  const to = await restore(await backUp('/workspace/large'));
  assert.equal(await describe(to, '/workspace/large'), await describe(from, '/workspace/large'));
});

test('a backup omits excluded files and, with gitignore, the files that git ignores', async () => {
  await from.call(
    'exec',
    String.raw`mkdir -p /workspace/repo/sub/build && (cd /workspace/repo && git init -q && printf '*.o\nbuild/\n[[]x]\n' >.gitignore
      touch a.c a.o '[x]' x sub/b.o sub/build/out sub/keep.log sub/'ü.o' untracked)`,
  );
  const names = async (options: object) => {
    const to = await restore(await backUp('/workspace/repo', options));
    return (await to.call('exec', 'cd /workspace/repo && find . -type f -not -path "./.git/*" | sort; cd /'))
      .stdout;
  };
  // The SDK omits the whole of `sub` if a path in it is ignored or excluded.
  assert.equal(await names({ gitignore: true }), './.gitignore\n./a.c\n./untracked\n./x');
  assert.equal(
    await names({ excludes: ['sub/build', '.git'] }),
    './.gitignore\n./[x]\n./a.c\n./a.o\n./untracked\n./x',
  );
  // A pattern without a slash applies at every depth, and so does one that begins with two asterisks.
  const excludes = ['*.o', '**/*.log', '.git', '[[]x]', 'build/**'];
  assert.equal(await names({ excludes }), './.gitignore\n./a.c\n./untracked\n./x');
});

test('a backup can be compressed with gzip, lz4 and zstd', async () => {
  await from.call(
    'exec',
    'mkdir /workspace/c; seq 1 50000 >/workspace/c/f; touch -d @1700000123 /workspace/c/f /workspace/c',
  );
  const expected = await describe(from, '/workspace/c');
  for (const format of ['gzip', 'lz4', 'zstd']) {
    const to = await restore(await backUp('/workspace/c', { compression: { format, threads: 1 } }));
    assert.equal(await describe(to, '/workspace/c'), expected);
  }
});

test('createBackup of a missing directory fails with an error that names it', async () => {
  await assert.rejects(backUp('/workspace/none'), {
    code: 'BACKUP_CREATE_FAILED',
    message: /\/workspace\/none: .*no such/,
  });
});

test('a call whose container is killed fails with OPERATION_INTERRUPTED, and the next call succeeds', async () => {
  let running: string[] = [];
  const kill = async (id: string) => {
    await fixture.engine.kill(id);
    running = fixture.engine.running();
    assert.ok(!running.includes(id));
  };
  await from.call('exec', 'mkdir -p /workspace/k; echo 1 >/workspace/k/f');
  const backup = await backUp('/workspace/k');
  for (const method of [/^backup.createArchive/, /^files.readFileStream/]) {
    await from.call('exec', 'mkdir -p /workspace/k');
    fault = { method, act: kill };
    await assert.rejects(backUp('/workspace/k'), { code: 'OPERATION_INTERRUPTED' });
    assert.equal(fault, undefined);
  }
  const to = fixture.sandbox('killed');
  for (const method of [/^files.writeFileStream/, /^commands.execute .*unsquashfs/]) {
    fault = { method, act: kill };
    await assert.rejects(to.call('restoreBackup', backup), { code: 'OPERATION_INTERRUPTED' });
    assert.equal(fault, undefined);
  }
  await to.call('restoreBackup', backup);
  assert.equal((await to.call('exec', 'cat /workspace/k/f')).stdout, '1');
});

test('an error in onCall fails the call', async () => {
  const act = () => Promise.reject(new Error('a planned fault'));
  fault = { method: /^backup.createArchive/, act };
  await assert.rejects(backUp('/workspace'), /a planned fault/);
});
