// The commands for named workspaces, and names instead of sandbox ids.

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
    assert.match(failed.stderr, /^error\[NAME_TAKEN\]: .*\nhelp: .*`workspace create --or-start`/);
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

describe('a name instead of a sandbox id', () => {
  /** Creates a workspace with a former and a present sandbox, and a snapshot of each. */
  async function workspaceWithFormerSandbox() {
    const former = await cli.id('workspace', 'create', name);
    await world.exec(former, 'echo former > file');
    await cli.print('snapshot', 'create', `@${name}`, '--label', 'former');
    await cli.print('workspace', 'update', name, '--back-to', 'former');
    const present = await world.workspace(name).sandboxId();
    await cli.print('snapshot', 'create', `@${name}`, '--label', 'present');
    return { former, present };
  }

  test('selects the present sandbox, and lists the snapshots of all sandboxes', async () => {
    const { former, present } = await workspaceWithFormerSandbox();
    const { snapshots } = await cli.json('snapshot', 'list', `@${name}`);
    const origins = snapshots.map((snapshot: any) => [snapshot.label, snapshot.ref.ref.originId]);
    assert.deepEqual(origins[0], ['present', present]);
    assert.deepEqual(origins.at(-1), ['former', former]);

    const paged = [];
    for (let cursor = undefined; ;) {
      const page = await cli.json(
        'snapshot',
        'list',
        `@${name}`,
        '--limit',
        '1',
        ...(cursor ? ['--cursor', cursor] : []),
      );
      paged.push(...page.snapshots.map((snapshot: any) => snapshot.snapshotId));
      if (!(cursor = page.cursor)) break;
    }
    assert.deepEqual(
      paged,
      snapshots.map((snapshot: any) => snapshot.snapshotId),
    );
  });

  test('selects a snapshot of a former sandbox by its label', async () => {
    const { former } = await workspaceWithFormerSandbox();
    const made = await cli.id('restore', `@${name}`, 'former');
    assert.ok(made.startsWith(`${former}-restored-`), made);
    assert.equal((await cli.json('snapshot', 'show', `@default/${name}`, 'former')).originId, former);
    const { error, exitCode } = await cli.failure('restore', `@${name}`, 'never');
    assert.deepEqual([error.code, exitCode], ['SNAPSHOT_NOT_FOUND', 3]);
    assert.match(error.message, new RegExp(`Searched sandboxes of @${name}: .*, ${former}\\.`));
  });

  test('selects a snapshot of a former sandbox by its id', async () => {
    await workspaceWithFormerSandbox();
    const id = (await cli.json('snapshot', 'show', `@${name}`, 'former')).snapshotId;
    const { from } = await cli.json('diff', `@${name}`, id, 'present');
    const { to } = await cli.json('diff', `@${name}`, 'present', id);
    assert.deepEqual([from, to], [id, id]);
    for (const command of [
      ['snapshot', 'show', `@${name}`, id],
      ['snapshot', 'verify', `@${name}`, id],
      ['ls', `@${name}`, id],
      ['cat', `@${name}`, id, 'file'],
      ['export', `@${name}`, id, '--output', '-'],
      ['workspace', 'fork', name, '--new-name', `${name}-fork`, '--from', id],
      ['workspace', 'rollback', name, id],
      ['snapshot', 'delete', `@${name}`, id, '--force', '--yes'],
    ]) {
      await cli.print(...command);
    }
    await cli.print('workspace', 'delete', `${name}-fork`, '--yes');
  });

  test('selects the newest snapshot with a label', async () => {
    await workspaceWithFormerSandbox();
    const first = (await cli.json('snapshot', 'show', `@${name}`, 'former')).snapshotId;
    const again = ['snapshot', 'create', `@${name}`, '--fresh', '--label', 'former'];
    assert.equal((await cli.failure(...again)).error.code, 'LABEL_TAKEN');
    const second = await cli.id(...again, '--replace');
    const labelled = (await cli.json('snapshot', 'show', `@${name}`, 'former')).snapshotId;
    const compared = (await cli.json('diff', `@${name}`, 'present', 'former')).to;
    assert.deepEqual([labelled, compared], [second, second]);
    const { error, exitCode } = await cli.failure('snapshot', 'label', `@${name}`, first, '--to', 'present');
    assert.deepEqual([error.code, exitCode], ['LABEL_TAKEN', 4]);
    await cli.print('snapshot', 'label', `@${name}`, second, '--to', 'other');
    assert.equal((await cli.json('snapshot', 'show', `@${name}`, 'former')).snapshotId, first);
  });

  test('continues from a label, and names the snapshot with the files before', async () => {
    await workspaceWithFormerSandbox();
    const rolledBack = await cli.print('workspace', 'rollback', name, 'present');
    const [, before = ''] = /\nfiles +rolled back to present\nsaved before +(snap-\w{16})\n$/.exec(
      rolledBack,
    )!;
    assert.equal((await cli.json('snapshot', 'show', `@${name}`, before)).cause, 'beforeRollback');
    const promoted = await cli.print('workspace', 'promote', name, '--from', 'former');
    assert.match(promoted, /\nfiles +promoted from former\nsaved before +snap-/);
    const ofWorkspace = ['--from', `@${name}`, '--snapshot', 'present'];
    const again = await cli.print('workspace', 'promote', name, ...ofWorkspace);
    assert.match(again, new RegExp(`\\nfiles +promoted from "present" of @${name}\\n`));
    const { error } = await cli.failure('cat', `@${name}`, 'main.py');
    assert.match(error.remediation, /write `@.*:main\.py`/);
  });

  test('compares the snapshot of a promoted fork, which `latest` selects', async () => {
    await cli.print('workspace', 'create', name);
    await cli.print('exec', `@${name}`, 'echo before > file');
    await cli.print('snapshot', 'create', `@${name}`, '--label', 'base');
    await cli.print('workspace', 'fork', name, '--new-name', `${name}-fork`);
    await cli.print('exec', `@${name}-fork`, 'echo changed in the fork > file');
    await cli.print('workspace', 'promote', name, '--from', `${name}-fork`);
    const { snapshotId } = await cli.json('snapshot', 'show', `@${name}`, 'latest');
    for (const newest of ['latest', snapshotId]) {
      assert.match(await cli.print('diff', `@${name}`, 'base', newest), / file\n$/);
      assert.match(await cli.print('diff', `@${name}`, newest, 'base'), / file\n$/);
    }
    const back = await cli.print('workspace', 'rollback', name, 'latest');
    assert.match(back, new RegExp(`files +rolled back to ${snapshotId}, the newest snapshot\n`));
  });

  test('deletes no snapshot of another workspace of the lineage', async () => {
    await workspaceWithFormerSandbox();
    const { snapshotId } = await cli.json('snapshot', 'show', `@${name}`, 'present');
    const fork = `${name}-fork`;
    await cli.json('workspace', 'fork', name, '--new-name', fork);
    assert.equal((await cli.json('snapshot', 'show', `@${fork}`, snapshotId)).label, 'present');
    for (const snapshot of [snapshotId, 'latest'])
      await cli.run(['snapshot', 'delete', `@${fork}`, snapshot, '--force', '--yes']);
    assert.equal((await cli.json('snapshot', 'show', `@${name}`, 'present')).state, 'ready');
  });

  test('selects all sandboxes for retention', async () => {
    await workspaceWithFormerSandbox();
    await cli.print('snapshot', 'create', `@${name}`, '--fresh', '--label', 'newest');
    const labels = async () => {
      const { snapshots } = await cli.json('snapshot', 'list', `@${name}`);
      return snapshots.map(({ label }: { label: string }) => label);
    };
    const before = await labels();
    const plan = await cli.json('retention', 'plan', `@${name}`, '--keep-last', '1');
    const planned = plan.decisions.filter(({ keep }: { keep: boolean }) => !keep);
    assert.deepEqual(
      [plan.evicted, plan.dryRun, plan.decisions.length],
      [planned.length, true, before.length],
    );
    assert.deepEqual(
      planned.map(({ label }: { label: string }) => label),
      ['present', 'former'],
    );
    assert.deepEqual(await labels(), before);

    const set = await cli.json('retention', 'set', `@${name}`, '--keep-last', '1', '--yes');
    const remaining = await labels();
    assert.deepEqual([set.evicted, set.dryRun, set.policy.keepLast.count], [planned.length, false, 1]);
    const removed = set.decisions.filter(({ keep }: { keep: boolean }) => !keep);
    assert.deepEqual(
      removed.map(({ label }: { label: string }) => label),
      before.filter((label: string) => !remaining.includes(label)),
    );
    assert.deepEqual((await cli.json('workspace', 'show', name)).retention, set.policy);
    const shown = await cli.json('retention', 'show', `@${name}`);
    assert.deepEqual(
      shown.decisions.map(({ label }: { label: string }) => label),
      remaining,
    );
    assert.match(await cli.print('retention', 'apply', `@${name}`, '--yes'), /\nNo snapshot was removed\.\n/);
  });

  test('selects the sandbox for lineages, checkpoints and retention', async () => {
    const sandbox = await cli.id('workspace', 'create', name);
    await world.exec(sandbox, 'echo x > file');
    assert.equal((await cli.json('lineage', `@${name}`)).root.workspace.name, name);
    assert.equal((await cli.json('checkpoint', 'create', `@${name}`, 'first')).name, 'first');
    await cli.print('retention', 'set', `@${name}`, '--keep-last', '2', '--yes');
    assert.equal((await cli.json('retention', 'show', `@${name}`)).policy.keepLast.count, 2);
    assert.equal((await cli.json('workspace', 'show', name)).retention.keepLast.count, 2);
  });

  test('of a missing workspace is not found', async () => {
    assert.deepEqual(await cli.code('snapshot', 'create', '@missing'), ['WORKSPACE_NOT_FOUND', 3]);
    // The command fails before it asks for a confirmation.
    const restore = ['checkpoint', 'restore', '@missing', 'first'];
    assert.deepEqual(await cli.code(...restore), ['WORKSPACE_NOT_FOUND', 3]);
  });
});
