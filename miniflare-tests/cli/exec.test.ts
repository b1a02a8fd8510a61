// `snapshotter exec`: the exit code, the input and the outputs of a command.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { start, type Cli } from './cli.ts';
import { until, type World } from '../world.ts';

const NAME = 'notebook';

let world: World;
let cli: Cli;
let sandbox: string;

before(async () => {
  ({ world, cli } = await start());
  sandbox = await cli.id('workspace', 'create', NAME);
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

/** Runs a command in the workspace. */
function exec(words: string[], input?: string | null) {
  return cli.run(['exec', `@${NAME}`, '--', ...words], input === undefined ? {} : { input });
}

test('the outputs are separate, and the exit code is that of the command', async () => {
  const ran = await exec(['sh', '-c', 'echo out; echo err >&2; exit 7']);
  assert.deepEqual(ran, { status: 7, stdout: 'out\n', stderr: 'err\n' });
});

test('a sandbox is selected by its id', async () => {
  const ran = await cli.run(['exec', sandbox, '--', 'echo', 'a b', "c'd"]);
  assert.deepEqual(ran, { status: 0, stdout: "a b c'd\n", stderr: '' });
});

test('the command needs no `--`, and one argument with a space is a command line', async () => {
  const ran = (...words: string[]) => cli.run(['exec', `@${NAME}`, ...words]);
  assert.deepEqual(await ran('sh', '-c', 'echo "$1"', '--', '--json'), {
    status: 0,
    stdout: '--json\n',
    stderr: '',
  });
  assert.deepEqual(await ran('--env', 'A=b', 'echo $A; exit 3'), { status: 3, stdout: 'b\n', stderr: '' });
  const unknown = await ran('--chdir', 'src', 'ls');
  assert.equal(unknown.status, 2, unknown.stderr);
});

test('a refused time limit is what the user typed', async () => {
  for (const limit of [['--timeout', '99h'], ['--timeout=99h']]) {
    const { stderr } = await cli.run(['exec', ...limit, `@${NAME}`, 'true']);
    assert.match(stderr, /^error\[INVALID_ARGUMENT\]: `--timeout` must be 1s–1h, got 99h\./);
  }
});

test('the input is that of the program', async () => {
  const input = 'first\nzweite äöü\n'.repeat(20_000);
  const ran = await exec(['sha256sum'], input);
  const sum = createHash('sha256').update(input).digest('hex');
  assert.deepEqual([ran.status, ran.stdout], [0, `${sum}  -\n`], ran.stderr);
});

test('a missing program has the exit code of the shell', async () => {
  const { status, stderr } = await exec(['no-such-program']);
  assert.equal(status, 127);
  assert.equal(stderr, 'no-such-program: command not found\n');
});

test('a line for the shell in several arguments is shown as one argument', async () => {
  const { status, stderr } = await exec(['FOO=1', 'env']);
  assert.equal(status, 127);
  assert.match(stderr, /a command line for the shell is one argument: 'FOO=1 env'\n$/);
});

test('a command beyond its time limit has the exit code 124', async () => {
  const { status } = await cli.run(['exec', `@${NAME}`, '--timeout', '1s', '--', 'sleep', '30']);
  assert.equal(status, 124);
});

test('a failure that is not that of the command has the exit code 255', async () => {
  const { status, stdout, stderr } = await cli.run(['exec', '@unknown', '--', 'true']);
  assert.deepEqual([status, stdout], [255, '']);
  assert.match(stderr, /^error\[WORKSPACE_NOT_FOUND\]: /);
});

test('invalid arguments have the exit code of other commands', async () => {
  for (const args of [
    ['ls', `@${NAME}`],
    [`@${NAME}`, '-e', 'NO_SUCH_VARIABLE', 'true'],
    [`@${NAME}:src`, 'ls'],
  ]) {
    const { status, stderr } = await cli.run(['exec', ...args]);
    assert.equal(status, 2, stderr);
  }
});

test('a stopped workspace is started', async () => {
  await cli.print('workspace', 'stop', NAME);
  const { status, stdout } = await exec(['echo', 'started']);
  assert.deepEqual([status, stdout], [0, 'started\n']);
});

for (const [how, options] of [
  ['', []],
  [' in JSON mode', ['--json']],
] as const)
  test(`a command is killed with the program${how}`, async () => {
    const begun = `/tmp/begun${options.length}`;
    const { child, ended } = cli.begin([
      'exec',
      `@${NAME}`,
      ...options,
      `echo x > ${begun}; sleep 300 & wait`,
    ]);
    await until(async () => (await exec(['test', '-e', begun])).status === 0);
    child.kill('SIGINT');
    const { status, stderr } = await ended;
    assert.equal(status, 130);
    assert.match(stderr, /The command in the sandbox is being killed/);
    await until(
      async () => (await exec(['sh', '-c', 'ps -e -o args= | grep -c "[s]leep 300"'])).stdout === '0\n',
    );
  });

test('an input that does not end is noted, and the command runs once it ends', async () => {
  const { child, ended } = cli.begin(['exec', `@${NAME}`, '--', 'cat'], { input: null });
  await once(child.stderr!, 'data');
  child.stdin!.end('late');
  const { status, stdout, stderr } = await ended;
  assert.deepEqual([status, stdout], [0, 'late'], stderr);
});

test('the answer in JSON mode has the outputs of a command that reads its input', async () => {
  const { status, stdout } = await cli.run(['exec', `@${NAME}`, '--json', 'cat; echo err >&2; exit 3'], {
    input: 'given',
  });
  const result = JSON.parse(stdout);
  assert.deepEqual([status, result.exitCode, result.stdout, result.stderr], [3, 3, 'given', 'err\n']);
});

test('a background command is started, followed and ended', async () => {
  const line = 'echo first; until [ -e go ]; do sleep 0.05; done; echo second; exec sleep 300';
  const id = await cli.id('exec', `@${NAME}`, '--detach', '--shell', line);
  const follow = cli.begin(['commands', 'output', `@${NAME}`, id, '--follow']);
  let printed = '';
  follow.child.stdout?.on('data', (chunk) => (printed += chunk));
  const shows = async (text: string) => {
    while (!printed.includes(text)) await once(follow.child.stdout!, 'data');
  };
  await shows('first');
  await exec(['touch', 'go']);
  await shows('second');
  assert.match(await cli.print('commands', 'list', `@${NAME}`), new RegExp(`${id} +running`));
  assert.match(await cli.print('commands', 'end', `@${NAME}`, id), /killed \(143\)/);
  const killed = 'snapshotter: the command was killed, with the exit status 143\n';
  const { status, stderr } = await follow.ended;
  assert.deepEqual([status, stderr], [143, killed]);
  assert.equal(printed, 'first\nsecond\n');
  assert.equal(await cli.print('commands', 'output', `@${NAME}`, id), 'first\nsecond\n');
  assert.deepEqual(await cli.code('commands', 'end', `@${NAME}`, 'unknown'), ['COMMAND_NOT_FOUND', 3]);
  await exec(['rm', 'go']);
});

test('a followed command that fails gives its exit status', async () => {
  const begin = (line: string) => cli.id('exec', `@${NAME}`, '--detach', '--shell', line);
  const follow = (id: string, ...options: string[]) =>
    cli.run(['commands', 'output', `@${NAME}`, id, ...options]);
  const failed = await begin('echo made; exit 7');
  assert.deepEqual(await follow(failed, '--follow'), {
    status: 7,
    stdout: 'made\n',
    stderr: 'snapshotter: the command ended, with the exit status 7\n',
  });
  assert.deepEqual(await follow(failed), { status: 0, stdout: 'made\n', stderr: '' });
  const done = await begin('echo made');
  assert.deepEqual(await follow(done, '--follow'), { status: 0, stdout: 'made\n', stderr: '' });
  assert.equal((await follow('unknown', '--follow')).status, 255);
  assert.equal((await follow('A B', '--follow')).status, 2);
});

test('an empty command is refused with what to pass', async () => {
  for (const command of [
    [`@${NAME}`, ''],
    [`@${NAME}`, '  '],
    [`@${NAME}`, '--shell', ''],
  ]) {
    const { status, stdout } = await cli.run(['exec', '--json', ...command]);
    assert.deepEqual([JSON.parse(stdout).error.message, status], ['The command is empty.', 2]);
  }
});

test('files are listed, printed and copied in both directions', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'snapshotter-cp-'));
  const local = (name: string) => join(folder, name);
  const content = 'zeile ü\n'.repeat(200_000);
  writeFileSync(local('a.txt'), content);
  chmodSync(local('a.txt'), 0o750);
  const at = (path: string) => `@${NAME}:${path}`;
  const run = async (...words: string[]) => {
    const { status, stdout, stderr } = await cli.run(words);
    return [status, stdout || stderr];
  };
  const copied = await cli.json('cp', local('a.txt'), at('deep/b.txt'));
  assert.deepEqual([copied.sandboxId, copied.mode], [sandbox, '0750']);
  assert.deepEqual(await run('ls', at('deep'), '--quiet'), [0, 'b.txt\n']);
  assert.deepEqual(await run('cat', at('deep/b.txt')), [0, content]);
  assert.deepEqual((await run('cp', at('deep/b.txt'), local('c.txt')))[0], 0);
  assert.equal(readFileSync(local('c.txt'), 'utf8'), content);
  const [code] = await cli.code('cp', local('a.txt'), at('deep/b.txt'));
  assert.equal(code, 'FILE_EXISTS');
  assert.equal((await run('cp', local('a.txt'), at('deep')))[0], 0);
  assert.deepEqual(await run('ls', `${sandbox}:deep`, '--quiet'), [0, 'a.txt\nb.txt\n']);
  assert.equal((await cli.json('cp', local('a.txt'), at(''))).path, 'a.txt');
  assert.equal((await cli.json('cp', local('a.txt'), at('new/'))).path, 'new/a.txt');
  assert.deepEqual(await cli.code('cp', '-', at('new/')), ['INVALID_USAGE', 2]);
  assert.deepEqual(await run('ls', `@${NAME}`, '--quiet'), [0, 'a.txt\ndeep\nnew\n']);
  rmSync(folder, { recursive: true });
});

test('the files of a snapshot move to another workspace through a pipe', async () => {
  await exec([
    'sh',
    '-c',
    `mkdir -p moved/deep; head -c 3000000 /dev/urandom > moved/deep/random; ln -s deep/random moved/link
    echo TOKEN=x > moved/.env; touch "moved/odd $(printf '\\342\\200\\256')name"; chown 1234:99 moved/deep; chmod 750 moved/deep`,
  ]);
  await cli.print('snapshot', 'create', `@${NAME}`, '--label', 'moving');
  await cli.print('workspace', 'create', 'copy');
  const piped = await cli.shell(
    `snapshotter export @${NAME} moving --secrets keep --output - | snapshotter exec @copy tar x`,
  );
  assert.deepEqual(piped, { status: 0, stdout: '', stderr: '' });
  const list = `find moved -printf '%p %y %m %U %G %s %l\\n' | sort; sha256sum moved/deep/random`;
  const copied = await cli.print('exec', '@copy', '--', 'sh', '-c', list);
  assert.equal(copied, (await exec(['sh', '-c', list])).stdout);
  assert.match(copied, /moved\/link l/);
  assert.match(copied, /moved\/\.env f/);
});
