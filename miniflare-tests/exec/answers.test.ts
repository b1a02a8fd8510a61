// Commands whose callers get one answer, over RPC and over HTTP.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { until, World } from '../world.ts';

let world: World;

before(async () => {
  world = await World.start();
  await world.exec('box', 'mkdir -p src; echo x > src/file');
});
after(() => world[Symbol.asyncDispose]());

const code = async (call: Promise<unknown>) => (await world.failure(call)).code;

for (const transport of ['rpc', 'http'] as const) {
  describe(`over ${transport}`, () => {
    const exec = (options: object) => world[transport]('exec', { sandboxId: 'box', ...options });

    test('the answer has the exit code and both outputs', async () => {
      const { durationMs, ...answer } = await exec({ command: 'echo out; echo err >&2; exit 3' });
      const expected = { sandboxId: 'box', exitCode: 3, stdout: 'out\n', stderr: 'err\n', truncated: false };
      assert.deepEqual(answer, expected);
      assert.ok(durationMs >= 0 && durationMs < 60_000);
    });

    test('a program gets its arguments without a shell', async () => {
      const { stdout } = await exec({ argv: ['printf', '%s|', '$HOME', "it's", '', 'a\nb'] });
      assert.equal(stdout, "$HOME|it's||a\nb|");
    });

    test('a command gets its directory, its variables and its input', async () => {
      const env = { A: "it's $(x)\n", PATH: '/nowhere:/usr/bin:/bin' };
      const command = 'pwd; cat; printf %s "$A$PATH"';
      const { stdout } = await exec({ command, cwd: 'src', env, stdin: 'a\u0000b\n' });
      assert.equal(stdout, `/workspace/src\na\u0000b\n${env.A}${env.PATH}`);
      assert.equal((await exec({ command: 'pwd', cwd: '/tmp' })).stdout, '/tmp\n');
    });

    test('a command gets an empty input, and no file of the snapshotter', async () => {
      const { stdout } = await exec({
        command: 'cat; ls -l /proc/self/fd | grep snapshotter; env | grep our_; echo end',
      });
      assert.equal(stdout, 'end\n');
    });

    test('output that is not UTF-8 is returned in Base64', async () => {
      const { encoding, stdout, stderr } = await exec({ command: "printf '\\377\\0\\n'; echo a >&2" });
      const decode = (text: string) => Buffer.from(text, 'base64').toString('latin1');
      assert.deepEqual([encoding, decode(stdout), decode(stderr)], ['base64', '\xff\0\n', 'a\n']);
    });

    test('the end of a long output is left out, and the command runs to its end', async () => {
      const command = 'yes ü | head -c 3000000; echo end >&2';
      const { exitCode, stdout, stderr, truncated, encoding } = await exec({ command });
      assert.deepEqual([exitCode, stderr, truncated, encoding], [0, 'end\n', true, undefined]);
      assert.ok(Buffer.byteLength(stdout) > 1024 * 1024 - 3 && stdout.startsWith('ü\nü\n'));
    });

    test('a program that is missing has the exit code of a shell', async () => {
      const { exitCode, stderr } = await exec({ argv: ['no-such-program'] });
      assert.equal(exitCode, 127);
      assert.equal(stderr, 'no-such-program: command not found\n');
    });

    test('a working directory that is missing is an error', async () => {
      assert.equal(await code(exec({ command: 'true', cwd: 'missing' })), 'INVALID_DIRECTORY');
    });
  });
}

test('a command is killed at its time limit, with all processes of its group', async () => {
  const command = 'sleep 600 & echo $! > pid; echo begin; sleep 600';
  const { exitCode, stdout, timedOut } = await world.rpc('exec', {
    sandboxId: 'box',
    command,
    timeoutSeconds: 1,
  });
  assert.deepEqual([exitCode, stdout, timedOut], [124, 'begin\n', true]);
  assert.equal(await world.exec('box', 'kill -0 "$(cat pid)" 2>/dev/null || echo gone'), 'gone\n');
});

test('a command that ignores its time limit is killed', async () => {
  const command = 'trap "" TERM; sleep 600; sleep 600';
  const { exitCode, timedOut } = await world.rpc('exec', { sandboxId: 'box', command, timeoutSeconds: 1 });
  assert.deepEqual([exitCode, timedOut], [124, true]);
});

test('a process in the background does not delay the answer, and continues', async () => {
  const command = 'sleep 600 >/dev/null 2>&1 & echo $! > background; (sleep 600; echo late) & echo done';
  const { stdout } = await world.rpc('exec', { sandboxId: 'box', command });
  assert.equal(stdout, 'done\n');
  assert.equal(await world.exec('box', 'kill "$(cat background)" && echo running'), 'running\n');
});

test('a command that ends processes by their command line ends no other process', async () => {
  await world.exec('box', 'sleep 4321 >/dev/null 2>&1 & sleep 4322 >/dev/null 2>&1 &');
  const { exitCode } = await world.rpc('exec', { sandboxId: 'box', command: 'pkill -f "sleep 4321"' });
  assert.equal(exitCode, 0);
  const left = await world.rpc('exec', { sandboxId: 'box', argv: ['pgrep', '-f', '-a', 'sleep 432'] });
  assert.match(left.stdout, /^\d+ sleep 4322\n$/);
});

test('sixteen commands run at the same time, and others wait', async () => {
  const command = 'touch "started.$$"; until [ -e go ]; do sleep 0.05; done; rm "started.$$"';
  const exec = (line: string) => world.rpc('exec', { sandboxId: 'box', command: line });
  const running = Array.from({ length: 16 }, () => exec(command));
  await until(async () => (await world.exec('box', 'ls started.* 2>/dev/null | wc -l')) === '16\n');
  const waiting = exec('echo last');
  await world.exec('box', 'touch go');
  assert.deepEqual(new Set((await Promise.all(running)).map(({ exitCode }) => exitCode)), new Set([0]));
  assert.equal((await waiting).stdout, 'last\n');
});

test('a container that is killed during a command is reported, and none is started', async () => {
  await world.exec('killed', 'echo x > file');
  const running = world.failure(
    world.rpc('exec', { sandboxId: 'killed', command: 'touch begun; sleep 600' }),
  );
  await world.exec('killed', 'until [ -e begun ]; do sleep 0.05; done');
  await world.kill('killed');
  assert.equal((await running).code, 'OPERATION_INTERRUPTED');
  assert.equal(world.running().includes(await world.objectId('killed')), false);
  const again = await world.failure(world.rpc('exec', { sandboxId: 'killed', command: 'true' }));
  assert.equal(again.code, 'SANDBOX_NOT_RUNNING');
  assert.equal(world.running().includes(await world.objectId('killed')), false);
});

test('a command whose caller aborts is killed', async () => {
  const command = 'echo $$ > "$PWD/pid.aborted"; exec sleep 600';
  const running = world.failure(world.rpc('exec', { sandboxId: 'box', command }, true));
  await world.exec('box', 'until [ -s pid.aborted ]; do sleep 0.05; done');
  await world.abort();
  assert.equal((await running).code, 'ABORTED');
  await until(
    async () =>
      (await world.exec('box', 'kill -0 "$(cat pid.aborted)" 2>/dev/null || echo gone')) === 'gone\n',
  );
});
