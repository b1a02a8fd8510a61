// The help, the completions and the manual pages of the command line.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Cli } from './cli.ts';
import { TOKEN } from '../world.ts';

let cli: Cli;

before(async () => {
  cli = await Cli.create('http://127.0.0.1:1');
});
after(() => cli[Symbol.asyncDispose]());

describe('the help', () => {
  const commands = [
    '',
    'snapshot',
    'snapshot create',
    'restore',
    'workspace update',
    'retention',
    'doctor',
    'man',
  ];
  for (const command of commands) {
    test(`of \`snapshotter ${command}\` is printed`, async () => {
      const words = command.split(' ').filter(Boolean);
      assert.match(await cli.print(...words, '--help'), /Usage: snapshotter .*\n(Global o|O)ptions:\n/s);
      assert.match(await cli.print(...words, '-h'), /Usage: snapshotter /);
    });
  }

  test('lists the exit statuses', async () => {
    assert.match(await cli.print('--help'), /Exit status:\n +0 +success\n(.*\n)* +130 +interrupted\n/);
  });

  test('lists `--yes` and `--idempotency-key` among the options of the command', async () => {
    for (const [command, option] of [
      ['retention set', '--yes'],
      ['workspace create', '--idempotency-key'],
    ] as const) {
      const [, options] =
        /\nOptions:\n([^]*?)\n\S/.exec(await cli.print(...command.split(' '), '--help')) ?? [];
      assert.ok(options?.includes(option), command);
    }
  });

  test('never shows the token of the environment', async () => {
    assert.ok(!(await cli.print('--help')).includes(TOKEN));
  });
});

describe('the completions', () => {
  for (const shell of ['zsh', 'fish', 'elvish', 'powershell']) {
    test(`for ${shell} contain every command`, async () => {
      const script = await cli.print('completions', shell);
      for (const word of ['checkpoint', 'doctor', 'lineage', 'retention', 'sweep', 'idempotency-key'])
        assert.ok(script.includes(word), word);
    });
  }

  test('for bash complete commands and options', async () => {
    const script = await cli.file('completions.bash', await cli.print('completions', 'bash'));
    const complete = async (...words: string[]) => {
      const typed = `COMP_WORDS=(snapshotter ${words.join(' ')}); COMP_CWORD=${words.length}`;
      const call = `_snapshotter snapshotter ${words.at(-1)} ${words.at(-2) ?? 'snapshotter'}`;
      const { status, stdout, stderr } = await cli.shell(
        `bash -c '. ${script}; ${typed}; ${call}; echo "\${COMPREPLY[@]}"'`,
      );
      assert.deepEqual([status, stderr], [0, '']);
      return stdout.trim();
    };
    assert.equal(await complete('snap'), 'snapshot');
    assert.equal(await complete('snapshot', 'unp'), 'unpin');
    assert.equal(await complete('restore', '--idem'), '--idempotency-key');
  });
});

test('`man` writes one manual page per command', async () => {
  assert.match(await cli.print('man'), /^\.ie .*\.TH snapshotter 1 .*Exit status:/s);
  const folder = await cli.file('man', '').then((path) => `${path}.d`);
  assert.equal(await cli.print('man', '--dir', folder), '');
  const { stdout } = await cli.shell(`ls ${folder}`);
  for (const page of ['snapshotter.1', 'snapshotter-snapshot-create.1', 'snapshotter-workspace-start.1'])
    assert.ok(stdout.split('\n').includes(page), page);
});
