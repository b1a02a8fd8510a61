// What becomes of answers, by servers that answer what a test says.

import assert from 'node:assert/strict';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';

import { Cli, serving, web, type Ended } from './cli.ts';

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
  cli = await Cli.of('http://127.0.0.1:1');
});
after(() => cli[Symbol.asyncDispose]());

/** What a server was asked. */
interface Asked {
  operation: string;
  options: Record<string, any>;
}

/** Runs `use` for a server that answers with what `answer` says, and tells what it was asked. */
async function answering(answer: (asked: Asked) => unknown, use: (address: string) => Promise<unknown>) {
  const all: Asked[] = [];
  const listen = async (request: IncomingMessage, response: ServerResponse) => {
    const asked = { operation: request.url!.slice('/v1/'.length), options: (await json(request)) as any };
    all.push(asked);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(await answer(asked)));
  };
  await serving(
    web((request, response) => void listen(request, response)),
    (address) => use(`--address=${address}`),
  );
  return all;
}

/** Runs a command on a terminal, where it is told yes when it asks. */
function agreeing(...args: string[]): Promise<Ended> {
  const { child, ended } = cli.beginOnTerminal(args);
  child.stdout?.on('data', (shown: Buffer) => shown.includes('[y/N]') && child.stdin?.write('y\r'));
  return ended;
}

describe('an answer that is none', () => {
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
    test(`is told in both forms, once: ${command.join(' ')}`, async () => {
      for (const answer of [null, {}, problem, { snapshots: 1, workspaces: 1, ok: true, forks: [{}] }])
        await answering(
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

  test('says what came: a page', async () => {
    const page: RequestListener = (_, response) =>
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html>hello</html>');
    await serving(web(page), async (address) => {
      const { error, exitCode } = await cli.failure(...LIST, '--address', address);
      assert.deepEqual([error.code, exitCode], ['FOREIGN_ANSWER', 9]);
      assert.match(error.message, /it answers HTML with the status 200\.$/);
    });
  });

  test('says what came: where a redirect leads, which gets no request, and nobody the token', async () => {
    const seen: (string | undefined)[] = [];
    const elsewhere = web((_, response) => response.end('{}'), seen);
    await serving(elsewhere, (elsewhere) =>
      serving(
        web((_, response) => response.writeHead(307, { location: elsewhere }).end()),
        async (address) => {
          const { error } = await cli.failure(...LIST, '--address', address);
          assert.deepEqual(
            [error.code, error.message.endsWith(`with the status 307, which leads to ${elsewhere}.`)],
            ['FOREIGN_ANSWER', true],
          );
        },
      ),
    );
    assert.deepEqual(seen, []);
  });

  test('says what came: more than is read, and is not asked for again', async () => {
    const seen: (string | undefined)[] = [];
    const huge = web((_, response) => response.end(Buffer.alloc(33 * 1024 * 1024, ' ')), seen);
    await serving(huge, async (address) => {
      const { status, stderr } = await cli.run(['restore', 'origin', 'first', '--address', address]);
      assert.equal(status, 9);
      assert.match(stderr, /error\[FOREIGN_ANSWER\]: .* more than 32 MiB\./);
    });
    assert.equal(seen.length, 1);
  });
});

describe('a list', () => {
  test('that never ends is no answer', async () => {
    const again = { snapshots: [], workspaces: [], cursor: CURSOR };
    for (const command of [LIST, ['workspace', 'list']]) {
      await answering(
        ({ operation }) => (operation === 'list' ? again : { ...again, cursor: 'same' }),
        async (address) => assert.deepEqual(await cli.code(...command, address), ['FOREIGN_ANSWER', 9]),
      );
    }
  });

  test('whose cursor is none is no answer either', async () => {
    const page = { snapshots: [SUMMARY], cursor: 'nonsense' };
    await answering(
      () => page,
      async (address) => {
        const { status, stdout } = await cli.run([...LIST, address, '--json']);
        assert.deepEqual([status, JSON.parse(stdout).error.code], [9, 'FOREIGN_ANSWER']);
      },
    );
  });

  for (const form of [[], ['--quiet']]) {
    test(`is printed as its pages come: ${form.join(' ') || 'for people'}`, async () => {
      const first = Promise.withResolvers<void>();
      const second = { ...SUMMARY, snapshotId: 'snap-bbbbbbbbbbbbbbbb' };
      const answer = async ({ options }: Asked) => {
        if (!options.cursor) return { snapshots: [SUMMARY], cursor: CURSOR };
        await first.promise; // until the first row was printed
        return { snapshots: [second] };
      };
      const asked = await answering(answer, async (address) => {
        const { child, ended } = cli.begin([...LIST, ...form, address]);
        child.stdout?.on('data', (shown: Buffer) => shown.includes(SUMMARY.snapshotId) && first.resolve());
        const { status, stdout } = await ended;
        const ids = stdout.match(/^snap-\w+/gm);
        assert.deepEqual([status, ids], [0, [SUMMARY.snapshotId, second.snapshotId]]);
        assert.equal(stdout.match(/^ID /gm)?.length, form.length ? undefined : 1);
      });
      // Ids alone do not tell what is in R2.
      assert.deepEqual(
        asked.map(({ options }) => options.check),
        form.length ? [false, false] : [true, true],
      );
    });
  }
});

describe('on a terminal', () => {
  test('what is deleted is what was shown, though its tag has gone to another one', async () => {
    const answer = ({ operation, options }: Asked) =>
      operation === 'get' ? SUMMARY : { snapshotId: options.snapshotId, removed: true };
    const asked = await answering(answer, async (address) => {
      const remove = ['snapshot', 'delete', 'origin', 'first', '--force', address];
      assert.equal((await agreeing(...remove)).status, 0);
    });
    const { operation, options } = asked.at(-1)!;
    assert.deepEqual(
      [operation, options.snapshotId, options.label],
      ['delete', SUMMARY.snapshotId, undefined],
    );
  });

  /** A policy that lets one snapshot go, or none. */
  const retention = (evicted: number) => (asked: Asked) => ({
    policy: { expirationSeconds: 0, keepDaily: 0, keepWeekly: 0 },
    decisions: [{ ...SUMMARY, keep: evicted === 0, reasons: ['not among the newest 1'] }],
    evicted,
    dryRun: asked.options.dryRun,
  });

  for (const form of [[], ['--quiet']]) {
    test(`what goes is shown, agreed to, and told: ${form.join(' ') || 'for people'}`, async () => {
      const asked = await answering(retention(1), async (address) => {
        const { status, stdout } = await agreeing('retention', 'apply', 'origin', ...form, address);
        assert.equal(status, 0);
        assert.match(
          stdout,
          / goes +not among the newest 1\s+1 snapshot would go\.\s+What goes is gone for good/,
        );
        assert.match(
          stdout,
          form.length ? /\[y\/N\] [^]*\nsnap-aaaaaaaaaaaaaaaa\s+$/ : /\n1 snapshot removed\.\s+$/,
        );
      });
      assert.deepEqual(
        asked.map(({ options }) => options.dryRun),
        [true, false],
      );
    });
  }

  test('nobody is asked where nothing goes', async () => {
    await answering(retention(0), async (address) => {
      const { status, stdout } = await agreeing('retention', 'apply', 'origin', address);
      assert.deepEqual(
        [status, /No snapshot was removed/.test(stdout), stdout.includes('[y/N]')],
        [0, true, false],
      );
    });
  });

  test('an input that ends is no answer', async () => {
    await answering(retention(1), async (address) => {
      const { child, ended } = cli.beginOnTerminal(['retention', 'apply', 'origin', address]);
      child.stdout?.on('data', (shown: Buffer) => shown.includes('[y/N]') && child.stdin?.write('\x04'));
      const { status, stdout } = await ended;
      assert.equal(status, 1);
      assert.match(stdout, /error\[CONSENT_REFUSED\].*: The input ended before there was an answer\./);
    });
  });
});

describe('the doctor', () => {
  const well = { ok: true, version: '99.0.0', time: '2020-01-01T00:00:00.000Z', checks: [] };

  /** What the doctor finds of a server that has this health, and answers the token in this way. */
  async function found(health: unknown, token: RequestListener = (_, response) => response.end('{}')) {
    const seen: (string | undefined)[] = [];
    const listen: RequestListener = (request, response) =>
      request.url === '/healthz' ? response.end(JSON.stringify(health)) : token(request, response);
    const { status, stdout } = await serving(web(listen, seen), (address) =>
      cli.run(['doctor', '--json', '--address', address]),
    );
    const { ok, checks } = JSON.parse(stdout);
    const check = (name: string) => checks.find((check: { name: string }) => check.name === name) ?? {};
    return { status, ok, check, seen };
  }

  test('tells that it is somebody else, and shows them no token', async () => {
    const { status, check, seen } = await found('hello');
    assert.deepEqual([status, seen], [10, [undefined]]);
    assert.match(check('server').detail, /is not the snapshotter/);
  });

  test('tells of a clock and of a version that differ', async () => {
    const { status, check } = await found(well);
    assert.deepEqual([status, check('clock').ok, check('version').ok], [10, false, undefined]);
    assert.match(check('version').detail, /The server is 99\.0\.0/);
  });

  test('believes a server that says it is not well', async () => {
    const ill = { ...well, ok: false, time: new Date().toISOString() };
    const { ok, check } = await found(ill, (_, response) => response.end(JSON.stringify(ill)));
    assert.deepEqual([ok, check('token').ok, check('health').ok], [false, true, false]);
  });

  test('does not call a token wrong that could not be tried', async () => {
    const { check } = await found(well, (_, response) => response.writeHead(500).end('oops'));
    assert.match(check('token').remediation, /not known whether it is right/);
  });
});
