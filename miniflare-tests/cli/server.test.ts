// The settings of the server and the token, and failures of the server.

import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';

import { EMPTY, Cli, fakeServer, start, withServer } from './cli.ts';
import { TOKEN, type World } from '../world.ts';

let world: World;
let cli: Cli;
let address: string;

before(async () => {
  ({ world, cli } = await start());
  address = `${await world.url('/')}`;
  await world.exec('origin', 'echo x > file');
  await cli.print('snapshot', 'create', 'origin', '--label', 'first');
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const LIST = ['snapshot', 'list', 'origin'];

/** Returns an address on which no server listens. */
const closedAddress = () => withServer(createTcpServer(), (address) => Promise.resolve(address));

test('a list with many workspaces without a known save is one call', async () => {
  const at = '2026-11-20T05:00:00.000Z';
  for (const [count, calls] of [
    [100, 101],
    [101, 1],
  ] as const) {
    const entry = (_: unknown, index: number) => ({
      ...{
        name: `w${index}`,
        state: 'active',
        sandboxId: `s${index}`,
        version: 1,
        createdAt: at,
        updatedAt: at,
      },
    });
    const workspaces = Array.from({ length: count }, entry);
    const paths: (string | undefined)[] = [];
    let [current, most] = [0, 0];
    const listen: RequestListener = async (request, response) => {
      paths.push(request.url);
      most = Math.max(most, ++current);
      await setTimeout(10);
      current--;
      response.end(JSON.stringify(request.url?.endsWith('/list') ? { workspaces } : {}));
    };
    const { status, stdout, stderr } = await withServer(fakeServer(listen), (server) =>
      cli.run(['workspace', 'list', '--address', server]),
    );
    assert.deepEqual([status, stdout.split('\n').length, paths.length], [0, count + 2, calls]);
    const [, saved] = /^w0 .* active +.* ago +(\S+) /m.exec(stdout) ?? [];
    assert.deepEqual(
      [saved, /`\?` means unknown/.test(stderr)],
      calls === 1 ? ['?', true] : ['never', false],
    );
    assert.equal(most, Math.min(calls, 8));
  }
});

describe('the settings', () => {
  test('come from flags, from the environment, or from a file', async () => {
    const token = await cli.file('token', `${TOKEN}\n`);
    const file = await cli.file('config.toml', `address = "${address}"\ntoken = "${TOKEN}"`);
    const none = { SNAPSHOTTER_ADDRESS: '', SNAPSHOTTER_TOKEN: '' };
    for (const { options, env = {}, input = '' } of [
      { options: [] },
      { options: ['--address', address, '--token', TOKEN], env: none },
      { options: ['--address', address, '--token-file', token], env: { SNAPSHOTTER_TOKEN: 'wrong' } },
      { options: ['--address', address, '--token-file', '-'], env: none, input: TOKEN },
      { options: ['--config', file], env: none },
      { options: [], env: { ...none, SNAPSHOTTER_CONFIG: file } },
    ]) {
      const { status, stderr } = await cli.run([...LIST, ...options], { env, input });
      assert.deepEqual([status, stderr], [0, ''], options.join(' '));
    }
  });

  test('come from the selected profile', async () => {
    const profile = `[profiles.here]\naddress = "${address}"\ntoken = "${TOKEN}"`;
    const file = await cli.file('profiles.toml', `address = "http://127.0.0.1:1"\ntoken = "x"\n${profile}`);
    await using unconfigured = await Cli.create('', '');
    await unconfigured.print(...LIST, '--config', file, '--profile', 'here');
    assert.deepEqual(await unconfigured.code(...LIST, '--config', file, '--profile', 'there'), [
      'PROFILE_NOT_FOUND',
      2,
    ]);
    const environment = { SNAPSHOTTER_ADDRESS: 'http://127.0.0.1:1', SNAPSHOTTER_TOKEN: 'wrong' };
    const { status } = await unconfigured.run([...LIST, '--config', file, '--profile', 'here'], {
      env: environment,
    });
    assert.equal(status, 0);
    assert.deepEqual(await unconfigured.code(...LIST, '--config', file, '--address', address), [
      'TOKEN_MISSING',
      5,
    ]);
    assert.deepEqual(await unconfigured.code(...LIST), ['ADDRESS_MISSING', 2]);
    assert.deepEqual(await unconfigured.code(...LIST, '--address', address), ['TOKEN_MISSING', 5]);
  });

  test('cause a warning if others can read the token', async () => {
    const file = await cli.file('open.toml', `token = "${TOKEN}"`, 0o644);
    const { status, stdout, stderr } = await cli.run([...LIST, '--config', file, '--json']);
    assert.deepEqual([status, JSON.parse(stdout).snapshots.length], [0, 1]);
    assert.match(stderr, /^warning: others on this machine can read the token .*chmod 600/);
  });

  test('do not send a token without encryption to another machine', async () => {
    const far = ['--address', 'http://192.0.2.1:9', '--timeout', '1s'];
    assert.deepEqual(await cli.code(...LIST, ...far), ['TOKEN_IN_CLEAR', 5]);
  });

  test('are refused if the token cannot be sent in a header', async () => {
    assert.deepEqual(await cli.code(...LIST, '--token', 'two\nlines'), ['TOKEN_INVALID', 2]);
  });

  test('never show the token', async () => {
    const file = await cli.file('broken.toml', 'token = "s3cret');
    for (const options of [
      ['--token', 's3cret'],
      ['--config', file],
      ['--token', 's3cret', '--address', 'http://127.0.0.1:1'],
      ['--token', 's3cret', '--nonsense'],
      ['--token-file', 's3cret'],
    ]) {
      for (const form of [[], ['--json']]) {
        const { status, stdout, stderr } = await cli.run([...LIST, ...options, ...form]);
        assert.notEqual(status, 0);
        assert.ok(!`${stdout}${stderr}`.includes('s3cret'), options.join(' '));
      }
    }
  });
});

describe('a server', () => {
  test('rejects a wrong token', async () => {
    const { error, exitCode } = await cli.failure(...LIST, '--token', 'wrong');
    assert.deepEqual([error.code, error.kind, exitCode], ['UNAUTHORIZED', 'policy_denied', 5]);
    assert.match(error.correlationId, /^\w+$/);
  });

  test('that is not reachable is reported, and nothing was done', async () => {
    const { error, exitCode } = await cli.failure(...LIST, '--address', await closedAddress());
    assert.deepEqual([error.code, error.retryable, exitCode], ['SERVICE_UNREACHABLE', true, 9]);
    assert.match(error.remediation, /Nothing was done.*snapshotter doctor/);
  });

  describe('that receives no request', () => {
    const restore = ['restore', 'origin', 'first', '--timeout', '5s', '--address'];
    const withoutTls = () =>
      withServer(
        fakeServer((_, response) => response.end('{}')),
        async (address) =>
          assert.match(
            await assertUnreachable(address),
            /the server speaks http, and the address begins with https/,
          ),
      );
    const closing = () =>
      withServer(
        createTcpServer((socket) => socket.end()),
        async (address) => void (await assertUnreachable(address)),
      );

    /** Asserts that a command fails without an effect. */
    async function assertUnreachable(address: string) {
      const encrypted = address.replace('http:', 'https:');
      const { error, exitCode } = await cli.failure(...restore, encrypted);
      assert.deepEqual([error.code, error.retryable, exitCode], ['SERVICE_UNREACHABLE', true, 9]);
      assert.match(error.remediation, /^Nothing was done/);
      return error.message;
    }

    test('did nothing if the host does not exist', async () => {
      await assertUnreachable('https://missing.invalid');
    });
    test('did nothing if it does not support TLS', withoutTls);
    test('did nothing if it closes the connection in the handshake', closing);
    test('did nothing if the proxy refuses the connection', async () => {
      const proxy = fakeServer(() => undefined).on('connect', (_, socket) => {
        socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      });
      await withServer(proxy, async (proxy) => {
        const { status, stderr } = await cli.run([...restore, 'https://far.invalid'], {
          env: { HTTPS_PROXY: proxy },
        });
        assert.equal(status, 9);
        assert.match(stderr, /^error\[SERVICE_UNREACHABLE\]: .*proxy .*403/);
      });
    });
  });

  test('that closes the connection has an unknown outcome, and the failure contains the key', async () => {
    const closeConnection: RequestListener = (request) => request.socket.destroy();
    await withServer(fakeServer(closeConnection), async (address) => {
      const restore = ['restore', 'origin', 'first', '--address', address];
      const { error, exitCode } = await cli.failure(...restore);
      assert.deepEqual([error.code, exitCode], ['ANSWER_LOST', 9]);
      assert.match(error.idempotencyKey, /^[0-9a-f]{32}$/);
      const { stderr } = await cli.run([...restore, '--idempotency-key', 'mine']);
      assert.match(stderr, /\nnote: .* `--idempotency-key mine` /);
    });
  });

  test('that does not answer fails the command at the time limit', async () => {
    await withServer(
      fakeServer(() => undefined),
      async (address) => {
        const { error, exitCode } = await cli.failure(...LIST, '--address', address, '--timeout', '1s');
        assert.deepEqual([error.code, exitCode], ['ANSWER_LOST', 9]);
        assert.match(error.message, /time limit/);
      },
    );
  });

  test('behind a path is called with the path', async () => {
    const paths: (string | undefined)[] = [];
    const proxy = fakeServer((request, response) => {
      paths.push(request.url);
      response.end(JSON.stringify(EMPTY));
    });
    await withServer(proxy, (address) => cli.print(...LIST, '--address', `${address}/behind/`));
    assert.deepEqual(paths, ['/behind/v1/list', '/behind/v1/lineage']);
  });

  test('whose API is closed reports how to open it', async () => {
    await using closed = await start({ snapshotter: { without: ['API_TOKEN'] } }).then(disposable);
    const { error, exitCode } = await closed.cli.failure(...LIST);
    assert.deepEqual([error.code, exitCode], ['API_TOKEN_MISSING', 5]);
    assert.match(error.remediation, /wrangler secret put API_TOKEN/);
    const { status, stdout } = await closed.cli.run(['doctor', '--json']);
    assert.deepEqual([status, checkIn(stdout, 'token').code], [10, 'API_TOKEN_MISSING']);
    assert.equal(checkIn(stdout, 'bucket').ok, true);
  });
});

describe('`doctor`', () => {
  test('reports no failed check for a correct deployment', async () => {
    const { ok, checks } = await cli.json('doctor');
    assert.equal(ok, true);
    const names = checks.map(({ name }: { name: string }) => name);
    assert.deepEqual(names.slice(0, 5), ['address', 'server', 'version', 'clock', 'token']);
    for (const name of ['bucket', 'sandboxes', 'directory', 'backupCredentials'])
      assert.ok(names.includes(name), name);
    const printed = await cli.print('doctor');
    assert.match(printed, /^✓ address .*\n✓ server .*\n(.*\n)*No check failed\.\n$/);
  });

  test('reports a wrong token, and continues', async () => {
    const { status, stdout, stderr } = await cli.run(['doctor', '--token', 'wrong']);
    assert.deepEqual([status, stderr], [10, '']);
    assert.match(
      stdout,
      /✗ token +UNAUTHORIZED: .*\n +→ .*\n(.*\n)*.* bucket .*\n(.*\n)*1 check failed\.\n$/,
    );
    await using withoutToken = await Cli.create(address, '');
    const result = await withoutToken.run(['doctor', '--json']);
    assert.deepEqual([result.status, checkIn(result.stdout, 'token').detail], [10, 'No token is set.']);
    assert.equal(await withoutToken.run(['doctor', '--quiet']).then(({ stdout }) => stdout), 'token\n');
  });

  test('reports a server that is not reachable', async () => {
    const { status, stdout } = await cli.run(['doctor', '--json', '--address', await closedAddress()]);
    const { ok, checks } = JSON.parse(stdout);
    assert.deepEqual([status, ok, checks.length], [10, false, 1]);
    assert.match(checkIn(stdout, 'address').detail, /does not respond/);
  });

  test('reports invalid settings', async () => {
    const { status, stdout } = await cli.run(['doctor', '--json', '--address', 'nonsense']);
    assert.deepEqual([status, checkIn(stdout, 'settings').code], [10, 'ADDRESS_INVALID']);
  });
});

describe('invalid arguments', () => {
  for (const args of [
    [],
    ['nonsense'],
    ['snapshot'],
    ['snapshot', 'create'],
    ['snapshot', 'create', 'origin', '--expires', 'soon'],
    ['workspace', 'update', 'notebook', '--idle', '5'],
    ['snapshot', 'create', 'origin', '--replace'],
    ['restore', 'origin'],
    ['restore', 'origin', 'first', '--ref', '-'],
    ['snapshot', 'list', 'origin', '--limit', 'many'],
    ['workspace', 'start', 'notebook', '--on-diverged', 'guess'],
    ['--token', 'a', '--token-file', 'b', 'doctor'],
  ]) {
    test(`are refused in both output modes: ${args.join(' ')}`, async () => {
      const asText = await cli.run(args);
      assert.deepEqual([asText.status, asText.stdout], [2, '']);
      assert.match(asText.stderr, /Usage|usage|--help/);
      const asJson = await cli.run([...args, '--json']);
      const { ok, error, exitCode } = JSON.parse(asJson.stdout);
      assert.deepEqual([asJson.status, ok, error.code, exitCode], [2, false, 'INVALID_USAGE', 2]);
      assert.equal(asJson.stderr, '');
    });
  }

  test('are refused even if they are not UTF-8', async () => {
    const { status, stdout } = await cli.shell(String.raw`snapshotter doctor "$(printf '\377')" --json`);
    assert.deepEqual([status, JSON.parse(stdout).command], [2, 'doctor']);
  });

  test('are refused with the codes of the server', async () => {
    assert.deepEqual(await cli.code('snapshot', 'list', '-'), ['INVALID_SANDBOX_ID', 2]);
    assert.deepEqual(await cli.code('snapshot', 'list', 'origin', '--limit', '1000'), [
      'INVALID_ARGUMENT',
      2,
    ]);
    assert.deepEqual(await cli.code('snapshot', 'list', '@-'), ['INVALID_WORKSPACE_NAME', 2]);
    assert.deepEqual(await cli.code('snapshot', 'create', 'origin', '--dir', '/etc'), [
      'INVALID_DIRECTORY',
      2,
    ]);
    assert.deepEqual(await cli.code('snapshot', 'create', 'origin', '--label', ' x'), ['INVALID_LABEL', 2]);
  });

  test('are refused if they use the standard input twice', async () => {
    const twice = ['restore', '--ref', '-', '--token-file', '-', '--json'];
    const { status, stdout } = await cli.run(twice, { input: TOKEN });
    assert.deepEqual([status, JSON.parse(stdout).error.code], [2, 'INVALID_USAGE']);
  });

  test('are refused if the port is out of range', async () => {
    assert.deepEqual(await cli.code(...LIST, '--address', 'http://127.0.0.1:99999'), ['ADDRESS_INVALID', 2]);
  });

  test('are refused if the address ends with /v1', async () => {
    assert.deepEqual(await cli.code(...LIST, '--address', 'http://127.0.0.1:1/v1'), ['ADDRESS_INVALID', 2]);
  });

  test('are reported with the name of the command', async () => {
    assert.equal((await cli.failure('snapshot', 'list', '-')).command, 'snapshot list');
    assert.equal((await cli.failure('workspace', 'start', '--nonsense')).command, 'workspace start');
  });
});

/** Returns a check in the output of `doctor`. */
function checkIn(printed: string, name: string) {
  return JSON.parse(printed).checks.find((check: { name: string }) => check.name === name) ?? {};
}

/** Disposes the world and the program together. */
function disposable(started: { world: World; cli: Cli }) {
  return {
    ...started,
    async [Symbol.asyncDispose]() {
      await started.cli[Symbol.asyncDispose]();
      await started.world[Symbol.asyncDispose]();
    },
  };
}
