// The commands for named workspaces.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { start, type Cli } from './cli.ts';
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
  name = `notebook-${++names}`;
});

describe('a workspace', () => {
  test('is created, stopped and started again with its files', async () => {
    const sandbox = await cli.id('workspace', 'create', name);
    await world.exec(sandbox, 'echo idea > file');
    const stopped = await cli.print('workspace', 'stop', name);
    assert.match(stopped, /\nstate +stopped\nsnapshot +snap-\w+, 4\.1 kB, /);
    const started = await cli.json('workspace', 'start', name);
    assert.deepEqual([started.how, started.sandboxId], ['restored', sandbox]);
    assert.equal(await world.exec(sandbox, 'cat file'), 'idea\n');
    assert.match(
      await cli.print('workspace', 'start', name),
      /\nfiles +already in place, restored from snap-\w+, which was \d+ s old\n/,
    );
  });

  test('with a taken name is refused, unless `--or-start` is passed', async () => {
    const sandbox = await cli.id('workspace', 'create', name);
    const again = ['workspace', 'create', name];
    assert.deepEqual(await cli.code(...again), ['NAME_TAKEN', 4]);
    assert.equal(await cli.id(...again, '--or-start'), sandbox);
    assert.deepEqual(await cli.code(...again, '--allow-empty'), ['INVALID_USAGE', 2]);
  });

  test('is created once for a repeated key', async () => {
    const create = ['workspace', 'create', name, '--idempotency-key', 'mine'];
    assert.equal(await cli.id(...create), await cli.id(...create));
  });

  test('has the settings of the options and files', async () => {
    const settings = { hooks: { beforeStop: { command: 'sync' } }, expiry: { maxSeconds: 7200 } };
    const file = await cli.file('settings.json', JSON.stringify(settings));
    const env = await cli.file('settings.env', '# comment\nFROM_FILE=1\n');
    const options = [
      '--settings',
      file,
      '--idle',
      '1h',
      '--after-start',
      'echo "$FROM_FILE $GIVEN" > started',
    ];
    const more = [
      '--env-file',
      env,
      '--env',
      'GIVEN=2',
      '--keep-last',
      '3',
      '--fingerprint',
      'abc',
      '--on-mismatch',
      'report',
    ];
    const made = await cli.json('workspace', 'create', name, ...options, ...more);
    assert.equal(await world.exec(made.sandboxId, 'cat started'), '1 2\n');
    assert.deepEqual(made.expiry, { idleSeconds: 3600, maxSeconds: 7200 });
    assert.deepEqual(Object.keys(made.hooks), ['afterStart', 'beforeStop']);
    assert.deepEqual([made.envNames, made.retention.keepLast.count], [['FROM_FILE', 'GIVEN'], 3]);
    assert.deepEqual([made.dependsOn.fingerprint, made.dependsOn.onMismatch], ['abc', 'report']);

    const shown = await cli.print('workspace', 'show', name);
    assert.match(shown, /\nstops when idle +1 h\nstops at age +2 h\n/);
    assert.match(shown, /\nvariables +FROM_FILE, GIVEN\n/);
    assert.equal((await cli.json('workspace', 'update', name, '--idle', 'never')).expiry.idleSeconds, 0);
  });

  test('keeps the parts of a setting that no option changes', async () => {
    await cli.print('workspace', 'create', name, '--max-age', '2h', '--before-stop', 'true');
    await cli.print('retention', 'set', `@${name}`, '--expires', 'never', '--yes');
    await cli.print('retention', 'set', `@${name}`, '--keep-last', '5', '--yes');
    const options = ['--idle', '1h', '--after-start', 'true', '--keep-daily', '3'];
    const { expiry, hooks, retention } = await cli.json('workspace', 'update', name, ...options);
    assert.deepEqual(expiry, { idleSeconds: 3600, maxSeconds: 7200 });
    assert.deepEqual(Object.keys(hooks), ['afterStart', 'beforeStop']);
    assert.deepEqual([retention.expirationSeconds, retention.keepLast.count, retention.keepDaily], [0, 5, 3]);
    const without = await cli.json('workspace', 'update', name, '--no-keep-last');
    assert.deepEqual([without.retention.keepLast, without.retention.keepDaily], [undefined, 3]);
  });

  test('copies a variable from the environment, and is refused if it is not set', async () => {
    const { status } = await cli.run(['workspace', 'create', name, '--env', 'SECRET'], {
      env: { SECRET: 'x' },
    });
    assert.equal(status, 0);
    assert.deepEqual((await cli.json('workspace', 'show', name)).envNames, ['SECRET']);
    assert.deepEqual(await cli.code('workspace', 'update', name, '--env', 'SECRET'), ['INVALID_USAGE', 2]);
  });

  test('that is stale is started only with `--accept-stale`', async () => {
    const sandbox = await cli.id('workspace', 'create', name, '--fingerprint', 'a', '--depends-on', 'file');
    await world.exec(sandbox, 'echo x > file');
    await cli.print('workspace', 'stop', name);
    const start = ['workspace', 'start', name, '--fingerprint', 'b'];
    assert.deepEqual(await cli.code(...start), ['SNAPSHOT_STALE', 4]);
    assert.match(await cli.print(...start, '--accept-stale'), /\nstale +the fingerprint is "b", and was "a"/);
    await cli.print('workspace', 'stop', name);
    const expect = ['--expect', `file=${'0'.repeat(64)}`];
    assert.deepEqual(await cli.code('workspace', 'start', name, ...expect), ['SNAPSHOT_STALE', 4]);
  });

  test('that was cold-started is handled as `--on-diverged` requests', async () => {
    await cli.print('workspace', 'create', name);
    await world.workspace(name).coldStart('echo since > file');
    assert.deepEqual(await cli.code('workspace', 'start', name), ['WORKSPACE_DIVERGED', 4]);
    assert.equal((await cli.json('workspace', 'start', name, '--on-diverged', 'adopt')).how, 'adopted');
  });

  test('is forked', async () => {
    await cli.print('workspace', 'create', name);
    const { forks } = await cli.json('workspace', 'fork', name, '--new-name', `${name}-try`, '--count', '2');
    assert.deepEqual(
      forks.map((fork: { name: string }) => fork.name),
      [`${name}-try-1`, `${name}-try-2`],
    );
    const one = ['workspace', 'fork', name, '--idempotency-key', 'mine'];
    assert.match(
      await cli.print(...one),
      new RegExp(`^WORKSPACE +STATE +SANDBOX\n${name}-fork-\\w+ +active +${name}-\\w+-branch-`),
    );
    assert.equal(await cli.id(...one), await cli.id(...one));
  });

  test('whose fork fails ends the command with the status of the failure', async () => {
    await cli.print('workspace', 'create', name);
    await cli.print('workspace', 'create', `${name}-try-2`);
    const fork = ['workspace', 'fork', name, '--new-name', `${name}-try`, '--count', '2', '--json'];
    const { status, stdout } = await cli.run(fork);
    const [first, second] = JSON.parse(stdout).forks;
    assert.deepEqual([status, first.error, second.error.code], [4, undefined, 'NAME_TAKEN']);

    const quiet = await cli.run([
      'workspace',
      'fork',
      name,
      '--new-name',
      `${name}-two`,
      '--count',
      '1',
      '--quiet',
    ]);
    assert.deepEqual(quiet, { status: 0, stdout: `${name}-two\n`, stderr: '' });
    const failed = await cli.run(['workspace', 'fork', name, '--new-name', `${name}-two`, '--quiet']);
    assert.deepEqual([failed.status, failed.stdout], [4, '']);
    assert.match(failed.stderr, /^error\[NAME_TAKEN\]: .*\nhelp: .*another name.*--new-name/);
  });

  test('goes back to an earlier snapshot by its label', async () => {
    const sandbox = await cli.id('workspace', 'create', name);
    await world.exec(sandbox, 'echo before > file');
    await cli.print('snapshot', 'create', `@${name}`, '--label', 'before');
    await world.exec(sandbox, 'echo after > file');
    const { sandboxId } = await cli.json('workspace', 'update', name, '--back-to', 'before');
    assert.notEqual(sandboxId, sandbox);
    assert.equal(await world.exec(sandboxId, 'cat file'), 'before\n');
  });

  test('is created from another workspace or from a snapshot', async () => {
    const sandbox = await cli.id('workspace', 'create', name);
    await world.exec(sandbox, 'echo x > file');
    const ref = await cli.file(
      'ref.json',
      await cli.print('snapshot', 'create', `@${name}`, '--label', 'first', '--json'),
    );
    for (const [index, source] of [
      ['--from-workspace', name],
      ['--from-snapshot', `@${name}`, 'first'],
      ['--from-ref', ref],
    ].entries()) {
      const made = await cli.id('workspace', 'create', `${name}-${index}`, ...source);
      assert.equal(await world.exec(made, 'cat file'), 'x\n', source[0]);
    }
  });

  test('is deleted', async () => {
    await cli.print('workspace', 'create', name);
    assert.match(
      await cli.print('workspace', 'delete', name, '--yes'),
      new RegExp(`^Deleted ${name}, with 0 snapshots\\.`),
    );
    assert.deepEqual(await cli.code('workspace', 'show', name), ['WORKSPACE_NOT_FOUND', 3]);
    assert.match(
      await cli.print('workspace', 'delete', name, '--yes'),
      new RegExp(`^${name} was deleted before at .* \\((now|\\d+ s ago)\\)\\.\n`),
    );
  });

  test('is not deleted by a similar name, which is reported', async () => {
    await cli.print('workspace', 'create', `typo/${name}`);
    const { error, exitCode } = await cli.failure('workspace', 'delete', `typo/${name}x`, '--yes');
    assert.deepEqual([error.code, exitCode], ['WORKSPACE_NOT_FOUND', 3]);
    assert.match(error.message, / Nothing of this name was deleted\.$/);
    assert.equal(error.remediation, `Did you mean the workspace @typo/${name}?`);
    await cli.print('workspace', 'show', `typo/${name}`);
  });

  test('is listed for its tenant only', async () => {
    const tenant = `tenant-${name}`;
    for (const each of ['a-1', 'a-2', 'b-1']) await cli.print('workspace', 'create', `${tenant}/${each}`);
    const listed = async (...options: string[]) => {
      const { workspaces, ...rest } = await cli.json('workspace', 'list', '--tenant', tenant, ...options);
      return { names: workspaces.map(({ name }: { name: string }) => name), ...rest };
    };
    assert.deepEqual(await listed(), { names: ['a-1', 'a-2', 'b-1'] });
    assert.deepEqual(await listed('--prefix', 'a-'), { names: ['a-1', 'a-2'] });
    const { names, cursor } = await listed('--limit', '2');
    assert.deepEqual([names, await listed('--cursor', cursor)], [['a-1', 'a-2'], { names: ['b-1'] }]);
    assert.match(
      await cli.print('workspace', 'list', '--tenant', tenant),
      /^NAME +SIZE +STATE +SINCE +SAVED +RUNTIME +SANDBOX\na-1 +– +active +\S.* never /,
    );
    const none = await cli.print('workspace', 'list', '--tenant', 'unused');
    assert.equal(none, 'The tenant "unused" has no workspaces.\n');
    assert.equal(
      await cli.print('workspace', 'list', '--tenant', tenant, '--prefix', 'c'),
      'There are no workspaces whose name begins with "c".\n',
    );
  });
});
