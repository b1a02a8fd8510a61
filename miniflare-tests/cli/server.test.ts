// Which server is called, with which token, and what is told of one that is not as it should be.

import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { after, before, describe, test } from 'node:test';

import { Cli, serving, start, web } from './cli.ts';
import { TOKEN, type World } from '../world.ts';

let world: World;
let cli: Cli;
let address: string;

before(async () => {
  ({ world, cli } = await start());
  address = `${await world.url('/')}`;
  await world.exec('origin', 'echo x > file');
  await cli.print('snapshot', 'create', 'origin', '--tag', 'first');
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const LIST = ['snapshot', 'list', 'origin'];

/** A port that nothing listens on. */
const nowhere = () => serving(createTcpServer(), (address) => Promise.resolve(address));

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

  test('are of the profile that is asked for', async () => {
    const profile = `[profiles.here]\naddress = "${address}"\ntoken = "${TOKEN}"`;
    const file = await cli.file('profiles.toml', `address = "http://127.0.0.1:1"\ntoken = "x"\n${profile}`);
    await using bare = await Cli.of('', '');
    await bare.print(...LIST, '--config', file, '--profile', 'here');
    assert.deepEqual(await bare.code(...LIST, '--config', file, '--profile', 'there'), [
      'PROFILE_NOT_FOUND',
      2,
    ]);
    const elsewhere = { SNAPSHOTTER_ADDRESS: 'http://127.0.0.1:1', SNAPSHOTTER_TOKEN: 'wrong' };
    const { status } = await bare.run([...LIST, '--config', file, '--profile', 'here'], { env: elsewhere });
    assert.equal(status, 0);
    assert.deepEqual(await bare.code(...LIST, '--config', file, '--address', address), ['TOKEN_MISSING', 5]);
    assert.deepEqual(await bare.code(...LIST), ['ADDRESS_MISSING', 2]);
    assert.deepEqual(await bare.code(...LIST, '--address', address), ['TOKEN_MISSING', 5]);
  });

  test('that others can read are warned about', async () => {
    const file = await cli.file('open.toml', `token = "${TOKEN}"`, 0o644);
    const { status, stdout, stderr } = await cli.run([...LIST, '--config', file, '--json']);
    assert.deepEqual([status, JSON.parse(stdout).snapshots.length], [0, 1]);
    assert.match(stderr, /^warning: others on this machine can read the token .*chmod 600/);
  });

  test('send no token without encryption to another machine', async () => {
    const far = ['--address', 'http://192.0.2.1:9', '--timeout', '1s'];
    assert.deepEqual(await cli.code(...LIST, ...far), ['TOKEN_IN_CLEAR', 5]);
  });

  test('may have a token that can not be sent', async () => {
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
  test('that does not know the token says so', async () => {
    const { error, exitCode } = await cli.failure(...LIST, '--token', 'wrong');
    assert.deepEqual([error.code, error.kind, exitCode], ['UNAUTHORIZED', 'policy_denied', 5]);
    assert.match(error.correlationId, /^\w+$/);
  });

  test('that is not there is told, and nothing was done', async () => {
    const { error, exitCode } = await cli.failure(...LIST, '--address', await nowhere());
    assert.deepEqual([error.code, error.retryable, exitCode], ['SERVICE_UNREACHABLE', true, 9]);
    assert.match(error.remediation, /Nothing was done.*snapshotter doctor/);
  });

  describe('that gets no request', () => {
    const restore = ['restore', 'origin', 'first', '--timeout', '5s', '--address'];
    const plain = () =>
      serving(
        web((_, response) => response.end('{}')),
        untouched,
      );
    const mute = () =>
      serving(
        createTcpServer((socket) => socket.end()),
        untouched,
      );

    /** Nothing was done, whatever is at the other end. */
    async function untouched(address: string) {
      const encrypted = address.replace('http:', 'https:');
      const { error, exitCode } = await cli.failure(...restore, encrypted);
      assert.deepEqual([error.code, error.retryable, exitCode], ['SERVICE_UNREACHABLE', true, 9]);
      assert.match(error.remediation, /^Nothing was done/);
    }

    test('has done nothing: there is no host of that name', () => untouched('https://nobody.invalid'));
    test('has done nothing: it does not speak TLS', plain);
    test('has done nothing: it hangs up in the handshake', mute);
    test('has done nothing: the proxy refuses', async () => {
      const proxy = web(() => undefined).on('connect', (_, socket) => {
        socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      });
      await serving(proxy, async (proxy) => {
        const { status, stderr } = await cli.run([...restore, 'https://far.invalid'], {
          env: { HTTPS_PROXY: proxy },
        });
        assert.equal(status, 9);
        assert.match(stderr, /^error\[SERVICE_UNREACHABLE\]: .*proxy .*403/);
      });
    });
  });

  test('that hangs up leaves the outcome open, and tells the key', async () => {
    const hangUp: RequestListener = (request) => request.socket.destroy();
    await serving(web(hangUp), async (address) => {
      const restore = ['restore', 'origin', 'first', '--address', address];
      const { error, exitCode } = await cli.failure(...restore);
      assert.deepEqual([error.code, exitCode], ['ANSWER_LOST', 9]);
      assert.match(error.idempotencyKey, /^[0-9a-f]{32}$/);
      const { stderr } = await cli.run([...restore, '--idempotency-key', 'mine']);
      assert.match(stderr, /\nnote: with `--idempotency-key mine` /);
    });
  });

  test('that does not answer is waited for no longer than asked', async () => {
    await serving(
      web(() => undefined),
      async (address) => {
        const { error, exitCode } = await cli.failure(...LIST, '--address', address, '--timeout', '1s');
        assert.deepEqual([error.code, exitCode], ['ANSWER_LOST', 9]);
        assert.match(error.message, /time limit/);
      },
    );
  });

  test('behind a path is called there', async () => {
    const seen: (string | undefined)[] = [];
    const proxy = web((request, response) => {
      seen.push(request.url);
      response.end('{"snapshots":[]}');
    });
    await serving(proxy, (address) => cli.print(...LIST, '--address', `${address}/behind/`));
    assert.deepEqual(seen, ['/behind/v1/list']);
  });

  test('whose API is closed says how to open it', async () => {
    await using closed = await start({ snapshotter: { without: ['API_TOKEN'] } }).then(both);
    const { error, exitCode } = await closed.cli.failure(...LIST);
    assert.deepEqual([error.code, exitCode], ['API_TOKEN_MISSING', 5]);
    assert.match(error.remediation, /wrangler secret put API_TOKEN/);
    const { status, stdout } = await closed.cli.run(['doctor', '--json']);
    assert.deepEqual([status, found(stdout, 'token').code], [10, 'API_TOKEN_MISSING']);
    assert.equal(found(stdout, 'bucket').ok, true);
  });
});

describe('the doctor', () => {
  test('finds nothing wrong with a deployment that is well', async () => {
    const { ok, checks } = await cli.json('doctor');
    assert.equal(ok, true);
    const names = checks.map(({ name }: { name: string }) => name);
    assert.deepEqual(names.slice(0, 5), ['address', 'server', 'version', 'clock', 'token']);
    for (const name of ['bucket', 'sandboxes', 'directory', 'backupCredentials'])
      assert.ok(names.includes(name), name);
    const printed = await cli.print('doctor');
    assert.match(printed, /^✓ address .*\n✓ server .*\n(.*\n)*Nothing is wrong\.\n$/);
  });

  test('tells what is wrong with the token, and goes on', async () => {
    const { status, stdout, stderr } = await cli.run(['doctor', '--token', 'wrong']);
    assert.deepEqual([status, stderr], [10, '']);
    assert.match(
      stdout,
      /✗ token +UNAUTHORIZED: .*\n +→ .*\n(.*\n)*.* bucket .*\n(.*\n)*1 check failed\.\n$/,
    );
    await using bare = await Cli.of(address, '');
    const none = await bare.run(['doctor', '--json']);
    assert.deepEqual([none.status, found(none.stdout, 'token').detail], [10, 'None is given.']);
    assert.equal(await bare.run(['doctor', '--quiet']).then(({ stdout }) => stdout), 'token\n');
  });

  test('tells that nobody is there', async () => {
    const { status, stdout } = await cli.run(['doctor', '--json', '--address', await nowhere()]);
    const { ok, checks } = JSON.parse(stdout);
    assert.deepEqual([status, ok, checks.length], [10, false, 1]);
    assert.match(found(stdout, 'address').detail, /does not answer/);
  });

  test('tells what is wrong with the settings', async () => {
    const { status, stdout } = await cli.run(['doctor', '--json', '--address', 'nonsense']);
    assert.deepEqual([status, found(stdout, 'settings').code], [10, 'ADDRESS_INVALID']);
  });
});

describe('arguments that are wrong', () => {
  for (const args of [
    [],
    ['nonsense'],
    ['snapshot'],
    ['snapshot', 'create'],
    ['snapshot', 'create', 'origin', '--expires', 'soon'],
    ['snapshot', 'create', 'origin', '--replace'],
    ['restore', 'origin'],
    ['restore', 'origin', 'first', '--ref', '-'],
    ['snapshot', 'list', 'origin', '--limit', 'many'],
    ['workspace', 'start', 'notebook', '--on-diverged', 'guess'],
    ['--token', 'a', '--token-file', 'b', 'doctor'],
  ]) {
    test(`are refused in both forms: ${args.join(' ')}`, async () => {
      const people = await cli.run(args);
      assert.deepEqual([people.status, people.stdout], [2, '']);
      assert.match(people.stderr, /Usage|usage|--help/);
      const program = await cli.run([...args, '--json']);
      const { ok, error, exitCode } = JSON.parse(program.stdout);
      assert.deepEqual([program.status, ok, error.code, exitCode], [2, false, 'INVALID_USAGE', 2]);
      assert.equal(program.stderr, '');
    });
  }

  test('need not be text', async () => {
    const { status, stdout } = await cli.shell(String.raw`snapshotter doctor "$(printf '\377')" --json`);
    assert.deepEqual([status, JSON.parse(stdout).command], [2, 'doctor']);
  });

  test('of the server are too', async () => {
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
    assert.deepEqual(await cli.code('snapshot', 'create', 'origin', '--tag', ' x'), ['INVALID_LABEL', 2]);
  });

  test('name the standard input once', async () => {
    const twice = ['restore', '--ref', '-', '--token-file', '-', '--json'];
    const { status, stdout } = await cli.run(twice, { input: TOKEN });
    assert.deepEqual([status, JSON.parse(stdout).error.code], [2, 'INVALID_USAGE']);
  });

  test('have no port that there is none of', async () => {
    assert.deepEqual(await cli.code(...LIST, '--address', 'http://127.0.0.1:99999'), ['ADDRESS_INVALID', 2]);
  });

  test('name the command', async () => {
    assert.equal((await cli.failure('snapshot', 'list', '-')).command, 'snapshot list');
    assert.equal((await cli.failure('workspace', 'start', '--nonsense')).command, 'workspace start');
  });
});

/** One of the doctor's checks. */
function found(printed: string, name: string) {
  return JSON.parse(printed).checks.find((check: { name: string }) => check.name === name) ?? {};
}

/** A world and the program for it, until both are not needed any more. */
function both(started: { world: World; cli: Cli }) {
  return {
    ...started,
    async [Symbol.asyncDispose]() {
      await started.cli[Symbol.asyncDispose]();
      await started.world[Symbol.asyncDispose]();
    },
  };
}
