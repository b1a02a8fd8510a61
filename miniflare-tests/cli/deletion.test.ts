// `workspace delete` with several names.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { start, type Cli } from './cli.ts';
import type { World } from '../world.ts';

let world: World;
let cli: Cli;
let names = 0;
let all: [string, string, string];

before(async () => {
  ({ world, cli } = await start());
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});
beforeEach(async () => {
  names += 1;
  all = [`a-${names}`, `other/b-${names}`, `c-${names}`];
  for (const name of all) await cli.print('workspace', 'create', name);
});

/** Asserts that the workspaces do not exist. */
async function assertDeleted(...deleted: string[]) {
  for (const name of deleted)
    assert.deepEqual(await cli.code('workspace', 'show', name), ['WORKSPACE_NOT_FOUND', 3]);
}

describe('several workspaces', () => {
  test('are deleted in order', async () => {
    const [a, b, c] = all;
    const deleted = await cli.print('workspace', 'delete', a, `@${b}`, '--yes');
    assert.equal(deleted, `Deleted ${a}, with 0 snapshots.\nDeleted ${b}, with 0 snapshots.\n`);
    await assertDeleted(a, b);
    await cli.print('workspace', 'show', c);
  });

  test('are deleted although another one fails, whose status is that of the command', async () => {
    const [a, b, c] = all;
    const { status, stdout, stderr } = await cli.run(['workspace', 'delete', a, 'missing', b, '--yes']);
    assert.equal(stdout, `Deleted ${a}, with 0 snapshots.\nDeleted ${b}, with 0 snapshots.\n`);
    assert.match(stderr, /^error\[WORKSPACE_NOT_FOUND\]: .*"missing".* Nothing of this name was deleted\.\n/);
    assert.equal(status, 3);
    await assertDeleted(a, b);
    await cli.print('workspace', 'show', c);
  });

  test('have one answer in JSON, with the error of each that failed', async () => {
    const [a, , c] = all;
    const { status, stdout } = await cli.run(['workspace', 'delete', a, 'missing', c, '--yes', '--json']);
    const { workspaces } = JSON.parse(stdout);
    const of = ({ name, value, error }: any) => [name, value?.removed, error?.code];
    assert.deepEqual(
      [status, workspaces.map(of)],
      [
        3,
        [
          [a, true, undefined],
          ['missing', undefined, 'WORKSPACE_NOT_FOUND'],
          [c, true, undefined],
        ],
      ],
    );
  });

  test('print the names of those that were deleted with `--quiet`', async () => {
    const [a, , c] = all;
    assert.equal(await cli.print('workspace', 'delete', a, c, '--yes', '--quiet'), `${a}\n${c}\n`);
  });

  test('are listed in the question, each on a line of its own', async () => {
    const [a, b] = all;
    const { child, ended } = cli.beginOnTerminal(['workspace', 'delete', a, b]);
    child.stdout!.once('data', () => child.stdin!.end('n\n'));
    const { stdout } = await ended;
    const lines = stdout.replaceAll('\r', '').split('\n');
    assert.equal(lines[0], 'This permanently deletes 2 workspaces:');
    assert.match(lines[1]!, new RegExp(`^  default/${a}: its sandbox \\S+ and its 0 snapshots$`));
    assert.match(lines[2]!, new RegExp(`^  ${b}: its sandbox \\S+ and its 0 snapshots$`));
    assert.match(lines[3]!, /^Snapshots that are pinned .* are kept\. Continue\? \[y\/N\] /);
    await cli.print('workspace', 'show', a);
  });

  test('need a confirmation, and name what they would delete', async () => {
    const { error, exitCode } = await cli.failure('workspace', 'delete', ...all);
    assert.deepEqual([error.code, exitCode], ['CONSENT_MISSING', 2]);
    assert.match(error.message, /^This permanently deletes \d workspaces:\n/);
    for (const name of all)
      assert.match(error.message, new RegExp(`^  (default/)?${name}: its sandbox`, 'm'));
    const [one] = all;
    const alone = await cli.failure('workspace', 'delete', one);
    assert.match(
      alone.error.message,
      new RegExp(`^This permanently deletes the workspace default/${one}, its`),
    );
    assert.deepEqual(await cli.code('workspace', 'delete', 'unknown'), ['WORKSPACE_NOT_FOUND', 3]);
    assert.deepEqual(await cli.code('workspace', 'delete', 'unknown', 'none'), ['WORKSPACE_NOT_FOUND', 3]);
    assert.deepEqual(await cli.code('workspace', 'delete', 'a/b/c', all[0], '--yes'), [
      'INVALID_WORKSPACE_NAME',
      2,
    ]);
    await cli.print('workspace', 'show', all[0]);
  });
});
