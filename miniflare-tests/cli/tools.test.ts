// The commands for tools of language models: grants, and the configuration of editors.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Cli, start } from './cli.ts';
import type { World } from '../world.ts';

let world: World;
let cli: Cli;

before(async () => {
  ({ world, cli } = await start());
  await world.workspace('notebook').getOrCreate();
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

/** Returns the names of the tools that a token permits. */
async function toolsOf(token: string): Promise<string[]> {
  const { status, body } = await world.fetch('/mcp', {
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  assert.equal(status, 200, JSON.stringify(body));
  return body.result.tools.map(({ name }: { name: string }) => name).sort();
}

test('`tools grant` permits the tools of a workspace', async () => {
  const token = (await cli.print('tools', 'grant', '@notebook', '--quiet')).trimEnd();
  const names = await toolsOf(token);
  assert.ok(names.includes('workspace__notebook__snapshot'), names.join());
  assert.ok(names.includes('workspace__notebook__snapshot_create'), names.join());
});

test('`tools grant` permits less with `--only` and `--read-only`', async () => {
  const token = (
    await cli.print('tools', 'grant', '@notebook', '--only', 'snapshots', '--read-only', '--quiet')
  ).trimEnd();
  const all = await toolsOf((await cli.print('tools', 'grant', '@notebook', '--quiet')).trimEnd());
  const few = await toolsOf(token);
  assert.ok(few.length > 0 && few.length < all.length, few.join());
  assert.ok(
    few.every((name) => all.includes(name) && !name.endsWith('__snapshot')),
    few.join(),
  );
});

test('`tools grant` prints when the token expires', async () => {
  await world.exec('agent-42', 'true');
  const printed = await cli.print('tools', 'grant', 'agent-42', '@notebook', '--expires', '8h', '--flat');
  assert.match(printed, /^token {4}\S+\nexpires {2}\S+ \(in (7|8) h.*\)\n$/);
});

test('no token is granted for an unknown workspace', async () => {
  for (const command of [
    ['tools', 'grant'],
    ['mcp', 'config'],
  ]) {
    for (const [target, code, remediation] of [
      ['notebook', 'SANDBOX_UNKNOWN', 'It is the name of a workspace: write @notebook.'],
      ['notebok', 'SANDBOX_UNKNOWN', 'Did you mean the workspace @notebook?'],
      ['@notebok', 'WORKSPACE_NOT_FOUND', 'Did you mean the workspace @notebook?'],
    ] as const) {
      const { error, exitCode } = await cli.failure(...command, '@notebook', target);
      assert.deepEqual([error.code, error.remediation, exitCode], [code, remediation, 3]);
    }
  }
});

test('`mcp config` prints what a client needs', async () => {
  const printed = await cli.print('mcp', 'config', '@notebook');
  assert.match(printed, /^\{\n  "mcpServers": \{\n/);
  const { mcpServers } = JSON.parse(printed);
  const { type, url, headers } = mcpServers.snapshotter;
  assert.deepEqual([type, url], ['http', `${await world.url('/mcp')}`]);
  const names = await toolsOf(headers.Authorization.replace('Bearer ', ''));
  assert.ok(names.includes('workspace__notebook__snapshot'));
  const { servers } = JSON.parse(await cli.print('mcp', 'config', '@notebook', '--format', 'vscode'));
  assert.equal(servers.snapshotter.url, url);
});

test('`tokens create` prints a token that permits what it names, until `tokens revoke`', async () => {
  const token = (
    await cli.print('tokens', 'create', '--permission', 'read', '--workspace', '@notebook', '--quiet')
  ).trimEnd();
  await using limited = await Cli.create(await world.url('/'), token);
  assert.match(await limited.print('tokens', 'current'), /^id .*\ntenant {7}default\npermissions {2}read\n/);
  assert.match(await limited.print('workspace', 'list'), /^NAME .*\nnotebook /);
  assert.deepEqual(await limited.code('workspace', 'stop', 'notebook'), ['PERMISSION_MISSING', 5]);
  const id = token.split('.').at(-2) ?? '';
  assert.match(await cli.print('tokens', 'list'), new RegExp(`^ID .*\\n${id} +read +notebook `));
  assert.match(await cli.print('tokens', 'revoke', id), /^Revoked /);
  assert.equal(await cli.print('tokens', 'list'), 'There are no tokens.\n');
  assert.deepEqual(await cli.code('tokens', 'revoke', id), ['TOKEN_NOT_FOUND', 3]);
});

test('`tokens create` warns of a workspace that does not exist', async () => {
  const create = ['tokens', 'create', '--permission', 'read', '--workspace', 'notebok', '--label', 'typo'];
  const { status, stderr } = await cli.run(create);
  assert.deepEqual([status, stderr], [0, 'warning: there is no workspace @notebok yet\n']);
  await cli.print('tokens', 'revoke', 'typo');
});

test('`tokens revoke` takes a label that exactly one token has', async () => {
  const create = async (label: string) =>
    (await cli.print('tokens', 'create', '--permission', 'read', '--label', label, '--quiet'))
      .split('.')
      .at(-2);
  await create('dashboard');
  assert.match(await cli.print('tokens', 'revoke', 'dashboard'), /^Revoked /);
  assert.deepEqual(await cli.code('tokens', 'revoke', 'dashboard'), ['TOKEN_NOT_FOUND', 3]);
  await create('weekly');
  assert.match((await cli.failure('tokens', 'revoke', 'wekly')).error.remediation, /Did you mean "weekly"\?/);
  const ids = [await create('ci'), await create('ci')];
  const { error, exitCode } = await cli.failure('tokens', 'revoke', 'ci');
  assert.deepEqual([error.code, exitCode], ['TOKEN_AMBIGUOUS', 4]);
  for (const id of ids) assert.match(error.message, new RegExp(`${id}`));
});
