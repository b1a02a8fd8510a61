// The commands for retention, checkpoints, lineages, keys and the bucket, in both output modes.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';

import { start, type Cli } from './cli.ts';
import type { World } from '../world.ts';

let world: World;
let cli: Cli;
let origins = 0;
let origin: string;

before(async () => {
  ({ world, cli } = await start());
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});
beforeEach(async () => {
  origin = `origin-${++origins}`;
  await world.exec(origin, 'echo x > file');
});

/** Takes snapshots with these labels. */
async function take(...labels: string[]) {
  for (const label of labels) await cli.print('snapshot', 'create', origin, '--fresh', '--label', label);
}

/** Returns the output of `printf` for a format without directives. */
function unescaped(format: string): string {
  const named: Record<string, string> = { n: '\n', r: '\r', t: '\t' };
  const bytes = format.replace(/\\(\d{3}|[nrt])/g, (_, code: string) => {
    return named[code] ?? String.fromCharCode(parseInt(code, 8));
  });
  return Buffer.from(bytes, 'latin1').toString();
}

describe('retention', () => {
  test('is planned with reasons before it is applied', async () => {
    await take('one', 'two', 'three');
    const plan = await cli.print('retention', 'plan', origin, '--keep-last', '1');
    assert.match(
      plan,
      /^policy: expires 30 days after the last use; keeps at most the newest 1\nID +LABEL +TAKEN +REMOVED BECAUSE\n/,
    );
    assert.match(
      plan,
      / one +\S.* not among the newest 1 of its sandbox\n2 snapshots would be removed\.\nA label protects no snapshot: `snapshotter snapshot pin` does\.\n$/,
    );
    assert.deepEqual(await world.labels(origin), ['three', 'two', 'one']);
    const present = await cli.print('retention', 'plan', origin);
    assert.match(present, /^policy: .*\nNo snapshot would be removed\.\n$/);
    const kept = await cli.print('retention', 'show', origin);
    assert.match(kept, / three +\S.* the newest snapshot that can be restored.*\n/);
    assert.match(kept, / it expires in 30 days\n$/);
  });

  test('is set, shown and applied', async () => {
    await take('one', 'two');
    const rules = [
      '--keep-last',
      '1',
      '--keep-last-expires',
      '1d',
      '--keep-daily',
      '2',
      '--keep-weekly',
      '3',
    ];
    const set = await cli.json('retention', 'set', origin, ...rules, '--expires', 'never', '--yes');
    const keepLast = { count: 1, expirationSeconds: 86_400, deleteEvicted: true };
    assert.deepEqual(set.policy, { keepLast, expirationSeconds: 0, keepDaily: 2, keepWeekly: 3 });
    assert.deepEqual((await cli.json('retention', 'show', origin)).policy, set.policy);
    assert.equal(await cli.print('retention', 'apply', origin, '--yes', '--quiet'), '');
    assert.match(
      await cli.print('retention', 'apply', origin, '--yes'),
      /\nNo snapshot was removed\.\nA label protects no snapshot: `snapshotter snapshot pin` does\.\n$/,
    );
  });

  test('removes the snapshots that a new policy does not keep', async () => {
    await take('one', 'two');
    const printed = await cli.print('retention', 'set', origin, '--keep-last', '1', '--yes');
    assert.match(
      printed,
      / not among the newest 1 of its sandbox\n1 snapshot removed\.\nA label protects no snapshot: `snapshotter snapshot pin` does\.\n$/,
    );
    assert.deepEqual(await world.labels(origin), ['two']);
  });

  test('is not set without a rule', async () => {
    assert.deepEqual(await cli.code('retention', 'set', origin, '--yes'), ['INVALID_USAGE', 2]);
  });
});

describe('a checkpoint', () => {
  test('is created, listed, compared and restored', async () => {
    const made = await cli.print('checkpoint', 'create', origin, 'first', '--message', 'it works');
    assert.match(made, /^checkpoint +first\ncommit +\w{40}\ncreated .*\nmessage +it works\n$/);
    assert.match(
      await cli.print('checkpoint', 'list', origin),
      /^NAME .*\nfirst +\w{10} +(now|.* ago) +it works\n$/,
    );
    assert.equal((await cli.json('checkpoint', 'list', origin)).checkpoints.length, 1);

    await world.exec(origin, 'echo y > file');
    assert.match(await cli.print('checkpoint', 'diff', origin, 'first'), /^diff --git .*\n-x\n\+y\n$/s);
    const restored = await cli.json('checkpoint', 'restore', origin, 'first', '--yes');
    assert.deepEqual([restored.changed, restored.changedCount], [['file'], 1]);
    assert.equal(await world.exec(origin, 'cat file'), 'x\n');
    const undo = ['git', 'update-ref', 'refs/sandbox/snapshots/undo', restored.before];
    await cli.print('exec', origin, ...undo);
    const undone = await cli.print('checkpoint', 'restore', origin, 'undo', '--yes');
    assert.match(undone, new RegExp(`snapshotter exec ${origin} ${undo.slice(0, 3).join(' ')} \\w{40}\n`));
    assert.equal(await world.exec(origin, 'cat file'), 'y\n');
    await cli.print('checkpoint', 'restore', origin, 'first', '--yes');
    const same = await cli.run(['checkpoint', 'diff', origin, 'first']);
    const note = 'The files are as in the checkpoint first.\n';
    assert.deepEqual(same, { status: 0, stdout: '', stderr: note });
    const again = await cli.print('checkpoint', 'restore', origin, 'first', '--yes');
    assert.equal(again, 'The files already match the checkpoint first.\n');
    const { error } = await cli.failure('checkpoint', 'restore', origin, 'frist', '--yes');
    assert.match(error.remediation, /^Did you mean the checkpoint "first"\?/);
  });

  test('is compared in colors, with escaped control characters', async () => {
    await cli.print('checkpoint', 'create', origin, 'first');
    await world.exec(origin, String.raw`printf '\033[2Jgone\n' > file`);
    const { stdout } = await cli.run(['checkpoint', 'diff', origin, 'first'], {
      env: { CLICOLOR_FORCE: '1' },
    });
    assert.match(stdout, /\x1b\[32m\+\\u\{1b\}\[2Jgone\x1b\[0m\n$/);
    assert.ok((await cli.json('checkpoint', 'diff', origin, 'first')).diff.includes('\x1b[2J'));
  });

  test('is compared up to the requested size', async () => {
    await cli.print('checkpoint', 'create', origin, 'first');
    await world.exec(origin, 'seq 1000 > file');
    const compare = ['checkpoint', 'diff', origin, 'first', '--max-bytes', '200'];
    const { status, stdout, stderr } = await cli.run(compare);
    const { diff } = await cli.json(...compare);
    assert.deepEqual([status, stdout], [0, diff]);
    assert.match(
      stderr,
      /^warning: The diff is truncated\. The complete diff has \d\.\d kB: pass --max-bytes \d+\n$/,
    );
  });

  test('is compared in an applicable patch, if the output is not a terminal', async () => {
    const before = String.raw`first\033[1m\n\tsecond\r\nthird\342\200\250\nfourth \342\200\256\n\033[2Jfifth`;
    const after = before.replace('second', 'another').replace('fifth', 'last');
    await world.exec(origin, `printf '${before}' > file`);
    await cli.print('checkpoint', 'create', origin, 'first');
    await world.exec(origin, `printf '${after}' > file`);
    const patch = await cli.file('changes.patch', await cli.print('checkpoint', 'diff', origin, 'first'));
    const folder = dirname(await cli.file('file', unescaped(before)));
    execFileSync('git', ['apply', patch], { cwd: folder });
    assert.equal(await readFile(join(folder, 'file'), 'utf8'), unescaped(after));

    const { child, ended } = cli.beginOnTerminal(['checkpoint', 'diff', origin, 'first']);
    child.stdin?.end();
    const { stdout } = await ended;
    assert.match(stdout, /\\u\{1b\}\[2Jlast/);
    assert.doesNotMatch(stdout, /\x1b\[2J|\u2028|\u202e/);
  });

  test('that does not exist is not found', async () => {
    assert.deepEqual(await cli.code('checkpoint', 'diff', origin, 'never'), ['CHECKPOINT_NOT_FOUND', 3]);
    assert.deepEqual(await cli.code('checkpoint', 'create', origin, '-x'), ['INVALID_USAGE', 2]);
    assert.deepEqual(await cli.code('checkpoint', 'create', origin, 'a..b'), ['INVALID_CHECKPOINT_NAME', 2]);
    assert.deepEqual(await cli.code('checkpoint', 'list', 'unused'), ['SANDBOX_NOT_RUNNING', 4]);
  });
});

test('`lineage` prints a tree with statuses and dependents', async () => {
  await take('first', 'second');
  await cli.print('snapshot', 'pin', origin, 'second');
  const restored = await cli.id('restore', origin, 'first');
  const branch = await cli.id('branch', origin, 'first');
  await world.sandbox(branch, 'destroy');
  const [one, two] = [restored, branch].toSorted() as [string, string];
  const words = (sandbox: string) =>
    sandbox === restored ? `${restored}  running  restored` : `${branch}  ended  branch`;
  const tree = (await cli.print('lineage', origin)).replaceAll(/(now|\d+ s ago)/g, 'AGE');
  const [second, first] = (await cli.json('snapshot', 'list', origin)).snapshots;
  assert.equal(
    tree,
    [
      `${origin}  running`,
      `├─ ${second.snapshotId}  second  4.1 kB  AGE  pinned`,
      `└─ ${first.snapshotId}  first  4.1 kB  AGE  needed by ${one}, ${two}`,
      `   ├─ ${words(one)}`,
      `   └─ ${words(two)}`,
      '3 sandboxes\n',
    ].join('\n'),
  );
  const { root } = await cli.json('lineage', restored, '--no-check');
  assert.deepEqual([root.sandboxId, root.running], [origin, undefined]);
  assert.deepEqual((await cli.print('lineage', origin, '--quiet')).trimEnd().split('\n'), [origin, one, two]);
});

test('`lineage` marks former sandboxes of a workspace, and omits the names of deleted workspaces', async () => {
  const { sandboxId: first } = await world.workspace('trials').getOrCreate();
  const attempt = (await cli.json('workspace', 'fork', 'trials', '--new-name', 'attempt')).forks[0].value;
  await cli.print('workspace', 'promote', 'trials', '--from', 'attempt');
  const { sandboxId: present } = await cli.json('workspace', 'show', 'trials');
  assert.match(await cli.print('lineage', '@trials'), new RegExp(`${attempt.sandboxId} .* @attempt\n`));
  await cli.print('workspace', 'delete', 'attempt', '--yes');
  const tree = await cli.print('lineage', '@trials');
  assert.match(tree, new RegExp(`${first}  ended  former @trials\n`));
  assert.match(tree, new RegExp(`${present}  running .* @trials\n`));
  assert.doesNotMatch(tree, /@attempt/);
});

test('`key rotate` rotates the key', async () => {
  await take('first');
  assert.match(
    await cli.print('key', 'rotate', origin, '--yes'),
    /^New refs are signed with the key \d+\. Refs that the key \d+ signed /,
  );
  const { key, previous } = await cli.json('key', 'rotate', origin, '--yes');
  assert.equal(key, previous + 1);
});

test('`sweep` deletes backups that no snapshot owns', async () => {
  const ref = await world.snapshot(origin);
  await world.orphanBackup(ref);
  const { scanned, deleted, dryRun } = await cli.json('sweep', '--dry-run', '--grace', '0');
  assert.deepEqual([deleted, dryRun], [1, true]);
  assert.match(
    await cli.print('sweep', '--grace', '0', '--yes'),
    new RegExp(`^BACKUPS\n +1 +deleted\n(.*\n)*.* ${scanned} +in the bucket\n1 backup was deleted\.\n$`),
  );
  assert.equal((await cli.json('sweep', '--dry-run', '--grace', '0')).deleted, 0);
});

test('`sweep` lists archives without metadata', async () => {
  const key = 'backups/00000000-0000-4000-8000-00000000000a/data.sqsh';
  await world.write(key, 'an archive');
  const { unowned, unownedObjects } = await cli.json('sweep', '--dry-run', '--grace', '0');
  assert.deepEqual([unowned, unownedObjects[0].key, unownedObjects[0].sizeBytes], [1, key, 10]);
  const printed = await cli.print('sweep', '--dry-run', '--grace', '0');
  assert.match(printed, new RegExp(`\nARCHIVES WITHOUT METADATA +SIZE +AGE\n${key} +10 B +\\d+ s\n`));
  await world.delete(key);
});

describe('an unknown workspace', () => {
  const NOTEBOOK = 'Did you mean the workspace @notebook?';
  for (const [command, remediation] of [
    [['workspace', 'show', 'notebok'], NOTEBOOK],
    [['workspace', 'start', '@notebok'], NOTEBOOK],
    [['workspace', 'fork', 'Notebook'], NOTEBOOK],
    [['workspace', 'create', 'fresh', '--from-workspace', 'notebok'], NOTEBOOK],
    [['workspace', 'promote', 'elsewhere', '--from', 'notebok'], NOTEBOOK],
    [['snapshot', 'list', '@notebok'], NOTEBOOK],
    [['workspace', 'show', 'shop/sketchs'], 'Did you mean the workspace @shop/sketches?'],
  ] as const)
    test(`is reported by \`${command.join(' ')}\`, with the workspace of a similar name`, async () => {
      await world.workspace('notebook').getOrCreate();
      await world.workspace('sketches', 'shop').getOrCreate();
      await world.workspace('elsewhere').getOrCreate();
      const { exitCode, error } = await cli.failure(...command);
      assert.deepEqual([exitCode, error.code, error.remediation], [3, 'WORKSPACE_NOT_FOUND', remediation]);
    });

  test('is never explained by the other workspace of the command', async () => {
    await world.workspace('solitary').getOrCreate();
    const { error } = await cli.failure('workspace', 'promote', 'solitary', '--from', 'solitary-fork');
    assert.match(error.remediation, /^Select another one: /);
  });

  test('has the usual remediation if no name is similar', async () => {
    const { error } = await cli.failure('workspace', 'show', 'xyzzy');
    assert.match(error.remediation, /^Create it with `snapshotter workspace create`/);
  });
});

test('the restore drill of the documentation restores the newest snapshot of a workspace', async () => {
  const page = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const [, script] = /## The restore drill\n[^]*?```sh\n([^]*?)```/.exec(page) ?? [];
  const drill = (check: string) => cli.shell(`set -- drilled '${check}'\n${script}`, 'bash');
  await world.workspace('drilled').getOrCreate();
  assert.match((await drill('true')).stderr, /^@drilled has no snapshot to restore\.$/m);

  for (const content of ['1', '2']) {
    await cli.print('exec', '@drilled', `echo ${content} > file`);
    await cli.print('snapshot', 'create', '@drilled', '--label', content);
  }
  const succeeded = await drill('grep 2 file');
  assert.equal(succeeded.status, 0, succeeded.stderr);
  assert.match(succeeded.stdout, /Restored snap-\w{16} of @drilled\. The check succeeded: grep 2 file\n/);
  const failed = await drill('grep 1 file');
  assert.match(failed.stderr, /HOOK_FAILED/);
  assert.doesNotMatch(await cli.print('workspace', 'list'), /drill-/);
});

describe('an unknown sandbox', () => {
  for (const command of [
    ['lineage', 'notebok'],
    ['lineage', 'notebok', '--no-check'],
    ['snapshot', 'list', 'notebok'],
    ['key', 'rotate', 'notebok', '--yes'],
    ['retention', 'set', 'notebok', '--keep-last', '2', '--yes'],
    ['retention', 'show', 'notebok'],
    ['retention', 'plan', 'notebok'],
    ['retention', 'apply', 'notebok', '--yes'],
  ])
    test(`is reported by \`${command.join(' ')}\`, with the workspace of a similar name`, async () => {
      await world.workspace('notebook').getOrCreate();
      const { exitCode, error } = await cli.failure(...command);
      assert.deepEqual([exitCode, error.code], [3, 'SANDBOX_UNKNOWN']);
      assert.match(error.message, /^Nothing is known of the sandbox "notebok": /);
      assert.equal(error.remediation, 'Did you mean the workspace @notebook?');
    });

  for (const [code, ...command] of [
    ['SANDBOX_UNKNOWN', 'lineage', 'notebook'],
    ['SANDBOX_UNKNOWN', 'snapshot', 'list', 'notebook'],
    ['SANDBOX_UNKNOWN', 'retention', 'set', 'notebook', '--keep-last', '2', '--yes'],
    ['SANDBOX_NOT_RUNNING', 'snapshot', 'create', 'notebook'],
    ['SANDBOX_NOT_RUNNING', 'ls', 'notebook:'],
    ['SNAPSHOT_NOT_FOUND', 'restore', 'notebook', 'before'],
  ])
    test(`with the name of a workspace suggests the @ after \`${command.join(' ')}\``, async () => {
      await world.workspace('notebook').getOrCreate();
      const { error } = await cli.failure(...command);
      assert.deepEqual(
        [error.code, error.remediation],
        [code, 'It is the name of a workspace: write @notebook.'],
      );
    });

  test('with the name and the tenant of a workspace suggests the @', async () => {
    await cli.print('workspace', 'create', 'acme/api');
    const { error } = await cli.failure('lineage', 'acme/api');
    assert.equal(error.remediation, 'It is the name of a workspace: write @acme/api.');
  });

  test('that is the target of `restore-files` is reported', async () => {
    await cli.print('snapshot', 'create', origin, '--label', 'for-files');
    const restore = ['restore-files', origin, 'for-files', 'file', '--to', 'notebok'];
    assert.equal((await cli.failure(...restore)).error.code, 'SANDBOX_UNKNOWN');
  });

  for (const command of [
    ['ls', 'ghost:'],
    ['cat', 'ghost:file'],
    ['exec', 'ghost', '--shell', 'true'],
    ['snapshot', 'create', 'ghost'],
  ])
    test(`that may be misspelled is reported by \`${command.join(' ')}\``, async () => {
      const { error } = await cli.failure(...command);
      assert.equal(error.code, 'SANDBOX_NOT_RUNNING');
      assert.match(error.message, /^Nothing is known of the sandbox "ghost": /);
      assert.match(error.remediation, /^Pass the id of a sandbox, or @NAME /);
    });

  for (const target of ['notebook', '@notebook'])
    test(`or a workspace that is revived as ${target} is to be started instead`, async () => {
      await world.workspace('notebook').getOrCreate();
      const { error } = await cli.failure('revive', target);
      assert.equal(error.remediation, 'Start the workspace: `snapshotter workspace start @notebook`.');
    });

  test('is not a running sandbox without snapshots', async () => {
    assert.match(await cli.print('snapshot', 'list', origin), /^There are no snapshots/);
    assert.match(await cli.print('lineage', origin), new RegExp(`^${origin}  running`));
  });
});
