// Names of workspaces in the place of sandbox ids.

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
    const withWarning = async (...args: string[]) => {
      const { stdout, stderr } = await cli.run([...args, '--json']);
      assert.match(stderr, /^warning: several snapshots have the label "former": /);
      return JSON.parse(stdout);
    };
    assert.equal((await withWarning('snapshot', 'show', `@${name}`, 'former')).snapshotId, second);
    assert.equal((await withWarning('diff', `@${name}`, 'present', 'former')).to, second);
    const { error, exitCode } = await cli.failure('snapshot', 'label', `@${name}`, first, '--to', 'present');
    assert.deepEqual([error.code, exitCode], ['LABEL_TAKEN', 4]);
    await cli.print('snapshot', 'label', `@${name}`, second, '--to', 'other');
    assert.equal((await cli.json('snapshot', 'show', `@${name}`, 'former')).snapshotId, first);
  });

  test('`snapshot list` marks a label that selects a newer snapshot', async () => {
    const sandbox = await cli.id('workspace', 'create', name);
    await world.exec(sandbox, 'echo 1 > file');
    const old = await cli.id('snapshot', 'create', `@${name}`, '--label', 'keep');
    await cli.print('workspace', 'rollback', name, 'keep');
    const list = async () => (await cli.print('snapshot', 'list', `@${name}`)).split('\n');
    const rowOf = (rows: string[], id: string) => rows.find((row) => row.startsWith(id));
    assert.match(rowOf(await list(), old)!, /^snap-\w+ +keep  /);
    const present = await cli.id('snapshot', 'create', `@${name}`, '--label', 'keep', '--fresh', '--replace');
    const rows = await list();
    assert.match(rowOf(rows, old)!, /^snap-\w+ +keep  .* ready, former sandbox/);
    assert.match(rowOf(rows, present)!, /^snap-\w+ +keep  /);
    const of = (id: string) => `${id} of [-0-9TZ:.]+`;
    const text = `^warning: several snapshots have the label "keep": ${of(present)} is used\\. Select another one by its id: ${of(old)}\n$`;
    const shown = await cli.run(['snapshot', 'show', `@${name}`, 'keep', '--json']);
    assert.equal(JSON.parse(shown.stdout).snapshotId, present);
    for (const { status, stderr } of [shown, await cli.run(['diff', `@${name}`, 'keep'])]) {
      assert.equal(status, 0, stderr);
      assert.match(stderr, new RegExp(text));
    }
    const { snapshots } = await cli.json('snapshot', 'list', `@${name}`);
    const labels = snapshots.map(({ label }: { label: string }) => label);
    assert.equal(labels.filter((label: string) => label === 'keep').length, 2, labels.join());
  });

  test('continues from a label, and names the snapshot with the files before', async () => {
    await workspaceWithFormerSandbox();
    const rolledBack = await cli.print('workspace', 'rollback', name, 'present');
    const [, before = ''] = /\nfiles +rolled back to present\nsaved before +(snap-\w{16})\n$/.exec(
      rolledBack,
    )!;
    assert.equal((await cli.json('snapshot', 'show', `@${name}`, before)).cause, 'beforeRollback');
    const promoted = await cli.print('workspace', 'promote', name, '--from', 'former');
    assert.match(promoted, /\nfiles +promoted from former, which stays as it is\nsaved before +snap-/);
    const ofWorkspace = ['--from', `@${name}`, '--snapshot', 'present'];
    const again = await cli.print('workspace', 'promote', name, ...ofWorkspace);
    assert.match(again, new RegExp(`\\nfiles +promoted from "present" of @${name}, which stays as it is\\n`));
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
    assert.match(back, new RegExp(`files +rolled back to ${snapshotId}, which is \`latest\`\n`));
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
    const { error } = await cli.failure('ls', `@${name}`, removed[0].label);
    assert.match(error.message, / was removed at /);
    assert.ok(error.remediation.includes(`\`snapshotter snapshot list @${name}\``), error.remediation);
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
