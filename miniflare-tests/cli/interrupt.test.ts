// Who a command works with: somebody who interrupts it, a terminal, a pipe.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, afterEach, before, describe, test } from 'node:test';

import { serving, start, web, type Cli, type Running } from './cli.ts';
import { isUnpacking, until, type World } from '../world.ts';

let world: World;
let cli: Cli;
let hold: { reached: PromiseWithResolvers<void>; released: PromiseWithResolvers<void> } | undefined;

before(async () => {
  ({ world, cli } = await start({
    onCall: async (call) => {
      if (!hold || !isUnpacking(call)) return;
      hold.reached.resolve();
      await hold.released.promise;
    },
  }));
  await world.exec('origin', 'echo x > file');
  await cli.print('snapshot', 'create', 'origin', '--tag', 'first');
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});
afterEach(() => {
  hold?.released.resolve();
  hold = undefined;
});

/** Holds what is being unpacked until it is released. */
function holding() {
  hold = { reached: Promise.withResolvers(), released: Promise.withResolvers() };
  return hold;
}

describe('an interrupt', () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    test(`by ${signal} ends the command at once, and the same key gets one sandbox`, async () => {
      const running = world.running().length;
      const { reached, released } = holding();
      const restore = cli.begin(['restore', 'origin', 'first']);
      await reached.promise;
      restore.child.kill(signal);
      const { status, stdout, stderr } = await restore.ended; // while the server is still being held
      assert.deepEqual([status, stdout], [130, '']);
      assert.match(stderr, /never half of it/);
      const [, key] = /`snapshotter restore` with `--idempotency-key (\w+)`/.exec(stderr) ?? [];
      assert.ok(key, stderr);

      released.resolve();
      const again = ['restore', 'origin', 'first', '--idempotency-key', key];
      const sandbox = await cli.id(...again);
      assert.equal(await cli.id(...again), sandbox);
      await until(() => world.running().length === running + 1);
      assert.equal(await world.exec(sandbox, 'cat file'), 'x\n');
    });
  }

  test('in JSON mode is told in the form of failures too', async () => {
    const { reached } = holding();
    const restore = cli.begin(['branch', 'origin', 'first', '--json', '--idempotency-key', 'mine']);
    await reached.promise;
    restore.child.kill('SIGINT');
    const { status, stdout, stderr } = await restore.ended;
    const { command, error, exitCode } = JSON.parse(stdout);
    assert.deepEqual([status, exitCode, command], [130, 130, 'branch']);
    assert.deepEqual([error.code, error.idempotencyKey], ['INTERRUPTED', 'mine']);
    assert.deepEqual([error.kind, error.retryable], ['transient', true]);
    assert.match(stderr, /error\[INTERRUPTED\]/);
  });

  /** Waits until a command would say what an interrupt means. */
  const watching = ({ child }: Running) =>
    until(async () => {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      return (BigInt(`0x${/^SigCgt:\s*(\w+)$/m.exec(status)?.[1]}`) & 2n) !== 0n;
    });

  /** The document that a command prints because of an interrupt. */
  async function interrupted(running: Running) {
    running.child.kill('SIGINT');
    const { status, stdout } = await running.ended;
    assert.equal(status, 130);
    const { command, error } = JSON.parse(stdout);
    assert.deepEqual([error.code, error.retryable, error.idempotencyKey], ['INTERRUPTED', true, undefined]);
    return command;
  }

  test('while the input does not end is told in JSON mode', async () => {
    const restore = cli.begin(['restore', '--ref', '-', '--json'], { input: null });
    await watching(restore);
    assert.equal(await interrupted(restore), 'restore');
  });

  test('of the doctor is told in JSON mode', async () => {
    const reached = Promise.withResolvers<void>();
    await serving(
      web(() => reached.resolve()),
      async (address) => {
        const doctor = cli.begin(['doctor', '--json', '--address', address]);
        await reached.promise;
        assert.equal(await interrupted(doctor), 'doctor');
      },
    );
  });

  test('at a question is told in JSON mode, once', async () => {
    const rotate = cli.beginOnTerminal(['key', 'rotate', 'origin', '--json']);
    rotate.child.stdout?.on('data', (shown: Buffer) => {
      if (shown.includes('[y/N]')) rotate.child.stdin?.write('\x03');
    });
    const { status, stdout } = await rotate.ended;
    const documents = stdout.split(/\r?\n/).filter((line) => line.startsWith('{'));
    assert.deepEqual([status, documents.length], [130, 1]);
    assert.equal(JSON.parse(documents[0] ?? '').error.code, 'INTERRUPTED');
  });

  test('is ignored where it was ignored before, as under nohup', async () => {
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const held = web((_, response) => {
      reached.resolve();
      void released.promise.then(() => response.end('{"snapshots":[]}'));
    });
    await serving(held, async (address) => {
      const { child, ended } = cli.beginIgnoring('INT', ['snapshot', 'list', 'origin', '--address', address]);
      await reached.promise;
      child.kill('SIGINT');
      released.resolve();
      assert.equal((await ended).status, 0);
    });
  });
});

describe('on a terminal', () => {
  /** The answer that is typed when a command asks. */
  async function answering(typed: string, ...args: string[]) {
    const { child, ended } = cli.beginOnTerminal(args);
    child.stdout?.on('data', (shown: Buffer) => {
      if (shown.includes('[y/N]')) child.stdin?.write(typed);
    });
    return ended;
  }

  test('what takes longer than a second shows that it is alive', async () => {
    const { reached, released } = holding();
    const { child, ended } = cli.beginOnTerminal(['restore', 'origin', 'first']);
    const alive = new Promise<void>((resolve) => {
      child.stdout?.on('data', (shown: Buffer) => shown.includes('restore…') && resolve());
    });
    await reached.promise;
    await alive;
    released.resolve();
    assert.equal((await ended).status, 0);
  });

  test('what can not be undone is asked for', async () => {
    const id = await cli.id('snapshot', 'create', 'origin', '--fresh');
    await cli.print('snapshot', 'pin', 'origin', id);
    const remove = ['snapshot', 'delete', 'origin', id, '--force'];

    const refused = await answering('n\r', ...remove);
    assert.match(refused.stdout, /goes for good\. It is pinned\. Go on\? \[y\/N\]/);
    assert.match(refused.stdout, /error\[CONSENT_REFUSED\]/);
    assert.equal(refused.status, 1);
    await cli.print('snapshot', 'show', 'origin', id);

    const agreed = await answering('y\r', ...remove);
    assert.deepEqual([agreed.status, agreed.stdout.includes(`Deleted ${id}`)], [0, true]);
  });

  test('the end of a workspace is asked for by its whole name, with what goes with it', async () => {
    const sandbox = await cli.id('workspace', 'create', 'tenant-1/notebook');
    await world.exec(sandbox, 'echo x > file');
    await cli.print('snapshot', 'create', '@tenant-1/notebook');
    const { stdout } = await answering('n\r', 'workspace', 'delete', 'tenant-1/notebook');
    assert.match(
      stdout,
      new RegExp(
        `The workspace tenant-1/notebook goes for good, with its sandbox ${sandbox} and its 1 snapshot\\.`,
      ),
    );
  });

  test('there are colours, unless somebody wants none', async () => {
    const lineage = async (env: NodeJS.ProcessEnv) =>
      (await cli.beginOnTerminal(['lineage', 'origin'], env).ended).stdout;
    assert.match(await lineage({}), /\x1b\[32mrunning/);
    assert.doesNotMatch(await lineage({ NO_COLOR: '1' }), /\x1b\[32m/);
  });
});

describe('without a terminal', () => {
  test('there are no colours, unless somebody wants them', async () => {
    assert.doesNotMatch(await cli.print('lineage', 'origin'), /\x1b/);
    const { stdout } = await cli.run(['lineage', 'origin'], { env: { CLICOLOR_FORCE: '1' } });
    assert.match(stdout, /\x1b\[32mrunning/);
  });

  for (const remove of [
    ['snapshot', 'delete', 'origin', 'first', '--force'],
    ['workspace', 'delete', 'notebook'],
    ['retention', 'apply', 'origin'],
    ['retention', 'set', 'origin', '--keep-last', '1'],
    ['checkpoint', 'restore', 'origin', 'first'],
    ['sweep'],
    ['key', 'rotate', 'origin'],
  ]) {
    test(`\`${remove.slice(0, 2).join(' ')}\` needs --yes`, async () => {
      const { error, exitCode } = await cli.failure(...remove);
      assert.deepEqual([error.code, exitCode], ['CONSENT_MISSING', 2]);
      assert.match(error.remediation, /--yes/);
    });
  }

  test('a reader that goes away ends the command quietly', async () => {
    const { status, stdout, stderr } = await cli.shell(
      '{ snapshotter completions bash; echo $? >&2; } | head -1',
    );
    assert.deepEqual([status, stderr], [0, '141\n']);
    assert.match(stdout, /^_snapshotter/);
  });

  test('an answer that can not be printed is told', async () => {
    const { status, stderr } = await cli.shell('snapshotter snapshot list origin >/dev/full');
    assert.equal(status, 1);
    assert.match(stderr, /error\[OUTPUT_FAILED\].*\nhelp: What was asked for is done/);
  });

  test('an answer that can not be printed in JSON is told elsewhere, with what it was about', async () => {
    const create = 'snapshotter snapshot create origin --fresh --json --idempotency-key full';
    const { status, stderr } = await cli.shell(`${create} >/dev/full`);
    assert.equal(status, 1);
    assert.match(stderr, /^error\[OUTPUT_FAILED\]: .* It is about snap-\w{16}\.\nhelp: .*\nnote: .* full` /);
  });
});
