// The options of `npm run demo`, `dev`, `deploy` and `pack`, which are checked before anything is built, and the output of `npm run setup`.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { at } from '../../scripts/setup.mjs';
import { Command } from './terminal.ts';

/** Runs a command to its end. */
async function run(...args: string[]) {
  await using command = new Command(['node', at('scripts/run.mjs'), ...args], { cwd: at() });
  return { status: await command.ended(), output: command.output };
}

for (const [command, option] of [
  ['demo', '--runtime'],
  ['dev', '--agent'],
  ['deploy', '--runtime'],
] as const)
  test(`\`npm run ${command} -- --help\` names the options`, async () => {
    const { status, output } = await run(command, '--help');
    assert.equal(status, 0);
    assert.ok(output.startsWith(`Usage: npm run ${command} -- [options]\n`), output);
    assert.ok(output.includes(option), output);
  });

for (const [args, message] of [
  [['dev', '--runtime', 'docker'], '--runtime must be sdk-0.12 or container, got "docker".'],
  [['demo', '--runtime', 'docker'], '--runtime must be sdk-0.12 or container, got "docker".'],
  [['deploy', '--runtime', 'docker'], '--runtime must be sdk-0.12 or container, got "docker".'],
  [['deploy', '--dry-run', '--runtime'], '--runtime must be sdk-0.12 or container, got "".'],
  [
    ['deploy', '--runtime', 'container', '-c', 'wrangler.toml'],
    '--runtime selects a configuration. Pass --runtime or --config, not both.',
  ],
  [['dev', '--log', 'xml'], '--log must be text or json, got "xml".'],
  [['dev', '--runtme', 'container'], "Unknown option '--runtme'"],
  [['demo', '--agent', 'wrangler.toml'], "Unknown option '--agent'"],
] as const)
  test(`\`${args.join(' ')}\` is refused on one line, before the build`, async () => {
    const { status, output } = await run(...args);
    assert.equal(status, 2);
    assert.equal(output, `${message}\nOptions: npm run ${args[0]} -- --help\n`);
  });

for (const [args, example] of [
  [['dev', 'agent/wrangler.toml'], 'npm run dev -- --agent <path>'],
  [['demo', 'container'], 'npm run demo -- --runtime <name>'],
] as const)
  test(`\`${args.join(' ')}\` says that npm needs \`--\` before options`, async () => {
    const { status, output } = await run(...args);
    assert.equal(status, 2);
    const [first, second] = output.split('\n');
    assert.ok(first?.startsWith(`Unexpected argument '${args[1]}'.`), output);
    assert.equal(second, `npm needs \`--\` before options: ${example}`);
  });

for (const [args, message] of [
  [['foo'], 'Unknown package "foo". Use client or cli, or neither to pack both.'],
  [['client', '--silent', 'foo'], 'Unknown package "foo". Use client or cli, or neither to pack both.'],
  [['--workspace', 'foo'], "Unknown option '--workspace'"],
] as const)
  test(`\`pack ${args.join(' ')}\` is refused before npm runs`, async () => {
    const { status, output } = await run('pack', ...args);
    assert.equal(status, 2, output);
    assert.ok(output.startsWith(message), output);
    assert.equal(output.split('\n').length, 2, output);
  });

test('`npm run setup` says at its end that it is complete', async () => {
  const { status, output } = await run('setup');
  assert.deepEqual([status, output.endsWith('The setup is complete.\n')], [0, true], output);
});

test('a relative path of `npm run cli` begins at the folder of the user', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'user-'));
  const code = `import('${at('scripts/setup.mjs')}').then(({ runForUser }) => runForUser('touch', ['file']))`;
  await using command = new Command(['node', '--eval', code], { cwd: at(), env: { INIT_CWD: folder } });
  const status = await command.ended();
  const isWritten = existsSync(join(folder, 'file'));
  rmSync(folder, { recursive: true });
  assert.deepEqual([status, isWritten], [0, true], command.output);
});
