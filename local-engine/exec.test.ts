/** Containers without a server, which a Durable Object controls through `ctx.container`. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startContainers, type ContainersFixture, type TestContainer } from './testing-containers.ts';

let fixture: ContainersFixture;
let box: TestContainer;
let fault: ((command: string) => void | Promise<void>) | undefined;

before(async () => {
  fixture = await startContainers({
    onCall: ({ method, command = '' }) => (method === 'container.exec' ? fault?.(command) : undefined),
  });
  box = fixture.container('box');
  await box.start({ labels: { run: 'one' }, env: { SECRET: 'of the start' } });
});
after(() => fixture[Symbol.asyncDispose]());

/** A user namespace of another user has no other user, and can't change files of the host's root. */
const withoutRoot = process.getuid?.() !== 0 && 'needs root';

const sh = (command: string, container = box) => container.run(['sh', '-c', command]);
const print = async (command: string, container = box) => (await sh(command, container)).stdout;

test('a command has its exit code, and both streams of output', async () => {
  const ran = await sh('echo out; echo error >/dev/stderr; exit 5');
  assert.deepEqual(ran, { exitCode: 5, stdout: 'out\n', stderr: 'error\n' });
});

test('a command starts in the root directory, with PATH and its own variables only', async () => {
  const { stdout } = await box.run(['/usr/bin/env'], { env: { OWN: 'value' } });
  assert.match(stdout, /^PATH=\/usr\/local\/sbin:.*\nOWN=value\n(PWD=\/\n)?$/);
  assert.equal(await print('pwd'), '/\n');
  assert.equal((await box.run(['pwd'], { cwd: '/var/tmp' })).stdout, '/var/tmp\n');
});

test('a command runs as another user', { skip: withoutRoot }, async () => {
  assert.equal((await box.run(['id', '-u'], { user: '1000' })).stdout, '1000\n');
});

test('a missing program or directory makes exec fail', async () => {
  await assert.rejects(box.run(['no-such-program']), /no-such-program.*: executable file not found/);
  await assert.rejects(box.run(['/workspace/none']), /executable file not found/);
  await assert.rejects(box.run(['pwd'], { cwd: '/none' }), /no such directory/);
});

test('a command that the engine refuses fails with its message', async () => {
  fault = (command) => {
    if (command === 'echo refused') throw new Error('a planned fault');
  };
  assert.deepEqual(await box.run(['echo', 'refused']), {
    exitCode: 1,
    stdout: '',
    stderr: 'a planned fault\n',
  });
  fault = undefined;
});

test('a command prints 100 MB', async () => {
  assert.deepEqual(await box.count(['head', '-c', '100M', '/dev/zero']), [100 * 2 ** 20, 0]);
});

test('a command reads a stream to its end', async () => {
  assert.equal((await box.feed(['wc', '-c'], 20_000_000)).stdout, '20000000\n');
  assert.equal((await box.feed(['true'], 5_000_000)).exitCode, 0);
});

test('an AbortSignal kills a command, and kill sends a signal', async () => {
  assert.equal(await box.interrupt(['sleep', '100'], 'abort'), 137);
  assert.equal(await box.interrupt(['sleep', '100'], 15), 143);
});

test('output is complete only when no process has it open', async () => {
  const startedAt = performance.now();
  assert.equal(await print('sleep 1.5 & echo started'), 'started\n');
  assert.ok(performance.now() - startedAt > 1400);
  assert.equal(await print('sleep 1000 >/dev/null 2>&1 & echo started'), 'started\n');
});

test('a terminal has a size, which changes', async () => {
  const sizes = 'stty size; until [ "$(stty size)" = "20 50" ]; do sleep 0.05; done; tty; echo end';
  assert.match(await box.terminal(['sh', '-c', sizes]), /\/dev\/pts\/\d+\r\nend\r\n$/);
});

test('inspect returns the labels and the image, and null without a container', async () => {
  assert.deepEqual(await box.inspect(), { labels: { run: 'one' }, image: 'debian' });
  assert.equal(await fixture.container('never').inspect(), null);
});

test('a running container cannot be started again', async () => {
  await assert.rejects(box.start(), /already running/);
});

test('the entrypoint has the variables of the start, and its exit code ends the wait', async () => {
  const container = fixture.container('exits');
  await container.start({
    env: { CODE: '3' },
    entrypoint: ['sh', '-c', 'echo $CODE >/tmp/code; sleep 1; exit $CODE'],
  });
  assert.equal(await print('until cat /tmp/code 2>/dev/null; do :; done', container), '3\n');
  assert.equal((await container.monitor())?.exitCode, 3);
  assert.equal(await container.running(), false);
  await assert.rejects(container.run(['true']), /running container|not running/);
});

test('destroy ends the wait, the processes and the files', async () => {
  const container = fixture.container('destroyed');
  await container.start();
  await sh('echo x >/workspace/file; sleep 1000 >/dev/null 2>&1 &', container);
  assert.match((await container.destroy())?.message ?? '', /137/); // In production the wait resolves.
  await container.start();
  assert.equal(await print('ls /workspace', container), '');
});

test('pkill ends no process of the container itself', async () => {
  const container = fixture.container('spared');
  await container.start();
  await sh('until pgrep -x entrypoint; do :; done', container);
  await sh('! pkill tail && ! pkill bash', container);
  assert.equal(await print('pgrep -cx "init|entrypoint"', container), '2\n');
});

test('a signal reaches the entrypoint', async () => {
  const container = fixture.container('signalled');
  await container.start({
    entrypoint: ['sh', '-c', 'trap "exit 7" TERM; echo >/tmp/ready; while :; do sleep 0.1; done'],
  });
  await sh('until [ -e /tmp/ready ]; do :; done', container);
  assert.equal((await container.signal(15))?.exitCode, 7);
});

test('a kill of the container ends a command in it', async () => {
  const container = fixture.container('killed');
  await container.start();
  const sleep = container.run(['sleep', '1000']);
  await sh('until pgrep sleep; do :; done', container);
  await fixture.engine.kill(await container.objectId());
  assert.notEqual(
    await sleep.then(
      ({ exitCode }) => exitCode,
      () => 'failed',
    ),
    0,
  );
});

test('a command whose container ends before it starts was killed', async () => {
  const container = fixture.container('ended');
  await container.start();
  const id = await container.objectId();
  fault = () => fixture.engine.kill(id);
  assert.equal((await container.run(['true'])).exitCode, 137);
  fault = undefined;
});

test('another container starts with the files of a snapshot, except those of /run', async () => {
  const make = `mkdir -p /opt/tool && echo o >/opt/tool/o; echo w >/workspace/w; ln /workspace/w /workspace/hard
    chmod 4751 /workspace/w; touch -d @1700000123 /workspace/w; echo r >/run/r; echo h >/home/h`;
  await sh(make);
  const { id, name, size } = await box.snapshot('first');
  assert.equal(name, 'first');
  assert.ok(size > 0);
  const other = fixture.container('from-snapshot');
  await other.start({ containerSnapshot: { id }, labels: { run: 'two' } });
  const list =
    'cat /opt/tool/o /workspace/hard /home/h; stat -c "%a %h %Y" /workspace/w; ls /run/r 2>/dev/null; pgrep -c sleep';
  assert.equal(await print(list, other), 'o\nw\nh\n4751 2 1700000123\n0\n');
  assert.deepEqual((await other.inspect())?.labels, { run: 'two' });
});

test('a snapshot has the changes of the files of the image', { skip: withoutRoot }, async () => {
  const change = `echo 'echo installed' >/usr/local/bin/tool && chmod +x /usr/local/bin/tool
    echo changed >>/etc/passwd; rm /usr/bin/stty; rm -r /usr/share/doc; mkdir /usr/share/doc`;
  assert.equal((await sh(change)).stderr, '');
  const { id } = await box.snapshot();
  const list = 'tool; tail -n 1 /etc/passwd; command -v stty; ls /usr/share/doc';
  for (const name of ['changed', 'changed-again']) {
    const other = fixture.container(name);
    await other.start({ containerSnapshot: { id } });
    assert.equal(await print(list, other), 'installed\nchanged\n');
  }
  const plain = fixture.container('unchanged');
  await plain.start();
  assert.equal(await print('command -v tool; command -v stty', plain), '/usr/bin/stty\n');
});

test('a start from a snapshot that is gone fails', async () => {
  const { id } = await box.snapshot();
  const snapshots = fixture.engine.snapshots();
  fixture.engine.deleteSnapshot(snapshots.at(-1)!);
  assert.equal(fixture.engine.snapshots().length, snapshots.length - 1);
  for (const [index, missing] of [id, 'never'].entries()) {
    const container = fixture.container(`missing-${index}`);
    assert.equal(await container.start({ containerSnapshot: { id: missing } }), true);
    assert.equal((await container.monitor())?.message, 'Container failed to start');
    await assert.rejects(container.run(['true']), /running container|not running/);
  }
});
