/** Commands, sessions, files and processes of one sandbox, through workerd and the published class. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startFixture, type TestSandbox, type TestFixture } from './testing.ts';

let fixture: TestFixture;
let box: TestSandbox;
before(async () => {
  fixture = await startFixture();
  box = fixture.sandbox('box');
});
after(() => fixture[Symbol.asyncDispose]());

/** Runs a command in the default session of a sandbox. The SDK removes the last newline of the output. */
const stdout = async (command: string, options?: object, sandbox = box): Promise<string> =>
  (await sandbox.call('exec', command, options)).stdout;

test('a command returns stdout, stderr and an exit code', async () => {
  const { stdout, stderr, exitCode, success } = await box.call(
    'exec',
    'printf "ü\\n\\n"; echo no >&2; (exit 7)',
  );
  assert.deepEqual(
    { stdout, stderr, exitCode, success },
    { stdout: 'ü\n', stderr: 'no', exitCode: 7, success: false },
  );
});

test('a session removes the last newline and NUL characters, and a command without a session does not', async () => {
  const sessionless = fixture.sandbox('box', { enableDefaultSession: false });
  const command = String.raw`printf 'a\0b\n'; printf 'no\n' >&2`;
  const session = await box.call('exec', command);
  assert.deepEqual([session.stdout, session.stderr], ['ab', 'no']);
  const plain = await sessionless.call('exec', command);
  assert.deepEqual([plain.stdout, plain.stderr], ['a\0b\n', 'no\n']);
});

test('a command can open /dev/stdout and /dev/stderr', async () => {
  const { stdout, stderr } = await box.call(
    'exec',
    'echo out >/dev/stdout; echo err | tee /dev/stderr >/dev/null',
  );
  assert.deepEqual([stdout, stderr], ['out', 'err']);
});

test('a command returns megabytes of output completely', async () => {
  assert.equal((await stdout('seq 1 1000000')).length, 6888895);
});

test('a session keeps its directory, variables and functions', async () => {
  await box.call('exec', 'mkdir -p /tmp/here && cd /tmp/here; kept="a b"; greet() { echo "hello $1"; }');
  assert.equal(await stdout('pwd; echo "$kept"; greet you'), '/tmp/here\na b\nhello you');
  await box.call('writeFile', 'relative', 'x');
  assert.equal(await stdout('cat /tmp/here/relative; cd /workspace'), 'x');
});

test('the options cwd and env apply to one call only', async () => {
  await box.call('exec', 'export COLOUR=red');
  const options = { cwd: '/tmp', env: { COLOUR: "it's blue", NEW: '1' } };
  assert.equal(await stdout('pwd; echo "$COLOUR$NEW"; (exit 3)', options), "/tmp\nit's blue1");
  assert.equal(await stdout('pwd; echo "$COLOUR${NEW-unset}"'), '/workspace\nredunset');
  assert.equal((await box.call('exec', '(exit 3)', options)).exitCode, 3);
  assert.equal((await box.call('exec', 'echo never', { cwd: '/none' })).exitCode, 1);
});

test('commands have the version of the image in SANDBOX_VERSION', async () => {
  const path = join(import.meta.dirname, '..', 'node_modules', '@cloudflare', 'sandbox', 'package.json');
  const { version } = JSON.parse(readFileSync(path, 'utf8'));
  const sessionless = fixture.sandbox('box', { enableDefaultSession: false });
  assert.equal(await stdout('echo "$SANDBOX_VERSION"'), version);
  assert.equal(await stdout('echo "$SANDBOX_VERSION"', {}, sessionless), `${version}\n`);
});

test('setEnvVars sets variables for every later command', async () => {
  const [fresh, sessionless] = [undefined, { enableDefaultSession: false }].map((o) =>
    fixture.sandbox('fresh', o),
  );
  await fresh!.call('setEnvVars', { KEPT: "it's\n$kept", CHANGED: '1' });
  assert.ok(!fixture.engine.running().includes(await fresh!.id()), 'setEnvVars does not start a container');
  const read = () =>
    Promise.all(
      [fresh, sessionless].map((one) => stdout('printf %s "$KEPT $CHANGED ${GONE-unset}"', {}, one)),
    );
  assert.deepEqual(await read(), Array(2).fill("it's\n$kept 1 unset"));
  await fresh!.call('setEnvVars', { CHANGED: '2', GONE: 'here' });
  assert.deepEqual(await read(), Array(2).fill("it's\n$kept 2 here"));
  assert.equal(await stdout('echo "$CHANGED"', { env: { CHANGED: '3' } }, sessionless), '3\n');
  await fresh!.call('setEnvVars', { GONE: null });
  assert.equal(await stdout('echo "$CHANGED ${GONE-unset}"', {}, fresh), '2 unset');
  const { id } = await fresh!.call('startProcess', 'echo "$KEPT $CHANGED ${GONE-unset}"');
  await fresh!.call('streamProcessLogs', id);
  assert.equal((await fresh!.call('getProcessLogs', id)).stdout, "it's\n$kept 2 unset\n");
});

test('a session survives redirections, and a syntax error ends it', async () => {
  await box.call('exec', 'exec >/dev/null 2>&1');
  assert.equal(await stdout('cat; sleep 1000 & echo "\'still\' here"'), "'still' here");
  await assert.rejects(box.call('exec', 'if ('), { name: 'SessionTerminatedError' });
  assert.equal(await stdout('echo again'), 'again');
});

test('a session has a folder in /tmp until its end', async () => {
  const one = fixture.sandbox('folders');
  await one.call('createSession', { id: 'own' });
  assert.match(
    await stdout('ls -d /tmp/session-*', {}, one),
    /^\/tmp\/session-own-\d+\n\/tmp\/session-sandbox-folders-\d+$/,
  );
  await one.call('deleteSession', 'own');
  assert.match(await stdout('ls -d /tmp/session-*', {}, one), /^\/tmp\/session-sandbox-folders-\d+$/);
});

test('the commands of one session run one after the other', async () => {
  await box.call('exec', 'n=0; mkfifo /tmp/gate');
  const other = fixture.sandbox('box', { enableDefaultSession: false });
  const waits = stdout('touch /tmp/begun; read -r n </tmp/gate; echo $n');
  await other.call('exec', 'until [ -e /tmp/begun ]; do sleep 0.01; done');
  const next = stdout('echo after $n');
  await other.call('exec', 'echo 5 >/tmp/gate');
  assert.deepEqual(await Promise.all([waits, next]), ['5', 'after 5']);
});

test('exit ends the session, and the next command has a new session', async () => {
  await box.call('exec', 'lost=1');
  await assert.rejects(box.call('exec', 'exit 3'), {
    name: 'SessionTerminatedError',
    code: 'SESSION_TERMINATED',
  });
  assert.equal(await stdout('echo ${lost-new}'), 'new');
});

test('a timed-out command of a session fails, keeps running, and delays the next command', async () => {
  const slow = fixture.sandbox('slow');
  await slow.call('exec', 'mkfifo /tmp/gate');
  await assert.rejects(slow.call('exec', 'read -r n </tmp/gate', { timeout: 20 }), /timeout after 20ms/);
  const next = stdout('echo "$n"', {}, slow);
  const sessionless = fixture.sandbox('slow', { enableDefaultSession: false });
  await sessionless.call('exec', 'echo late >/tmp/gate');
  assert.equal(await next, 'late');
});

test('commands without a session share no state', async () => {
  const sessionless = fixture.sandbox('box', { enableDefaultSession: false });
  await sessionless.call('exec', 'cd /tmp; x=1');
  assert.equal(await stdout('pwd; echo ${x-unset}', {}, sessionless), '/workspace\nunset\n');
  assert.equal((await sessionless.call('exec', 'exit 4')).exitCode, 4);
  const {
    exitCode,
    stdout: printed,
    stderr,
  } = await sessionless.call('exec', 'echo part; sleep 1000', { timeout: 2000 });
  assert.deepEqual([exitCode, printed, stderr], [124, 'part\n', 'Command timed out after 2000ms']);
});

test('execStream returns output as events', async () => {
  const text: string = await box.call('execStream', 'echo one; echo two >&2; (exit 2)');
  const events = text
    .split('\n\n')
    .filter(Boolean)
    .map((event) => JSON.parse(event.slice('data: '.length)));
  assert.deepEqual(
    events.map(({ type, data, exitCode }) => data ?? exitCode ?? type).toSorted(),
    ['start', 'one\n', 'two\n', 2].toSorted(),
  );
});

test('createSession refuses the id of an existing session', async () => {
  await box.call('exec', 'true');
  const placement = await box.call('getContainerPlacementId');
  assert.match(placement, /^local-/);
  await assert.rejects(box.call('createSession', { id: 'sandbox-box' }), {
    name: 'SessionAlreadyExistsError',
  });
});

test('files can be written, read, listed, moved and deleted', async () => {
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256));
  const name = "/workspace/it's\n-odd ü";
  await box.call('writeFile', name, bytes.toString('base64'), { encoding: 'base64' });
  const binary = await box.call('readFile', name);
  assert.deepEqual(
    [binary.encoding, binary.size, binary.content],
    ['base64', 70_000, bytes.toString('base64')],
  );
  await box.call('writeFile', '/workspace/text', 'zwei\nΩ');
  const text = await box.call('readFile', '/workspace/text');
  assert.deepEqual([text.encoding, text.content], ['utf-8', 'zwei\nΩ']);
  assert.match(
    await box.call('readFileStream', '/workspace/text'),
    /"isBinary":false.*"zwei\\nΩ".*"complete"/s,
  );

  await box.call('mkdir', '/workspace/d/e', { recursive: true });
  await box.call('moveFile', name, '/workspace/d/e/moved');
  await box.call('renameFile', '/workspace/text', '/workspace/d/.hidden');
  assert.equal((await box.call('exists', name)).exists, false);
  const list = async (options: object) =>
    (await box.call('listFiles', '/workspace/d', options)).files.map(
      (file: { relativePath: string }) => file.relativePath,
    );
  assert.deepEqual(await list({ recursive: true }), ['e', 'e/moved']);
  assert.deepEqual((await list({ includeHidden: true })).toSorted(), ['.hidden', 'e']);
  await box.call('deleteFile', '/workspace/d/e/moved');
  await assert.rejects(box.call('readFile', '/workspace/d/e/moved'), { code: 'FILE_NOT_FOUND' });
  await assert.rejects(box.call('deleteFile', '/workspace/d'), { code: 'IS_DIRECTORY' });
});

test('background processes have logs and a status, and can be killed', async () => {
  const { id } = await box.call('startProcess', 'echo log; read -r line </tmp/gate; echo "$line"');
  await box.call('exec', 'echo go >/tmp/gate');
  const events: string = await box.call('streamProcessLogs', id);
  assert.match(events, /"log\\n.*go\\n".*"exit"/s);
  assert.equal((await box.call('getProcess', id)).status, 'completed');
  assert.equal((await box.call('getProcessLogs', id)).stdout, 'log\ngo\n');
  await box.call('startProcess', 'sleep 1000', { processId: 'sleeper' });
  assert.equal(await box.call('killAllProcesses'), 1);
  assert.equal((await box.call('getProcess', 'sleeper')).status, 'killed');
  assert.equal(await box.call('getProcess', 'none'), null);
});

test('gitCheckout clones a repository', async () => {
  await box.call(
    'exec',
    'git init -qb trunk /tmp/up && cd /tmp/up && git config user.email a@b && git config user.name a',
  );
  await box.call('exec', 'echo 1 >f && git add f && git commit -qm one; cd /workspace');
  const { branch, targetDir } = await box.call('gitCheckout', '/tmp/up');
  assert.deepEqual([branch, await stdout(`cat ${targetDir}/f`)], ['trunk', '1']);
  await assert.rejects(box.call('gitCheckout', '/tmp/none'), { code: 'GIT_CLONE_FAILED' });
});

test('a method that the engine does not implement fails', async () => {
  await assert.rejects(box.call('createCodeContext', {}), /not part of the local engine/);
});
