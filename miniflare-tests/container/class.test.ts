// The class of the client over `ctx.container`: identity, commands, and archives that are interrupted or damaged.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { after, before, test } from 'node:test';

import { until, World } from '../world.ts';

let world: World;
let fault: ((command: string) => Promise<void> | void) | undefined;

before(async () => {
  world = await World.start({
    sandboxesOf: 'application',
    mode: 'container',
    onCall: ({ method, command = '' }) => (method === 'container.exec' ? fault?.(command) : undefined),
  });
});
after(() => world[Symbol.asyncDispose]());

/** Returns the code of the error of a call, which must fail. */
async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  const { code, errorResponse } = (await world.failure(call)) as {
    code?: string;
    errorResponse?: { code: string };
  };
  return errorResponse?.code ?? code;
}

/** Stops the process that prints the archive, after 20 MB of it. */
const STOP_CAPTURE = `until [ -e /tmp/stopped ]; do for p in $(pgrep -x cat); do
    case $(readlink /proc/$p/fd/3) in */archive*) read -r _ at </proc/$p/fdinfo/3
      [ $at -gt 20000000 ] && kill -STOP $p && : >/tmp/stopped ;; esac
  done; done 2>/dev/null &`;

const exec = (id: string, command: string, options: object = {}) =>
  world.sandbox(id, 'exec', command, options);

/** Kills the process that limits the time of the next capture or restore. */
const KILL_LIMIT = `until [ -e /tmp/killed ]; do for p in $(pgrep -x timeout); do
    case $(tr '\\0' ' ' </proc/$p/cmdline) in 'timeout -k 2 3600 '*) kill -9 $p && : >/tmp/killed ;; esac
  done; done 2>/dev/null &`;

test('a capture whose process is killed fails as such, and the container keeps its files', async () => {
  await world.exec('killed', `head -c 100000000 /dev/urandom >large; ${KILL_LIMIT}`);
  const failed = world.sandbox('killed', 'createBackup', { dir: '/workspace' });
  assert.equal(await codeOf(failed), 'BACKUP_CREATE_FAILED');
  assert.equal(await world.exec('killed', 'ls; ls /tmp/killed'), 'large\n/tmp/killed\n');
});

test('a restore whose process is killed fails as such, and changes no files', async () => {
  await world.exec('unpacking', 'head -c 100000000 /dev/urandom >large; echo 1 >kept');
  const backup = await world.backUp('unpacking');
  await world.exec('unpacking', `echo 2 >kept; rm large; ${KILL_LIMIT}`);
  const failed = world.sandbox('unpacking', 'restoreBackup', backup);
  assert.equal(await codeOf(failed), 'BACKUP_RESTORE_FAILED');
  assert.equal(await world.exec('unpacking', 'ls; cat kept; ls /tmp/killed'), 'kept\n2\n/tmp/killed\n');
});

test('a command has the directory, the variables and the exit code that the call requests', async () => {
  await world.sandbox('env', 'setEnvVars', { SHARED: 'set', GONE: 'set' });
  await world.sandbox('env', 'setEnvVars', { GONE: null });
  const print = 'pwd; echo "$HOME $SHARED $OWN ${GONE-none}"; echo error >&2; exit 3';
  const { exitCode, success, stdout, stderr } = await exec('env', print, {
    cwd: '/tmp',
    env: { OWN: 'own' },
  });
  assert.deepEqual([exitCode, success, stdout, stderr], [3, false, '/tmp\n/root set own none\n', 'error\n']);
  assert.equal(await world.exec('env', 'pwd'), '/workspace\n');
  assert.equal((await exec('env', 'no-such-program')).exitCode, 127);
});

test('a command ends at its time limit, with its processes', async () => {
  const { exitCode } = await exec('limits', 'sleep 1001 | sleep 1002', { timeout: 500 });
  assert.equal(exitCode, 124);
  assert.equal((await exec('limits', 'pgrep -c "^sleep" -a | grep -c 100')).stdout, '0\n');
  assert.equal((await exec('limits', 'trap "" TERM; sleep 10; sleep 10', { timeout: 500 })).exitCode, 124);
});

test('a command does not wait for processes that it leaves behind', async () => {
  const startedAt = performance.now();
  assert.equal(await world.exec('background', 'sleep 1000 & echo started'), 'started\n');
  assert.ok(performance.now() - startedAt < 30_000);
  assert.equal((await exec('background', 'pgrep -c -x sleep')).stdout, '1\n');
});

test('a program runs without a shell, and one that is missing is reported', async () => {
  const printed = await world.sandbox('programs', 'execProgram', ['printf', '%s', '$HOME; "*"'], {
    cwd: '/',
  });
  assert.deepEqual(printed, { exitCode: 0, stdout: '$HOME; "*"', stderr: '' });
  const missing = await world.sandbox('programs', 'execProgram', ['no-such-program']);
  assert.equal(missing.exitCode, 127);
  assert.match(missing.stderr, /no-such-program.*not found/);
});

test('a container that ends during a command interrupts it', async () => {
  const running = exec('ends', 'touch /tmp/started; sleep 1000');
  const failed = codeOf(running);
  await until(async () => (await exec('ends', '[ -e /tmp/started ]')).success);
  await world.kill('ends');
  assert.equal(await failed, 'OPERATION_INTERRUPTED');
});

test('the object ends a command whose time limit the container does not apply', async () => {
  fault = async (command) => {
    if (command.includes('unlimited')) await pause(60_000, undefined, { ref: false });
  };
  assert.equal(await codeOf(exec('unlimited', ': unlimited', { timeout: 500 })), 'COMMAND_TIMEOUT');
  fault = undefined;
  assert.equal((await exec('unlimited', 'true', { timeout: 500 })).exitCode, 0);
});

test('output beyond the limit is refused, and nothing is lost below it', async () => {
  assert.equal((await exec('output', 'head -c 10000000 /dev/zero | tr "\\0" x')).stdout.length, 10_000_000);
  assert.equal(await codeOf(exec('output', 'head -c 100M /dev/zero')), 'OUTPUT_TOO_LARGE');
});

test('files are written and read', async () => {
  await world.sandbox('files', 'mkdir', 'a/b', { recursive: true });
  await world.sandbox('files', 'writeFile', 'a/b/file', 'content\n');
  assert.equal((await world.sandbox('files', 'readFile', '/workspace/a/b/file')).content, 'content\n');
  assert.equal((await world.sandbox('files', 'exists', 'a/b/file')).exists, true);
  await world.sandbox('files', 'deleteFile', 'a/b/file');
  assert.equal((await world.sandbox('files', 'exists', 'a/b/file')).exists, false);
  assert.equal(await codeOf(world.sandbox('files', 'readFile', 'none')), 'FILE_NOT_FOUND');
});

test('each container has another id, and a state that starts none', async () => {
  assert.equal((await world.sandbox('identity', 'getState')).status, 'stopped');
  assert.deepEqual(world.running().includes(await world.objectId('identity')), false);
  const [one, same] = await Promise.all([1, 2].map(() => world.sandbox('identity', 'startContainer')));
  assert.equal(one, same);
  const before = await world.sandbox('identity', 'getState');
  assert.equal(before.status, 'healthy');
  assert.deepEqual(await world.sandbox('identity', 'getState'), before);
  await world.kill('identity');
  assert.equal((await world.sandbox('identity', 'getState')).status, 'stopped');
  const other = await world.sandbox('identity', 'startContainer');
  assert.notEqual(other, one);
  const options = { dir: '/workspace', expectedContainer: one };
  assert.equal(await codeOf(world.sandbox('identity', 'createBackup', options)), 'CONTAINER_REPLACED');
  await world.sandbox('identity', 'createBackup', { ...options, expectedContainer: other });
});

test('a capture or a restore that expects a container starts none', async () => {
  const id = await world.sandbox('expected', 'startContainer');
  const { lastChange, containerId } = await world.sandbox('expected', 'getState');
  assert.equal(containerId, id);
  const backup = await world.backUp('expected', { expectedLastChange: lastChange });
  await world.kill('expected');
  const object = await world.objectId('expected');
  const refused = async (expected: object) => {
    assert.equal(await codeOf(world.backUp('expected', expected)), 'CONTAINER_REPLACED');
    const restore = world.sandbox('expected', 'restoreBackup', { ...backup, ...expected });
    assert.equal(await codeOf(restore), 'CONTAINER_REPLACED');
  };
  await refused({ expectedContainer: id });
  await refused({ expectedLastChange: lastChange });
  await refused({ expectedLastChange: (await world.sandbox('expected', 'getState')).lastChange });
  assert.equal(world.running().includes(object), false);
  await world.sandbox('expected', 'startContainer');
  await refused({ expectedContainer: id });
  await refused({ expectedLastChange: lastChange });
});

test('the same container is recognized after the object ended', async () => {
  const id = await world.sandbox('restarts', 'startContainer');
  await world.exec('restarts', 'echo 1 >file');
  await world.crash();
  assert.equal(await world.sandbox('restarts', 'getContainerPlacementId'), id);
  assert.equal(await world.exec('restarts', 'cat file'), '1\n');
});

test('a container whose id can not be read at once is not taken for another one', async () => {
  const id = await world.sandbox('unread', 'startContainer');
  const { lastChange } = await world.sandbox('unread', 'getState');
  await world.exec('unread', 'echo kept >file');
  await world.crash(); // workerd loses the label.
  for (const failures of [1, 2, 3]) {
    let left = failures;
    fault = () => {
      if (left-- > 0) throw new Error('the disk is full');
    };
    while (left > 0) await world.sandbox('unread', 'getState').catch(() => {});
    fault = undefined;
    const state = await world.sandbox('unread', 'getState');
    assert.deepEqual([state.containerId, state.lastChange], [id, lastChange], `${failures} failures`);
  }
  assert.equal(await world.exec('unread', 'cat file'), 'kept\n');
});

test('an object that ended during a start starts one container', async () => {
  const started = Promise.withResolvers<void>();
  fault = async (command) => {
    if (!command.includes('set -C')) return;
    fault = undefined;
    started.resolve();
    await pause(60_000, undefined, { ref: false });
  };
  const lost = world.sandbox('halfway', 'startContainer').catch(() => {});
  await started.promise;
  await world.crash();
  await lost;
  const { containerId } = await world.sandbox('halfway', 'getState');
  const id = await world.sandbox('halfway', 'startContainer');
  assert.equal(id, containerId);
  assert.equal(await world.exec('halfway', 'cat /run/sandbox-snapshotter.container'), `${id}\n`);
});

test('an archive travels in parts, and a restore replaces the directory', async () => {
  await world.exec(
    'parts',
    'head -c 30M /dev/urandom >big; mkdir sub; echo 1 >sub/file; echo "*" >"[odd] name"',
  );
  const backup = await world.backUp('parts');
  const sums = 'find . -type f -exec sha256sum {} + | sort';
  const expected = await world.exec('parts', sums);
  await world.exec('parts', 'rm big; echo 2 >sub/file; echo added >added');
  // Processes that work in the directory end.
  await world.exec(
    'parts',
    '(cd sub && exec -a inside sleep 1000 & exec -a opened sleep 1000 <sub/file) & sleep 0.3',
  );
  await world.sandbox('parts', 'restoreBackup', backup);
  assert.equal(await world.exec('parts', sums), expected);
  assert.equal((await exec('parts', 'pgrep -c -f "^(inside|opened)"')).stdout, '0\n');
  assert.equal(
    await world.exec('parts', 'ls -A / | grep -c snapshotter || true; ls -A /var/backups/*'),
    '0\n',
  );
});

test('excluded files are not captured', async () => {
  await world.exec('excludes', 'mkdir -p sub/build logs; touch a.o sub/b.o sub/build/x sub/kept logs/l kept');
  const backup = await world.backUp('excludes', { excludes: ['*.o', 'sub/build', 'logs/**'] });
  await world.sandbox('to-excludes', 'restoreBackup', backup);
  assert.equal(await world.exec('to-excludes', 'find . -type f | sort'), './kept\n./sub/kept\n');
});

test('a damaged or missing archive changes nothing', async () => {
  await world.exec('damaged', 'head -c 1000 /dev/urandom >file');
  const backup = await world.backUp('damaged');
  const key = `backups/${backup.id}/data.sqsh`;
  const { sizeBytes } = JSON.parse((await world.read(`backups/${backup.id}/meta.json`)) ?? '');
  const sum = await world.exec('damaged', 'sha256sum file');
  const attempt = () => codeOf(world.sandbox('damaged', 'restoreBackup', backup));
  await world.write(key, 'x'.repeat(sizeBytes));
  assert.equal(await attempt(), 'BACKUP_INTEGRITY');
  await world.write(key, 'x');
  assert.equal(await attempt(), 'BACKUP_INTEGRITY');
  await world.delete(key);
  assert.equal(await attempt(), 'BACKUP_NOT_FOUND');
  await world.delete(`backups/${backup.id}/meta.json`);
  assert.equal(await attempt(), 'BACKUP_NOT_FOUND');
  assert.equal(await world.exec('damaged', 'sha256sum file; ls -A /var/backups/*'), sum);
});

test('a backup that has expired is not restored', async () => {
  await world.exec('expired', 'echo 1 >file');
  const backup = await world.backUp('expired', { ttl: 30 });
  assert.equal(await codeOf(world.sandbox('expired', 'restoreBackup', backup)), 'BACKUP_EXPIRED');
});

test('a container that ends during a capture leaves nothing in the bucket', async () => {
  const before = await world.objects();
  await world.exec('interrupted', 'head -c 60M /dev/urandom >file');
  fault = async (command) => {
    if (!command.includes('mksquashfs')) return;
    fault = undefined;
    setTimeout(() => void world.kill('interrupted'), 100);
  };
  assert.equal(await codeOf(world.backUp('interrupted')), 'OPERATION_INTERRUPTED');
  assert.deepEqual(await world.objects(), before);
});

test('the next capture deletes what a capture left behind whose object ended', async () => {
  await world.exec('crashed', 'head -c 100M /dev/urandom >file');
  const before = await world.objects();
  await world.exec('crashed', STOP_CAPTURE);
  const lost = world.backUp('crashed').catch(() => {});
  await world.exec('crashed', 'until [ -e /tmp/stopped ]; do sleep 0.05; done');
  await world.crash();
  await lost;
  const backup = await world.backUp('crashed', { excludes: ['file'] });
  const own = ['data.sqsh', 'meta.json'].map((name) => `backups/${backup.id}/${name}`);
  assert.deepEqual((await world.objects()).filter((key) => !before.includes(key)).sort(), own);
});

test('a restore whose object ended changes nothing, and the next one succeeds', async () => {
  await world.exec('evicted', 'head -c 60M /dev/urandom >file');
  const sum = await world.exec('evicted', 'sha256sum file');
  const backup = await world.backUp('evicted');
  await world.exec('evicted', 'rm file; echo kept >other');
  const stopReceiving = `until [ -e /tmp/stopped ]; do for p in $(pgrep -x cat); do
      case $(readlink /proc/$p/fd/1) in */archive) read -r _ at </proc/$p/fdinfo/1
        [ $at -gt 10000000 ] && kill -STOP $p && : >/tmp/stopped ;; esac
    done; done 2>/dev/null &`;
  await world.exec('evicted', stopReceiving);
  const lost = world.sandbox('evicted', 'restoreBackup', backup).catch(() => {});
  await world.exec('evicted', 'until [ -e /tmp/stopped ]; do sleep 0.05; done');
  await world.crash();
  await lost;
  await world.exec('evicted', 'pkill -CONT -x cat; while pgrep -x cat; do sleep 0.05; done');
  assert.equal(await world.exec('evicted', 'cat other; ls'), 'kept\nother\n');
  await world.sandbox('evicted', 'restoreBackup', backup);
  assert.equal(await world.exec('evicted', 'sha256sum *; ls -A /var/backups/sandbox-snapshotter'), sum);
});

test('a capture and a restore end at their time limit, and leave nothing', async () => {
  await world.exec('late', 'echo 1 >kept; head -c 100M /dev/urandom >file');
  const backup = await world.backUp('late');
  await world.exec('late', 'echo 2 >kept');
  const before = await world.objects();
  await world.exec('late', STOP_CAPTURE);
  assert.equal(await codeOf(world.backUp('late', { timeout: 5000 })), 'COMMAND_TIMEOUT');
  assert.deepEqual(await world.objects(), before);

  await world.exec('late', '{ until pkill -STOP -x unsquashfs; do :; done; } 2>/dev/null &');
  const restore = world.sandbox('late', 'restoreBackup', { ...backup, timeout: 5000 });
  assert.equal(await codeOf(restore), 'COMMAND_TIMEOUT');
  assert.equal(
    await world.exec('late', 'cat kept; ls -A / /var/backups/sandbox-snapshotter | grep -c snapshotter'),
    '2\n1\n',
  );
});

test('the object ends a capture whose time limit the container does not apply', async () => {
  await world.exec('stuck', 'echo 1 >file');
  const before = await world.objects();
  fault = async (command) => {
    if (command.includes('mksquashfs')) await pause(60_000, undefined, { ref: false });
  };
  assert.equal(await codeOf(world.backUp('stuck', { timeout: 1000 })), 'COMMAND_TIMEOUT');
  fault = undefined;
  assert.deepEqual(await world.objects(), before);
  await world.backUp('stuck');
});

test('a directory outside of the permitted ones is refused', async () => {
  for (const dir of ['/etc', '/workspace/../etc', 'workspace', '/'])
    assert.equal(await codeOf(world.backUp('dirs', { dir })), 'INVALID_BACKUP_CONFIG', dir);
  assert.equal(await codeOf(world.backUp('dirs', { dir: '/workspace/none' })), 'BACKUP_CREATE_FAILED');
});
