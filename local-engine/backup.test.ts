/** Backups in local mode: what goes into one comes out of it, in another sandbox. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startWorld, type TestSandbox, type TestWorld } from './testing.ts';

let world: TestWorld;
let from: TestSandbox;
let count = 0;
let fault: { method: RegExp; act: (sandboxId: string) => Promise<void> } | undefined;

before(async () => {
  world = await startWorld({
    async onCall({ method, command, sandboxId }) {
      if (!fault?.method.test(`${method} ${command ?? ''}`)) return;
      const { act } = fault;
      fault = undefined;
      await act(sandboxId);
    },
  });
  from = world.sandbox('from');
});
after(() => world[Symbol.asyncDispose]());

const backUp = (dir: string, options: object = {}) =>
  from.call('createBackup', { dir, localBucket: true, ...options });

async function restore(backup: object): Promise<TestSandbox> {
  const to = world.sandbox(`to-${++count}`);
  await to.call('restoreBackup', backup);
  return to;
}

/** Everything about a tree that a backup must keep, as one hash; with the names for the eye. */
const describe = async (sandbox: TestSandbox, dir: string): Promise<string> =>
  (
    await sandbox.call(
      'exec',
      String.raw`(cd ${dir} && find . -printf '%y %m %T@ %l %p\0' | sort -z | sha256sum
        find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum; find . | sort | tail -30)`,
    )
  ).stdout;

test('odd names, modes, links, times and empty directories', async () => {
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

test('ten thousand files', async () => {
  await from.call('exec', 'mkdir /workspace/many; for i in {1..10000}; do echo $i >/workspace/many/$i; done');
  await from.call('exec', 'touch -d @1700000123 /workspace/many/* /workspace/many');
  const to = await restore(await backUp('/workspace/many'));
  assert.equal(await describe(to, '/workspace/many'), await describe(from, '/workspace/many'));
});

test('an archive of 100 MB', async () => {
  await from.call('exec', 'mkdir /workspace/large; head -c 100M /dev/urandom >/workspace/large/blob');
  await from.call('exec', 'touch -d @1700000123 /workspace/large/blob /workspace/large');
  const to = await restore(await backUp('/workspace/large'));
  assert.equal(await describe(to, '/workspace/large'), await describe(from, '/workspace/large'));
});

test('what git ignores and what is excluded stays behind', async () => {
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
  // The SDK loses the whole of `sub` where a path in it is ignored, or excluded.
  assert.equal(await names({ gitignore: true }), './.gitignore\n./a.c\n./untracked\n./x');
  assert.equal(
    await names({ excludes: ['sub/build', '.git'] }),
    './.gitignore\n./[x]\n./a.c\n./a.o\n./untracked\n./x',
  );
  // A pattern without a slash holds at every depth, as one with two asterisks does.
  const excludes = ['*.o', '**/*.log', '.git', '[[]x]', 'build/**'];
  assert.equal(await names({ excludes }), './.gitignore\n./a.c\n./untracked\n./x');
});

test('compression', async () => {
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

test('a missing directory is an error that names it', async () => {
  await assert.rejects(backUp('/workspace/none'), {
    code: 'BACKUP_CREATE_FAILED',
    message: /\/workspace\/none: .*no such/,
  });
});

test('a container killed in the middle is an error of the SDK, and the sandbox can go on', async () => {
  let survivors: string[] = [];
  const kill = async (id: string) => {
    await world.engine.kill(id);
    survivors = world.engine.running();
    assert.ok(!survivors.includes(id));
  };
  await from.call('exec', 'mkdir -p /workspace/k; echo 1 >/workspace/k/f');
  const backup = await backUp('/workspace/k');
  for (const method of [/^backup.createArchive/, /^files.readFileStream/]) {
    await from.call('exec', 'mkdir -p /workspace/k');
    fault = { method, act: kill };
    await assert.rejects(backUp('/workspace/k'), { code: 'OPERATION_INTERRUPTED' });
    assert.equal(fault, undefined);
  }
  const to = world.sandbox('killed');
  for (const method of [/^files.writeFileStream/, /^commands.execute .*unsquashfs/]) {
    fault = { method, act: kill };
    await assert.rejects(to.call('restoreBackup', backup), { code: 'OPERATION_INTERRUPTED' });
    assert.equal(fault, undefined);
  }
  await to.call('restoreBackup', backup);
  assert.equal((await to.call('exec', 'cat /workspace/k/f')).stdout, '1');
});

test('an error in onCall fails the call', async () => {
  const act = () => Promise.reject(new Error('not today'));
  fault = { method: /^backup.createArchive/, act };
  await assert.rejects(backUp('/workspace'), /not today/);
});
