// The handling of answers, with fake servers.

import assert from 'node:assert/strict';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';

import { Cli, fakeServer, withServer, type CommandResult } from './cli.ts';

const SUMMARY = {
  snapshotId: 'snap-aaaaaaaaaaaaaaaa',
  label: 'first',
  state: 'ready',
  dir: '/workspace',
  createdAt: '2026-11-20T05:00:00.000Z',
  ageSeconds: 0,
  lastUsedAt: '2026-11-20T05:00:00.000Z',
  pinned: false,
  dependents: [],
  restorable: 'yes',
};
const LIST = ['snapshot', 'list', 'origin'];
const CURSOR = Buffer.from('1795150800000 snap-aaaaaaaaaaaaaaaa').toString('base64url');

let cli: Cli;
before(async () => {
  cli = await Cli.create('http://127.0.0.1:1');
});
after(() => cli[Symbol.asyncDispose]());

/** A call that a fake server received. */
interface ReceivedCall {
  operation: string;
  options: Record<string, any>;
}

/** Runs `use` with a fake server that answers each call with `answer`, and returns the calls that it received. */
async function withAnswers(
  answer: (call: ReceivedCall) => unknown,
  use: (address: string) => Promise<unknown>,
) {
  const received: ReceivedCall[] = [];
  const listen = async (request: IncomingMessage, response: ServerResponse) => {
    const call = { operation: request.url!.slice('/v1/'.length), options: (await json(request)) as any };
    received.push(call);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(await answer(call)));
  };
  await withServer(
    fakeServer((request, response) => void listen(request, response)),
    (address) => use(`--address=${address}`),
  );
  return received;
}

/** Runs a command on a terminal, and confirms it when it asks. */
function runConfirmed(...args: string[]): Promise<CommandResult> {
  const { child, ended } = cli.beginOnTerminal(args);
  child.stdout?.on('data', (shown: Buffer) => shown.includes('[y/N]') && child.stdin?.write('y\r'));
  return ended;
}

describe('an invalid answer', () => {
  const problem = { code: 'LABEL_TAKEN', message: 'x', remediation: 'x', retryable: false };
  for (const command of [
    LIST,
    ['snapshot', 'show', 'origin', 'first'],
    ['snapshot', 'verify', 'origin', 'first'],
    ['snapshot', 'create', 'origin'],
    ['restore', 'origin', 'first'],
    ['retention', 'show', 'origin'],
    ['lineage', 'origin'],
    ['workspace', 'list'],
    ['workspace', 'fork', 'notebook'],
    ['sweep', '--yes'],
  ]) {
    test(`fails the command in both output modes: ${command.join(' ')}`, async () => {
      for (const answer of [null, {}, problem, { snapshots: 1, workspaces: 1, ok: true, forks: [{}] }])
        await withAnswers(
          () => answer,
          async (address) =>
            assert.deepEqual(
              await cli.code(...command, address),
              ['FOREIGN_ANSWER', 9],
              JSON.stringify(answer),
            ),
        );
    });
  }

  test('is described as an HTML page', async () => {
    const page: RequestListener = (_, response) =>
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html>hello</html>');
    await withServer(fakeServer(page), async (address) => {
      const { error, exitCode } = await cli.failure(...LIST, '--address', address);
      assert.deepEqual([error.code, exitCode], ['FOREIGN_ANSWER', 9]);
      assert.match(error.message, /the response was HTML with the status 200\.$/);
    });
  });

  test('is described as a redirect, whose target gets no request', async () => {
    const tokens: (string | undefined)[] = [];
    const target = fakeServer((_, response) => response.end('{}'), tokens);
    await withServer(target, (target) =>
      withServer(
        fakeServer((_, response) => response.writeHead(307, { location: target }).end()),
        async (address) => {
          const { error } = await cli.failure(...LIST, '--address', address);
          assert.deepEqual(
            [error.code, error.message.endsWith(`with the status 307 and a redirect to ${target}.`)],
            ['FOREIGN_ANSWER', true],
          );
        },
      ),
    );
    assert.deepEqual(tokens, []);
  });

  test('is described as too large, and is not requested again', async () => {
    const tokens: (string | undefined)[] = [];
    const huge = fakeServer((_, response) => response.end(Buffer.alloc(33 * 1024 * 1024, ' ')), tokens);
    await withServer(huge, async (address) => {
      const { status, stderr } = await cli.run(['restore', 'origin', 'first', '--address', address]);
      assert.equal(status, 9);
      assert.match(stderr, /error\[FOREIGN_ANSWER\]: .* larger than 32 MiB\./);
    });
    assert.equal(tokens.length, 1);
  });
});

describe('a list', () => {
  test('fails if it repeats a cursor', async () => {
    const again = { snapshots: [], workspaces: [], cursor: CURSOR };
    for (const command of [LIST, ['workspace', 'list']]) {
      await withAnswers(
        ({ operation }) => (operation === 'list' ? again : { ...again, cursor: 'same' }),
        async (address) => assert.deepEqual(await cli.code(...command, address), ['FOREIGN_ANSWER', 9]),
      );
    }
  });

  test('fails if its cursor is invalid', async () => {
    const page = { snapshots: [SUMMARY], cursor: 'nonsense' };
    await withAnswers(
      () => page,
      async (address) => {
        const { status, stdout } = await cli.run([...LIST, address, '--json']);
        assert.deepEqual([status, JSON.parse(stdout).error.code], [9, 'FOREIGN_ANSWER']);
      },
    );
  });

  for (const form of [[], ['--quiet']]) {
    test(`is printed page by page: ${form.join(' ') || 'as text'}`, async () => {
      const firstPrinted = Promise.withResolvers<void>();
      const second = { ...SUMMARY, snapshotId: 'snap-bbbbbbbbbbbbbbbb' };
      const answer = async ({ options }: ReceivedCall) => {
        if (!options.cursor) return { snapshots: [SUMMARY], cursor: CURSOR };
        await firstPrinted.promise;
        return { snapshots: [second] };
      };
      const received = await withAnswers(answer, async (address) => {
        const { child, ended } = cli.begin([...LIST, ...form, address]);
        child.stdout?.on(
          'data',
          (shown: Buffer) => shown.includes(SUMMARY.snapshotId) && firstPrinted.resolve(),
        );
        const { status, stdout } = await ended;
        const ids = stdout.match(/^snap-\w+/gm);
        assert.deepEqual([status, ids], [0, [SUMMARY.snapshotId, second.snapshotId]]);
        assert.equal(stdout.match(/^ID /gm)?.length, form.length ? undefined : 1);
      });
      // The output of `--quiet` does not contain the results of the check.
      assert.deepEqual(
        received.map(({ options }) => options.check),
        form.length ? [false, false] : [true, true],
      );
    });
  }
});

describe('on a terminal', () => {
  test('`snapshot delete` deletes the snapshot that it showed, although the label has moved', async () => {
    const answer = ({ operation, options }: ReceivedCall) =>
      operation === 'get' ? SUMMARY : { snapshotId: options.snapshotId, removed: true };
    const received = await withAnswers(answer, async (address) => {
      const remove = ['snapshot', 'delete', 'origin', 'first', '--force', address];
      assert.equal((await runConfirmed(...remove)).status, 0);
    });
    const { operation, options } = received.at(-1)!;
    assert.deepEqual(
      [operation, options.snapshotId, options.label],
      ['delete', SUMMARY.snapshotId, undefined],
    );
  });

  /** The answer of a policy that removes one snapshot, or none. */
  const retention = (evicted: number) => (call: ReceivedCall) => ({
    policy: { expirationSeconds: 0, keepDaily: 0, keepWeekly: 0 },
    decisions: [{ ...SUMMARY, keep: evicted === 0, reasons: ['not among the newest 1'] }],
    evicted,
    dryRun: call.options.dryRun,
  });

  for (const form of [[], ['--quiet']]) {
    test(`\`retention apply\` shows its plan, and prints the result after a confirmation: ${form.join(' ') || 'as text'}`, async () => {
      const received = await withAnswers(retention(1), async (address) => {
        const { status, stdout } = await runConfirmed('retention', 'apply', 'origin', ...form, address);
        assert.equal(status, 0);
        assert.match(
          stdout,
          /first +\d+ \w+ ago +not among the newest 1\s+1 snapshot would be removed\.\s+Removed snapshots cannot be/,
        );
        assert.match(
          stdout,
          form.length ? /\[y\/N\] [^]*\nsnap-aaaaaaaaaaaaaaaa\s+$/ : /\n1 snapshot removed\.\s+$/,
        );
      });
      assert.deepEqual(
        received.map(({ options }) => options.dryRun),
        [true, false],
      );
    });
  }

  test('`retention apply` asks for no confirmation if it removes nothing', async () => {
    await withAnswers(retention(0), async (address) => {
      const { status, stdout } = await runConfirmed('retention', 'apply', 'origin', address);
      assert.deepEqual(
        [status, /No snapshot was removed/.test(stdout), stdout.includes('[y/N]')],
        [0, true, false],
      );
    });
  });

  test('`retention apply` fails if the input ends without an answer', async () => {
    await withAnswers(retention(1), async (address) => {
      const { child, ended } = cli.beginOnTerminal(['retention', 'apply', 'origin', address]);
      child.stdout?.on('data', (shown: Buffer) => shown.includes('[y/N]') && child.stdin?.write('\x04'));
      const { status, stdout } = await ended;
      assert.equal(status, 1);
      assert.match(stdout, /error\[CONSENT_REFUSED\].*: The input ended without an answer\./);
    });
  });
});

describe('`doctor`', () => {
  const healthy = { ok: true, version: '99.0.0', time: '2020-01-01T00:00:00.000Z', checks: [] };

  /** Runs `doctor` for a server with this health, which handles other requests with `onCall`. */
  async function examine(health: unknown, onCall: RequestListener = (_, response) => response.end('{}')) {
    const tokens: (string | undefined)[] = [];
    const listen: RequestListener = (request, response) =>
      request.url === '/healthz' ? response.end(JSON.stringify(health)) : onCall(request, response);
    const { status, stdout } = await withServer(fakeServer(listen, tokens), (address) =>
      cli.run(['doctor', '--json', '--address', address]),
    );
    const { ok, checks } = JSON.parse(stdout);
    const check = (name: string) => checks.find((check: { name: string }) => check.name === name) ?? {};
    return { status, ok, check, tokens };
  }

  test('reports a server that is not the snapshotter, and sends it no token', async () => {
    const { status, check, tokens } = await examine('hello');
    assert.deepEqual([status, tokens], [10, [undefined]]);
    assert.match(check('server').detail, /is not the snapshotter/);
  });

  test('reports a different clock and a different version', async () => {
    const { status, check } = await examine(healthy);
    assert.deepEqual([status, check('clock').ok, check('version').ok], [10, false, undefined]);
    assert.match(check('version').detail, /The server has the version 99\.0\.0/);
  });

  test('reports a failure of the server that has no failed check', async () => {
    const failing = { ...healthy, ok: false, time: new Date().toISOString() };
    const { ok, check } = await examine(failing, (_, response) => response.end(JSON.stringify(failing)));
    assert.deepEqual([ok, check('token').ok, check('health').ok], [false, true, false]);
  });

  test('does not report an unverified token as wrong', async () => {
    const { check } = await examine(healthy, (_, response) => response.writeHead(500).end('oops'));
    assert.match(check('token').remediation, /could not be verified/);
  });
});
