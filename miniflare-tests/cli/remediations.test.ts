// The remediations of the command line: what to write in place of what the user wrote.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { Cli, start } from './cli.ts';
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
  name = `remediations-${++names}`;
});

/** Returns the remediation of a command that must fail. */
async function help(...command: string[]): Promise<string> {
  return (await cli.failure(...command)).error.remediation;
}

test('a path of another type is answered with the command for it', async () => {
  await world.exec(name, 'mkdir src; echo x > src/main');
  await cli.print('snapshot', 'create', name, '--label', 'before');
  const before = `${name} before`;
  for (const [command, place] of [
    [[name, 'before', 'src'], `${before} src`],
    [[`${name}:src`], `${name}:src`],
  ] as const)
    assert.equal(
      await help('cat', ...command),
      `It is a directory: \`snapshotter ls ${place}\` lists its files.`,
    );
  assert.match(
    await help('ls', name, 'before', 'src/main'),
    /^It is a file: `snapshotter cat .* before src\/main`/,
  );
  assert.match(
    await help('cat', name, 'before', 'src/x'),
    new RegExp(`^\`snapshotter ls ${before} src\` lists`),
  );
});

test('a slash in place of the colon before a path is answered with the colon', async () => {
  await cli.id('workspace', 'create', name);
  await cli.print('exec', `@${name}`, 'mkdir src; echo x > src/main');
  assert.equal(await help('ls', `@${name}/src`), `For a path in the workspace @${name}, write @${name}:src.`);
  assert.match(await help('ls', `@${name}/src/main`), new RegExp(`write @${name}:src/main\\.$`));
  assert.match(await help('cat', `@${name}/src/main`), new RegExp(`pass @${name}:src/main\\.$`));
});

test('a path in place of an option or of a file is answered with the command line', async () => {
  await cli.id('workspace', 'create', name);
  await cli.print('exec', `@${name}`, 'mkdir src; echo x > src/main');
  await cli.print('snapshot', 'create', `@${name}`, '--label', 'before');
  assert.equal(
    await help('export', `@${name}`, 'before', 'out.tar'),
    `To write a tar to that file: \`snapshotter export @${name} before --output out.tar\`.`,
  );
});

test('what does not exist is answered with where to look', async () => {
  await cli.id('workspace', 'create', name);
  const promote = await cli.failure('workspace', 'promote', name, '--from', 'nothing');
  assert.match(promote.error.message, /has no snapshot with the label "nothing" either/);
  assert.match(promote.error.remediation, /`snapshotter workspace list`/);
  assert.ok(promote.error.remediation.includes(`\`snapshotter snapshot list @${name}\``));
  const command = await cli.failure('commands', 'output', `@${name}`, 'nothing');
  assert.ok(command.error.remediation.startsWith(`\`snapshotter commands list @${name}\``));
  const deletion = await cli.failure('workspace', 'delete', `${name}-x`, '--yes');
  assert.doesNotMatch(deletion.error.remediation, /workspace create/);
});

test('a snapshot that is not an argument of its own is answered with the words for it', async () => {
  await cli.id('workspace', 'create', name);
  await cli.print('exec', `@${name}`, 'mkdir src; echo x > src/main');
  await cli.print('snapshot', 'create', `@${name}`, '--label', 'before');
  const words = `\`@${name} before\``;
  for (const command of [
    ['diff', `@${name}:before`, 'before'],
    ['snapshot', 'list', `@${name}:before`],
  ])
    assert.ok((await help(...command)).endsWith(`: ${words}.`), command.join(' '));
  assert.equal(
    await help('cat', `@${name}`, 'before:src/main'),
    `The path is an argument of its own: \`@${name} before src/main\`.`,
  );
  for (const from of [`@${name}/before`, `@${name}:before`])
    assert.match(
      await help('workspace', 'promote', name, '--from', from),
      new RegExp(`: \`--from @${name} --snapshot before\`\\.$`),
    );
});

test('a directory that is missing is answered with the way back', async () => {
  await cli.id('workspace', 'create', name);
  await cli.run(['exec', `@${name}`, 'cd /; rm -rf /workspace']);
  assert.match(
    await help('ls', `@${name}`),
    /^The directory of the sandbox does not exist.*workspace rollback/,
  );
});

test('a former sandbox is named as such', async () => {
  await cli.id('workspace', 'create', name);
  const former = (await cli.json('workspace', 'show', name)).sandboxId;
  await cli.print('snapshot', 'create', `@${name}`, '--label', 'before');
  await cli.run(['workspace', 'rollback', name, 'before']);
  for (const command of [
    ['snapshot', 'create', former],
    ['checkpoint', 'list', former],
    ['ls', `${former}:`],
    ['commands', 'list', former],
    ['diff', `@${name}`, 'before', '--to-sandbox', former],
  ]) {
    const { error, exitCode } = await cli.failure(...command);
    assert.equal(exitCode, 4, command.join(' '));
    assert.match(error.message, new RegExp(`is a former one of the workspace "${name}"`));
  }
});

test('arguments of the API are named by their options', async () => {
  await cli.id('workspace', 'create', name);
  const itself = await cli.run(['workspace', 'promote', name, '--from', name]);
  assert.match(itself.stderr, /\nhelp: .* as `--from`\.\n/);
  const signal = await cli.run(['commands', 'end', `@${name}`, 'x', '--signal', '9']);
  assert.match(signal.stderr, /: `--signal` must be TERM/);
});

describe('`workspace rollback`', () => {
  test('to the newest snapshot, or to a checkpoint, is answered with the label or the command', async () => {
    await cli.id('workspace', 'create', name);
    await cli.print('snapshot', 'create', `@${name}`, '--label', 'older');
    await cli.print('snapshot', 'create', `@${name}`, '--label', 'all tests pass', '--fresh');
    const newest = await help('workspace', 'rollback', name, 'HEAD');
    assert.ok(
      newest.startsWith(`Name the snapshot. The newest one of @${name} is 'all tests pass'; `),
      newest,
    );

    await cli.print('exec', `@${name}`, 'echo good > file');
    await cli.print('checkpoint', 'create', `@${name}`, 'step-3');
    await cli.print('exec', `@${name}`, 'echo bad > file');
    const { remediation } = (await cli.failure('workspace', 'rollback', name, 'step-3')).error;
    const [, command = ''] = /not a snapshot: `snapshotter ([^`]*)`/.exec(remediation) ?? [];
    assert.equal(command, `checkpoint restore @${name} step-3`);
    await cli.print(...command.split(' '), '--yes');
    assert.equal(await cli.print('cat', `@${name}:file`), 'good\n');
  });

  test('to `latest` discards what was done since the newest snapshot, or since the restore', async () => {
    await cli.id('workspace', 'create', name);
    await cli.print('exec', `@${name}`, 'echo older > file');
    const older = await cli.id('snapshot', 'create', `@${name}`);
    await cli.print('exec', `@${name}`, 'echo longer text > file');
    const newer = await cli.id('snapshot', 'create', `@${name}`, '--fresh');
    await cli.print('exec', `@${name}`, 'rm file');
    await cli.print('workspace', 'rollback', name, 'latest');
    assert.equal(await cli.print('cat', `@${name}:file`), 'longer text\n');
    assert.match(await cli.print('diff', `@${name}`, older, 'latest'), / file\n$/);
    assert.match(await cli.print('snapshot', 'show', `@${name}`, 'latest'), new RegExp(newer));

    await cli.print('workspace', 'rollback', name, older);
    await cli.print('exec', `@${name}`, 'rm file');
    await cli.print('workspace', 'rollback', name, 'latest');
    assert.equal(await cli.print('cat', `@${name}:file`), 'older\n');
  });

  test('to `latest` without any snapshot says so, and how to take one', async () => {
    const name = 'never-saved';
    await cli.id('workspace', 'create', name);
    for (const verb of ['rollback', 'start'] as const) {
      const operands = verb === 'start' ? [name, '--from', 'latest'] : [name, 'latest'];
      const { error } = await cli.failure('workspace', verb, ...operands);
      assert.deepEqual([error.code, error.message], ['SNAPSHOT_NOT_FOUND', `@${name} has no snapshot.`]);
      assert.match(error.remediation, /^Take one: `snapshotter snapshot create @never-saved`\.$/);
    }
    const { error } = await cli.failure('workspace', 'rollback', name, 'before');
    assert.match(error.message, /the label "before"/);
    assert.match(error.remediation, /^@never-saved has no snapshot yet\. /);
  });

  test('to `latest` is to the snapshot with that label, if there is one', async () => {
    await cli.id('workspace', 'create', name);
    await cli.print('exec', `@${name}`, 'echo labeled > file');
    await cli.print('snapshot', 'create', `@${name}`, '--label', 'latest');
    await cli.print('exec', `@${name}`, 'echo newer > file');
    await cli.print('snapshot', 'create', `@${name}`, '--fresh');
    await cli.print('workspace', 'rollback', name, 'latest');
    assert.equal(await cli.print('cat', `@${name}:file`), 'labeled\n');
  });

  test('to the label of a fork names the command that continues with its files', async () => {
    const sandbox = await cli.id('workspace', 'create', name);
    await world.exec(sandbox, 'echo first > file');
    const { forks } = await cli.json('workspace', 'fork', name, '--new-name', `${name}-try`);
    await world.exec(forks[0].value.sandboxId, 'echo second > file');
    await cli.print('snapshot', 'create', `@${name}-try`, '--label', 'tests pass');

    const { error } = await cli.failure('workspace', 'rollback', name, 'tests pass');
    const [, promote = ''] = /`snapshotter ([^`]*)`/.exec(error.remediation) ?? [];
    assert.equal(promote, `workspace promote ${name} --from @${name}-try --snapshot 'tests pass'`);
    await cli.print(...promote.replace(" 'tests pass'", '').split(' '), 'tests pass');
    const { sandboxId } = await cli.json('workspace', 'show', name);
    assert.equal(await world.exec(sandboxId, 'cat file'), 'second\n');
  });

  test('to the label of a deleted fork names another fork with it or none, although its pinned snapshot exists', async () => {
    const sandbox = await cli.id('workspace', 'create', name);
    await world.exec(sandbox, 'echo first > file');
    await cli.json('workspace', 'fork', name, '--new-name', `${name}-try`);
    await cli.print('snapshot', 'create', `@${name}-try`, '--label', 'tests pass');
    await cli.print('snapshot', 'pin', `@${name}-try`, 'tests pass');
    await cli.print('workspace', 'delete', `${name}-try`, '--yes');

    const { error } = await cli.failure('workspace', 'rollback', name, 'tests pass');
    assert.equal(error.code, 'SNAPSHOT_NOT_FOUND');
    assert.doesNotMatch(error.remediation, /-try/);

    await cli.json('workspace', 'fork', name, '--new-name', `${name}-next`);
    await cli.print('snapshot', 'create', `@${name}-next`, '--label', 'tests pass');
    const next = await cli.failure('workspace', 'rollback', name, 'tests pass');
    assert.match(next.error.remediation, new RegExp(`--from @${name}-next `), 'the fork that exists');
  });
});
