// The command line with a workspace whose container was killed: each command that notices it warns that files may be lost.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, beforeEach, test } from 'node:test';

import { at } from '../../scripts/setup.mjs';
import { start, type Cli } from './cli.ts';
import { until, type World } from '../world.ts';

const NAME = 'notebook';

const RESTORED =
  /^warning: the files were restored from snap-\w+, which was \d+ (s|min) old; changes that are in no snapshot may be lost\n$/;

const HAD_ENDED =
  /^warning: the container had ended before the stop; changes that are in no snapshot may be lost\n$/;

let world: World;
let cli: Cli;

before(async () => {
  ({ world, cli } = await start());
  await cli.id('workspace', 'create', NAME);
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

/** Starts the workspace without a loss, and kills its container. */
beforeEach(async () => {
  for (const verb of ['start', 'stop']) await cli.run(['workspace', verb, NAME]);
  await world.kill(await cli.id('workspace', 'start', NAME));
});

for (const command of [
  ['exec', `@${NAME}`, 'true'],
  ['ls', `@${NAME}`],
  ['workspace', 'start', NAME],
  ['workspace', 'start', NAME, '--quiet'],
  ['workspace', 'create', NAME, '--or-start', '--quiet'],
])
  test(`\`${command.join(' ')}\` warns when it starts the workspace`, async () => {
    const { status, stderr } = await cli.run(command);
    assert.equal(status, 0, stderr);
    assert.match(stderr, RESTORED);
  });

for (const options of [[], ['--quiet']])
  test(`\`${['workspace stop', ...options].join(' ')}\` warns that the container had ended`, async () => {
    for (let repeated = 0; repeated < 2; repeated++) {
      const { status, stderr } = await cli.run(['workspace', 'stop', NAME, ...options]);
      assert.equal(status, 0, stderr);
      assert.match(stderr, HAD_ENDED);
    }
  });

test('`workspace stop` has one warning if the container ended after a start that may have lost files', async () => {
  const started = await cli.run(['workspace', 'start', NAME, '--quiet']);
  assert.match(started.stderr, RESTORED);
  await world.kill(started.stdout.trim());
  assert.match((await cli.run(['workspace', 'stop', NAME])).stderr, HAD_ENDED);
});

test('`workspace stop` repeats the warning as one of the start', async () => {
  await cli.run(['workspace', 'start', NAME]);
  assert.match(
    (await cli.run(['workspace', 'stop', NAME])).stderr,
    /^warning: at its last start, the files were restored from /,
  );
});

test('a file that is lost is not found, and the error says that the workspace was started', async () => {
  const { status, stderr } = await cli.run(['cat', `@${NAME}:missing.txt`]);
  assert.equal(status, 3);
  assert.match(
    stderr,
    /The sandbox was started for this call, and changes that are in no snapshot may be lost\./,
  );
});

const PLACE = /already in place|earlier start/;

for (const command of [
  ['cat', `@${NAME}:missing.txt`],
  ['ls', `@${NAME}:missing`],
  ['cp', `@${NAME}:missing`, '.'],
])
  test(`\`${command.slice(0, 2).join(' ')}\` reports the start once, in the error`, async () => {
    const { status, stderr } = await cli.run(command);
    assert.equal(status, 3);
    assert.match(stderr, /^error\[FILE_NOT_FOUND\].* The sandbox was started for this call/);
    assert.doesNotMatch(stderr, PLACE);
  });

test('a copy reports the start for its first call, whose failure it does not report', async () => {
  const copy = ['cp', import.meta.filename, `@${NAME}:zz`, '--force'];
  const { status, stderr } = await cli.run(copy);
  assert.equal(status, 0, stderr);
  assert.match(stderr, RESTORED);
});

test('the document of a copy has the start for its first call', async () => {
  const { started } = await cli.json('cp', import.meta.filename, `@${NAME}:zz`, '--force');
  assert.deepEqual([started.how, started.mayHaveLost], ['restored', true]);
});

test('a copy of a directory reports the start for its first call', async () => {
  await cli.run(['exec', `@${NAME}`, 'mkdir -p d && touch d/a']);
  for (const verb of ['stop', 'start']) await cli.run(['workspace', verb, NAME]);
  await world.kill(await cli.id('workspace', 'start', NAME));
  const { status, stderr } = await cli.run(['cp', `@${NAME}:d`, '-']);
  assert.equal(status, 0, stderr);
  assert.match(stderr, RESTORED);
});

test('one further command repeats the warning, in case the first answer was lost', async () => {
  await cli.run(['workspace', 'start', NAME]);
  const warn = async () => (await cli.run(['exec', `@${NAME}`, 'true'])).stderr;
  assert.match(
    await warn(),
    /^warning: repeated from its last start: the files were restored from .* may be lost\n$/,
  );
  assert.equal(await warn(), '');
});

test('an empty start of a workspace whose files are lost warns', async () => {
  await world.kill(await cli.id('workspace', 'create', 'unsaved'));
  assert.match(
    await cli.print('workspace', 'show', 'unsaved'),
    /^container +ended .*; no snapshot has all of its files$/m,
  );
  const { stderr } = await cli.run(['workspace', 'start', 'unsaved', '--allow-empty']);
  assert.equal(stderr, 'warning: changes that are in no snapshot may be lost\n');
  const repeated = await cli.run(['exec', '@unsaved', 'true']);
  const loss = 'no snapshot was restored; changes that are in no snapshot may be lost';
  const none = `warning: repeated from its last start: ${loss}\n`;
  assert.deepEqual([repeated.status, repeated.stderr], [0, none]);
});

test('a copy to a workspace whose files are lost names it in the advice', async () => {
  await world.kill(await cli.id('workspace', 'create', 'lost'));
  for (const source of ['-', import.meta.filename]) {
    const { error } = await cli.failure('cp', source, '@lost:file');
    assert.match(error.remediation, /`snapshotter workspace start lost --allow-empty`/);
    assert.match(error.remediation, /`snapshotter workspace rollback lost ID`/);
  }
});

test('a snapshot of a workspace that does not run is answered with the command that starts it', async () => {
  const adviceFor = async (name: string) =>
    (await cli.failure('snapshot', 'create', `@${name}`)).error.remediation as string;
  assert.match(await adviceFor(NAME), /^Start the workspace with `snapshotter workspace start notebook`, /);
  await world.kill(await cli.id('workspace', 'create', 'nothing-left'));
  assert.match(await adviceFor('nothing-left'), /`snapshotter workspace start nothing-left --allow-empty`/);
  await cli.print('workspace', 'delete', 'nothing-left', '--yes');
});

test('the warnings are in the answer in JSON mode', async () => {
  const run = async (verb: string) => {
    const { stdout, stderr } = await cli.run(['workspace', verb, NAME, '--json']);
    assert.equal(stderr, '');
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  assert.equal((await run('stop'))['containerEnded'], true);
  assert.equal((await run('start'))['mayHaveLost'], true);
});

test('the list, the description and `doctor` say that the container of an active workspace has ended', async () => {
  assert.match(await cli.print('workspace', 'list'), /^notebook .* active .*, changes may be lost /m);
  assert.match(await cli.print('workspace', 'show', NAME), /^container +ended without a stop/m);
  assert.match(await cli.print('doctor'), /containers of these workspaces ended without a stop: notebook\./);
});

test('the list, the description and `doctor` say so after a stop, until the next start', async () => {
  await cli.run(['workspace', 'stop', NAME]);
  assert.match(await cli.print('workspace', 'list'), /^notebook .* stopped .*, changes may be lost /m);
  assert.match(await cli.print('workspace', 'show', NAME), /^container +had ended before the stop/m);
  assert.match(await cli.print('doctor'), /containers of these workspaces ended without a stop: notebook\./);
  await cli.run(['workspace', 'start', NAME]);
  assert.doesNotMatch(await cli.print('workspace', 'list'), /^notebook .*may be lost/m);
  assert.doesNotMatch(await cli.print('doctor'), /ended without a stop/);
});

test('`destroy` of the sandbox ends the container without a stop', async () => {
  const { stdout } = await cli.run(['workspace', 'start', NAME, '--quiet']);
  await world.sandbox(stdout.trim(), 'destroy');
  assert.match(await cli.print('workspace', 'show', NAME), /^container +ended without a stop/m);
  const { status, stderr } = await cli.run(['exec', `@${NAME}`, 'true']);
  assert.equal(status, 0, stderr);
  assert.match(stderr, RESTORED);
});

test('the commands of the page lose a file, and say so', async () => {
  const page = readFileSync(at('docs/lost-files.md'), 'utf8');
  const [, block = ''] = /To see what happens after a loss[^]+?^```sh\n([^]+?)^```/m.exec(page) ?? [];
  const started = await start({ mode: 'container' });
  await using _world = started.world;
  await using container = started.cli;
  const results = [];
  for (const line of block.trim().split('\n')) {
    let result = await container.shell(line);
    // The class notices the end of its container a moment after the command does.
    if (line.includes('ended without a stop'))
      await until(async () => /ended without/.test((result = await container.shell(line)).stdout));
    results.push(result);
  }
  const [killed, shown, read] = results.slice(-3);
  assert.deepEqual(
    results.map(({ status }) => status),
    [0, 0, 0, 0, 255, 0, 0],
  );
  assert.match(
    killed?.stderr ?? '',
    /^error\[OPERATION_INTERRUPTED\]: The container .+ ended while the command ran/,
  );
  assert.match(shown?.stdout ?? '', /^container +ended without a stop/m);
  assert.equal(read?.stdout, 'saved\n');
  assert.match(read?.stderr ?? '', RESTORED);
  const ignored = await container.shell(
    "snapshotter exec @lab 'kill -9 1'; snapshotter exec @lab 'cat notes.txt'",
  );
  assert.deepEqual([ignored.status, ignored.stdout], [0, 'saved\n']);
});
