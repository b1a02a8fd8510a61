// What the text output says where the JSON has a code, a relative address, or nothing.

import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { after, before, beforeEach, describe, test } from 'node:test';

import { Cli, fakeServer, start, withServer } from './cli.ts';
import type { World } from '../world.ts';

let world: World;
let cli: Cli;
let names = 0;
let name: string;

before(async () => {
  ({ world, cli } = await start());
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});
beforeEach(() => {
  name = `texts-${++names}`;
});

/** Returns the row of the workspace in the list, in both output modes. */
async function listed(): Promise<{ row: string; entry: any }> {
  const list = ['workspace', 'list', '--prefix', name];
  const [, row = ''] = (await cli.print(...list)).split('\n');
  return { row, entry: (await cli.json(...list)).workspaces[0] };
}

describe('`workspace list`', () => {
  test('has the snapshots that a caller took of an active workspace', async () => {
    const sandbox = await cli.id('workspace', 'create', name);
    const never = await listed();
    assert.deepEqual([/ never /.test(never.row), never.entry.lastSavedAt], [true, undefined], never.row);

    await world.exec(sandbox, 'echo x > file');
    await cli.print('workspace', 'stop', name);
    await cli.print('workspace', 'start', name);
    await world.exec(sandbox, 'echo y > file');
    const { capture, ...taken } = await cli.json('snapshot', 'create', `@${name}`);
    const { lastSavedAt } = await cli.json('workspace', 'show', name);
    assert.equal(lastSavedAt, taken.ref.createdAt, JSON.stringify(capture));
    assert.equal((await listed()).entry.lastSavedAt, lastSavedAt);
  });

  test('prints the same times as text and as JSON', async () => {
    const at = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
    const entry = (state: string, index: number, saved?: string) => ({
      ...{
        name: `w${index}`,
        state,
        sandboxId: `s${index}`,
        version: 1,
        createdAt: at(90),
        updatedAt: at(90),
      },
      ...(saved && { lastSavedAt: saved }),
    });
    const workspaces = [entry('active', 0, at(30)), entry('active', 1), entry('stopped', 2, at(30))];
    const asked: string[] = [];
    const described = { ...DESCRIBED, lastSavedAt: at(5) };
    const listen: RequestListener = async (request, response) => {
      let body = '';
      for await (const part of request) body += part;
      const isList = request.url?.endsWith('/list');
      if (!isList) asked.push(JSON.parse(body).name);
      response.end(JSON.stringify(isList ? { workspaces } : described));
    };
    await withServer(fakeServer(listen), async (server) => {
      const text = await cli.print('workspace', 'list', '--address', server);
      const saved = text.split('\n').map((row) => / (\d+) min ago /.exec(row)?.[1]);
      assert.deepEqual(saved, [undefined, '5', '5', '30', undefined], text);
      const json = await cli.json('workspace', 'list', '--address', server);
      assert.deepEqual(
        json.workspaces.map(({ lastSavedAt }: { lastSavedAt: string }) => lastSavedAt),
        [described.lastSavedAt, described.lastSavedAt, workspaces[2]!.lastSavedAt],
      );
      assert.deepEqual(asked.sort(), ['w0', 'w0', 'w1', 'w1']);
    });
  });
});

test('`restore-files` says that an existing file was skipped and may differ', async () => {
  await world.exec(name, 'echo old > file; echo x > other');
  await cli.print('snapshot', 'create', name, '--label', 'before');
  await world.exec(name, 'echo new > file; rm other');
  const printed = await cli.print('restore-files', name, 'before', 'file', 'other');
  assert.match(printed, /^RESULT +PATH\nrestored +other\nskipped +file\n/);
  assert.match(
    printed,
    /\nin \/workspace of the sandbox texts-\d+\n1 file exists and was not replaced; it may differ from the snapshot\. .*--overwrite/,
  );
  const skipped = await cli.run(['restore-files', name, 'before', 'file', 'other']);
  assert.match(skipped.stdout, /\nNothing was restored: 2 files exist and were not replaced; /);
  assert.deepEqual([skipped.status, skipped.stderr], [4, '']);
  const again = await cli.print('restore-files', name, 'before', 'file', '--overwrite');
  assert.match(again, /^RESULT +PATH\nrestored +file\nin \/workspace of the sandbox texts-\d+\n$/);
  assert.equal(await world.exec(name, 'cat file'), 'old\n');
});

test('the output of a failed hook is readable', async () => {
  await cli.print('workspace', 'create', name, '--before-stop', 'echo one; echo two; exit 3');
  const stop = ['workspace', 'stop', name];
  const { stderr } = await cli.run(stop);
  assert.match(
    stderr,
    /^error\[HOOK_FAILED\]: .* failed with exit code 3\. Output: "one\n    two"\.\nhelp: /,
  );
  const { error } = await cli.failure(...stop);
  assert.match(error.message, / failed with exit code 3\. Output: "one\ntwo"\.$/);
  const shown = await cli.print('workspace', 'show', name);
  assert.match(shown, /^problem +HOOK_FAILED: .* Output: "one\n +two"\.\n/m);
  await cli.print('workspace', 'update', name, '--before-stop', 'echo three');
  assert.doesNotMatch(await cli.print('workspace', 'show', name), /^problem/m);
  assert.match(await cli.print(...stop), /^✓ before stop \(exit 0\)\n    three\n/m);
});

test('an error names the complete address of its page', async () => {
  const message = { code: 'INVALID_ARGUMENT', kind: 'permanent', message: 'No.', retryable: false };
  const remediation = 'Did you mean `label`? /docs/snapshots#v1-snapshot describes the options.';
  const refuse: RequestListener = (_, response) => {
    response.writeHead(400, { 'content-type': 'application/problem+json' });
    response.end(JSON.stringify({ ...message, remediation }));
  };
  await withServer(fakeServer(refuse), async (server) => {
    const address = ['--address', `${server}/prefix`];
    const create = ['snapshot', 'create', 'origin', ...address];
    for (const command of [create, ['exec', ...address, 'origin', 'true']]) {
      const { stderr } = await cli.run(command);
      const page = `${server}/prefix/docs/snapshots#v1-snapshot describes the options.`;
      assert.ok(stderr.includes(`? ${page}\n`), stderr);
    }
    const { error } = await cli.failure(...create);
    assert.ok(error.remediation.includes(`? ${server}/prefix/docs/snapshots#v1-snapshot describes`));
  });
});

test('an error has the same texts in both output modes', async () => {
  await world.exec(name, 'echo x > file');
  await cli.print('snapshot', 'create', name, '--label', 'before');
  await cli.print('snapshot', 'pin', name, 'before');
  for (const [command, options] of [
    [['snapshot', 'delete', name, 'before', '--yes'], /`--force`/],
    [['snapshot', 'create', name, '--label', 'before', '--fresh'], /`--replace`/],
    [['snapshot', 'create', name, '--expires', '1s'], /^`--expires` must be 0 or 1m–36500d, got 1s\./],
  ] as const) {
    const { stderr } = await cli.run([...command]);
    const { error } = await cli.failure(...command);
    const { message, remediation } = error;
    assert.ok(stderr.startsWith(`error[${error.code}]: ${message}\nhelp: ${remediation}\n`), stderr);
    assert.match(`${message} ${remediation}`, options);
  }
});

test('a workspace shows its last snapshot with id and size also after a rollback', async () => {
  const sandbox = await cli.id('workspace', 'create', name);
  await world.exec(sandbox, 'echo x > file');
  const taken = await cli.id('snapshot', 'create', `@${name}`, '--label', 'base');
  const expected = new RegExp(`^last snapshot +${taken}, [\\d.]+ k?B, \\d{4}-`, 'm');
  assert.match(await cli.print('workspace', 'show', name), expected);
  await cli.print('workspace', 'rollback', name, 'base');
  assert.match(await cli.print('workspace', 'show', name), expected);
});

test('a snapshot of a workspace that leaves out files says that no start uses it by itself', async () => {
  const sandbox = await cli.id('workspace', 'create', name);
  await world.exec(sandbox, 'mkdir cache; echo x | tee cache/a > file');
  const create = ['snapshot', 'create'];
  const { status, stderr } = await cli.run([...create, `@${name}`, '--exclude', 'cache', '--label', 'part']);
  assert.equal(status, 0, stderr);
  assert.match(
    stderr,
    /^warning: the snapshot leaves out files: a start of the workspace does not [^\n]+\n$/,
  );
  await cli.print(...create, sandbox, '--exclude', 'cache', '--label', 'of-id', '--fresh');
  const { error } = await cli.failure('restore-files', `@${name}`, 'part', 'cache');
  assert.match(
    error.message,
    /contains no "cache"\. The snapshot was taken without it, because `--exclude` or /,
  );
});

test('a path that a snapshot left out as a secret is reported as that', async () => {
  await world.exec(
    name,
    'echo "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzzzzz" > .env; echo x > f',
  );
  await cli.print('snapshot', 'create', name, '--label', 'noenv', '--secrets', 'exclude');
  for (const command of [
    ['restore-files', name, 'noenv', '.env'],
    ['cat', name, 'noenv', '.env'],
    ['cp', name, 'noenv', '.env', '.'],
  ]) {
    const { error } = await cli.failure(...command);
    assert.match(
      error.message,
      /contains no "\.env"\. .* without it, because a search found secrets in it\.$/,
    );
  }
  const { error } = await cli.failure('restore-files', name, 'noenv', 'missing');
  assert.doesNotMatch(error.message, /taken without/);
});

test('a comparison with a workspace that is not running names the command that starts it', async () => {
  const sandbox = await cli.id('workspace', 'create', name);
  await world.exec(sandbox, 'echo x > file');
  await cli.print('snapshot', 'create', `@${name}`, '--label', 'base');
  await world.kill(sandbox);
  const { error } = await cli.failure('diff', `@${name}`, 'base');
  const commands = [`workspace start ${name}`, `diff @${name} base latest`];
  for (const command of commands)
    assert.ok(error.remediation.includes(`\`snapshotter ${command}\``), error.remediation);
});

test('what exists no longer is not shown as if it existed', async () => {
  const sandbox = await cli.id('workspace', 'create', name);
  await world.exec(sandbox, 'echo x > file');
  await cli.print('workspace', 'stop', name);
  const [last = ''] = (await cli.print('snapshot', 'list', `@${name}`, '--quiet')).split('\n');
  const show = () => cli.print('workspace', 'show', name);
  assert.match(await show(), new RegExp(`^last snapshot +${last}, `, 'm'));
  await cli.print('snapshot', 'delete', `@${name}`, last, '--yes', '--force');
  const shown = await show();
  assert.doesNotMatch(shown, /^last (snapshot|saved)/m);

  await world.exec(`${name}-box`, 'mkdir app; echo x > app/file');
  await cli.print('snapshot', 'create', `${name}-box`, '--dir', '/workspace/app');
  await world.exec(`${name}-box`, 'rm -r app');
  const revived = await cli.print('revive', `${name}-box`);
  assert.match(revived, /^files +The container runs, but "\/workspace\/app" does not exist in it/m);
});

/** The description of an active workspace. */
const DESCRIBED = {
  ...{
    name: 'w',
    tenant: 'default',
    state: 'active',
    sandboxId: 's',
    formerSandboxIds: [],
    dir: '/workspace',
  },
  ...{ persistent: true, retention: { expirationSeconds: 0 }, hooks: {}, expiry: {}, dependsOn: {} },
  ...{
    envNames: [],
    createdAt: '2026-11-20T05:00:00.000Z',
    activeAt: '2026-11-20T05:00:00.000Z',
    history: [],
  },
};

test('`workspace promote` suggests the label or the fork that a text may mean', async () => {
  const sandbox = await cli.id('workspace', 'create', name);
  await world.exec(sandbox, 'echo first > file');
  await cli.print('snapshot', 'create', `@${name}`, '--label', 'before-lunch');
  await cli.json('workspace', 'fork', name, '--new-name', `${name}-try`);
  await cli.print('snapshot', 'create', `@${name}-try`, '--label', 'late');
  const promote = (from: string) => cli.failure('workspace', 'promote', name, '--from', from);

  const { error: misspelled } = await promote('before-lunhc');
  assert.equal(misspelled.remediation, 'Did you mean the snapshot "before-lunch"?');
  const { error: ofFork } = await promote('late');
  assert.match(ofFork.remediation, new RegExp(`promote ${name} --from @${name}-try --snapshot late`));
});

test('`snapshot import` says that a known backup keeps its label', async () => {
  await world.exec(name, 'echo x > file');
  const backup = await cli.file('handle.json', JSON.stringify(await world.backUp(name)));
  await cli.print('snapshot', 'import', name, '--backup', backup, '--label', 'first');
  const again = await cli.run(['snapshot', 'import', name, '--backup', backup, '--label', 'second']);
  assert.equal(again.status, 0, again.stderr);
  assert.match(again.stdout, /^label +first$/m);
  assert.match(
    again.stderr,
    /^warning: .* is the snapshot snap-\w+ already, which keeps the label "first"\n$/,
  );
});

test('a restore of a workspace says which files a snapshot left out', async () => {
  const sandbox = await cli.id('workspace', 'create', name);
  await world.exec(sandbox, 'echo KEY=x > .env; echo y > file');
  const labels = ['--label', 'shared', '--secrets', 'exclude'];
  const taken = await cli.run(['snapshot', 'create', `@${name}`, ...labels]);
  assert.match(taken.stderr, /^warning: the snapshot leaves out files: a start of the workspace does not /);
  const missing =
    /^warning: files with secrets are missing, because snap-\w+ was taken without them: 1 \(\.env\)\n$/;
  for (const command of [
    ['rollback', name, 'shared'],
    ['start', name, '--from', 'shared'],
    ['create', `${name}-copy`, '--from-snapshot', `@${name}`, 'shared'],
  ]) {
    const { status, stdout, stderr } = await cli.run(['workspace', ...command]);
    assert.equal(status, 0, stderr);
    assert.match(stderr, missing);
    assert.equal(/^saved before +snap-/m.test(stdout), command[0] !== 'create', stdout);
  }
});

test('`snapshot create --gitignore` outside of a git repository says that nothing is excluded', async () => {
  await world.exec(name, 'echo "*.log" > .gitignore; echo x > a.log');
  const create = (label: string) => cli.run(['snapshot', 'create', name, '--gitignore', '--label', label]);
  const outside = await create('outside');
  assert.equal(outside.status, 0, outside.stderr);
  assert.match(
    outside.stderr,
    /^warning: \/workspace has no \.git, so `--gitignore` excluded nothing unless /,
  );
  await world.exec(name, 'git init -q');
  const inside = await create('inside');
  assert.deepEqual([inside.status, inside.stderr], [0, ''], inside.stdout);
});

test('`workspace create --or-start` warns that an existing workspace keeps its settings', async () => {
  const create = ['workspace', 'create', name, '--or-start', '--idle'];
  await cli.print(...create, '30m', '--env', 'A=1');
  await cli.print(...create, '30m');
  for (const other of [
    ['1h', '--env', 'A=1'],
    ['30m', '--env', 'B=1'],
  ]) {
    const { status, stderr } = await cli.run([...create, ...other]);
    assert.deepEqual(
      [status, /^warning: the workspace existed and keeps its settings/.test(stderr)],
      [0, true],
      stderr,
    );
  }
});

test('the advice of a program from a clone is what the user types', async () => {
  const env = { SNAPSHOTTER_PROGRAM: 'npm run -s cli --' };
  for (const command of [
    ['snapshot', 'list'],
    ['workspace', 'show', 'unlike-others'],
  ]) {
    const { stderr } = await cli.run(command, { env });
    assert.match(stderr, /`npm run -s cli -- workspace /);
    assert.doesNotMatch(stderr, /`snapshotter /);
  }
});

describe('a usage error', () => {
  test('has the tip as its remediation in JSON mode, and no text of the help', async () => {
    const { error } = await cli.failure('snapshot', 'list');
    assert.match(error.message, /^the following required arguments were not provided: <SANDBOX\|@NAME>$/);
    assert.equal(
      error.remediation,
      'a workspace is named as @NAME: `snapshotter workspace list` lists the workspaces',
    );
  });

  test('names the help where there is no tip', async () => {
    const { error } = await cli.failure('doctor', '--nonsense');
    assert.equal(error.remediation, '`snapshotter doctor --help` explains the arguments.');
  });

  test('says how to bring in the files of a tar', async () => {
    for (const [file, unpack] of [
      ['a.tar', 'x'],
      ['a.tar.gz', 'xz'],
      ['my a.tgz', 'xz'],
    ]) {
      const { error } = await cli.failure('workspace', 'create', name, '--from', file!);
      assert.equal(error.code, 'INVALID_USAGE');
      assert.match(error.remediation, new RegExp(`snapshotter exec @${name} tar ${unpack} < `));
    }
  });

  test('says how to copy a file within a sandbox', async () => {
    const { error } = await cli.failure('cp', `@${name}:a`, `@${name}:b c`);
    assert.equal(error.remediation, `Run \`snapshotter exec @${name} cp a 'b c'\`.`);
  });
});
