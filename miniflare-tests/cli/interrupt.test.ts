// Interrupts, terminals and pipes.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, afterEach, before, describe, test } from 'node:test';

import { EMPTY, fakeServer, start, withServer, type Cli, type RunningCommand } from './cli.ts';
import { isUnpacking, until, type World } from '../world.ts';

let world: World;
let cli: Cli;
let blocked: { reached: PromiseWithResolvers<void>; released: PromiseWithResolvers<void> } | undefined;

before(async () => {
  ({ world, cli } = await start({
    onCall: async (call) => {
      if (!blocked || !isUnpacking(call)) return;
      blocked.reached.resolve();
      await blocked.released.promise;
    },
  }));
  await world.exec('origin', 'echo x > file');
  await cli.print('snapshot', 'create', 'origin', '--label', 'first');
  await world.exec('unused', 'echo x > file');
  await cli.print('snapshot', 'create', 'unused', '--label', 'first');
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});
afterEach(() => {
  blocked?.released.resolve();
  blocked = undefined;
});

/** Blocks the unpacking of archives until `released` is resolved. */
function blockUnpacking() {
  blocked = { reached: Promise.withResolvers(), released: Promise.withResolvers() };
  return blocked;
}

describe('an interrupt', () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    test(`by ${signal} ends the command at once, and a repetition with the key gets the same sandbox`, async () => {
      const running = world.running().length;
      const { reached, released } = blockUnpacking();
      const restore = cli.begin(['restore', 'origin', 'first']);
      await reached.promise;
      restore.child.kill(signal);
      const { status, stdout, stderr } = await restore.ended; // while the server is still blocked
      assert.deepEqual([status, stdout], [130, '']);
      assert.match(stderr, /completes the operation or rolls it back/);
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

  test('is reported as a failure document in JSON mode', async () => {
    const { reached } = blockUnpacking();
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

  /** Waits until a command has installed its signal handler. */
  const handlerInstalled = ({ child }: RunningCommand) =>
    until(async () => {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      return (BigInt(`0x${/^SigCgt:\s*(\w+)$/m.exec(status)?.[1]}`) & 2n) !== 0n;
    });

  /** Interrupts a command, and returns the command name in the document that it prints. */
  async function interrupt(running: RunningCommand) {
    running.child.kill('SIGINT');
    const { status, stdout } = await running.ended;
    assert.equal(status, 130);
    const { command, error } = JSON.parse(stdout);
    assert.deepEqual([error.code, error.retryable, error.idempotencyKey], ['INTERRUPTED', true, undefined]);
    return command;
  }

  test('is reported in JSON mode while the command waits for input', async () => {
    const restore = cli.begin(['restore', '--ref', '-', '--json'], { input: null });
    await handlerInstalled(restore);
    assert.equal(await interrupt(restore), 'restore');
  });

  test('is reported in JSON mode by `doctor`', async () => {
    const reached = Promise.withResolvers<void>();
    await withServer(
      fakeServer(() => reached.resolve()),
      async (address) => {
        const doctor = cli.begin(['doctor', '--json', '--address', address]);
        await reached.promise;
        assert.equal(await interrupt(doctor), 'doctor');
      },
    );
  });

  test('is reported in JSON mode once, while the command waits for a confirmation', async () => {
    const rotate = cli.beginOnTerminal(['key', 'rotate', 'origin', '--json']);
    rotate.child.stdout?.on('data', (shown: Buffer) => {
      if (shown.includes('[y/N]')) rotate.child.stdin?.write('\x03');
    });
    const { status, stdout } = await rotate.ended;
    const documents = stdout.split(/\r?\n/).filter((line) => line.startsWith('{'));
    assert.deepEqual([status, documents.length], [130, 1]);
    assert.equal(JSON.parse(documents[0] ?? '').error.code, 'INTERRUPTED');
  });

  test('is ignored if the signal was ignored before, as under nohup', async () => {
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const blocking = fakeServer((_, response) => {
      reached.resolve();
      void released.promise.then(() => response.end(JSON.stringify(EMPTY)));
    });
    await withServer(blocking, async (address) => {
      const { child, ended } = cli.beginIgnoring('INT', ['snapshot', 'list', 'origin', '--address', address]);
      await reached.promise;
      child.kill('SIGINT');
      released.resolve();
      assert.equal((await ended).status, 0);
    });
  });
});

describe('on a terminal', () => {
  /** Runs a command, and types an answer when it asks for a confirmation. */
  async function runAnswered(typed: string, ...args: string[]) {
    const { child, ended } = cli.beginOnTerminal(args);
    child.stdout?.on('data', (shown: Buffer) => {
      if (shown.includes('[y/N]')) child.stdin?.write(typed);
    });
    return ended;
  }

  test('a command that takes longer than one second shows a spinner', async () => {
    const { reached, released } = blockUnpacking();
    const { child, ended } = cli.beginOnTerminal(['restore', 'origin', 'first']);
    const spinner = new Promise<void>((resolve) => {
      child.stdout?.on('data', (shown: Buffer) => shown.includes('restore…') && resolve());
    });
    await reached.promise;
    await spinner;
    released.resolve();
    assert.equal((await ended).status, 0);
  });

  test('`snapshot delete --force` asks for a confirmation', async () => {
    const id = await cli.id('snapshot', 'create', 'origin', '--fresh');
    await cli.print('snapshot', 'pin', 'origin', id);
    const remove = ['snapshot', 'delete', 'origin', id, '--force'];

    const refused = await runAnswered('n\r', ...remove);
    assert.match(
      refused.stdout,
      /This permanently deletes the snapshot .*\. It is pinned\. Continue\? \[y\/N\]/,
    );
    assert.match(refused.stdout, /error\[CONSENT_REFUSED\]/);
    assert.equal(refused.status, 1);
    await cli.print('snapshot', 'show', 'origin', id);

    const confirmed = await runAnswered('y\r', ...remove);
    assert.deepEqual([confirmed.status, confirmed.stdout.includes(`Deleted ${id}`)], [0, true]);
  });

  test('`workspace delete` asks for a confirmation with the full name, the sandbox and the number of snapshots', async () => {
    const sandbox = await cli.id('workspace', 'create', 'tenant-1/notebook');
    await world.exec(sandbox, 'echo x > file');
    await cli.print('snapshot', 'create', '@tenant-1/notebook');
    const { stdout } = await runAnswered('n\r', 'workspace', 'delete', 'tenant-1/notebook');
    assert.match(
      stdout,
      new RegExp(
        `This permanently deletes the workspace tenant-1/notebook, its sandbox ${sandbox} and its 1 snapshot,`,
      ),
    );
  });

  test('the output has colors, unless NO_COLOR is set', async () => {
    const lineage = async (env: NodeJS.ProcessEnv) =>
      (await cli.beginOnTerminal(['lineage', 'origin'], env).ended).stdout;
    assert.match(await lineage({}), /\x1b\[32mrunning/);
    assert.doesNotMatch(await lineage({ NO_COLOR: '1' }), /\x1b\[32m/);
  });
});

describe('without a terminal', () => {
  test('the output has no colors, unless CLICOLOR_FORCE is set', async () => {
    assert.doesNotMatch(await cli.print('lineage', 'origin'), /\x1b/);
    const { stdout } = await cli.run(['lineage', 'origin'], { env: { CLICOLOR_FORCE: '1' } });
    assert.match(stdout, /\x1b\[32mrunning/);
  });

  for (const remove of [
    ['snapshot', 'delete', 'unused', 'first'],
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

  test('a reader that closes the pipe ends the command without an error message', async () => {
    const { status, stdout, stderr } = await cli.shell(
      '{ snapshotter completions bash; echo $? >&2; } | head -1',
    );
    assert.deepEqual([status, stderr], [0, '141\n']);
    assert.match(stdout, /^_snapshotter/);
  });

  test('an answer that cannot be printed is reported', async () => {
    const { status, stderr } = await cli.shell('snapshotter snapshot list origin >/dev/full');
    assert.equal(status, 1);
    assert.match(stderr, /error\[OUTPUT_FAILED\].*\nhelp: The operation completed\./);
  });

  test('an answer that cannot be printed in JSON mode is reported on stderr with its ids', async () => {
    const create = 'snapshotter snapshot create origin --fresh --json --idempotency-key full';
    const { status, stderr } = await cli.shell(`${create} >/dev/full`);
    assert.equal(status, 1);
    assert.match(
      stderr,
      /^error\[OUTPUT_FAILED\]: .* Ids in the answer: snap-\w{16}\.\nhelp: .*\nnote: .* full` /,
    );
  });
});
