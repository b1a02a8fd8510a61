// Commands in named workspaces, which are started if they are not running; and who may run commands.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { TOKEN, World } from '../world.ts';
import { CallInterceptor } from '../workspaces/calls.ts';
import { isUnpacking } from '../world.ts';

const calls = new CallInterceptor();
let world: World;

before(async () => {
  world = await World.start({ onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

/** Creates a stopped workspace with a file. */
async function stopped(name: string, options: object = {}) {
  const workspace = world.workspace(name);
  await workspace.create(options);
  await workspace.exec('echo saved > file');
  await workspace.stop();
  calls.reset();
  return workspace;
}

const exec = (name: string, command: string, options: object = {}) =>
  world.rpc('exec', { name, command, ...options });

test('twenty callers share one start of a stopped workspace', async () => {
  await stopped('shared');
  const callers = Array.from({ length: 20 }, (_, index) => exec('shared', `cat file; echo ${index}`));
  const answers = await Promise.all(callers);
  answers.forEach(({ stdout, started }, index) => {
    assert.equal(stdout, `saved\n${index}\n`);
    assert.deepEqual([started.how, started.mayHaveLost], ['restored', false]);
  });
  assert.equal(new Set(answers.map(({ sandboxId }) => sandboxId)).size, 1);
  assert.equal(calls.count(isUnpacking), 1);
  assert.equal((await exec('shared', 'true')).started, undefined);
});

test('a workspace whose container was killed is started, and the answer says that files may be lost', async () => {
  const workspace = await stopped('slept');
  await workspace.start();
  await exec('slept', 'echo new > new');
  await world.kill(await workspace.sandboxId());
  const { stdout, started } = await exec('slept', 'ls');
  assert.deepEqual([stdout, started.how, started.mayHaveLost], ['file\n', 'restored', true]);
});

test('a command gets the variables of the workspace, and its own', async () => {
  await stopped('variables', { env: { SECRET: "it's", MODE: 'a' } });
  const { stdout } = await exec('variables', 'printf %s "$SECRET$MODE"', { env: { MODE: 'b' } });
  assert.equal(stdout, "it'sb");
});

test('a workspace that does not exist runs no command', async () => {
  const error = await world.failure(exec('missing', 'true'));
  assert.equal(error.code, 'WORKSPACE_NOT_FOUND');
});

test('no interface runs a command without the permission', async () => {
  const workspace = await stopped('guarded');
  await workspace.start();
  const intrude = { command: 'touch intruder' };
  const declared = (more: object) => [{ name: 'guarded', snapshot: true, checkpoint: true, ...more }];
  for (const toolset of [
    { workspaces: declared({}) },
    { workspaces: declared({ work: false }) },
    { workspaces: declared({ work: true }), readOnly: true },
    { workspaces: declared({}), style: 'flat' },
  ]) {
    const { tools } = await world.rpc('tools/list', toolset);
    assert.equal(
      tools.some(({ name }: { name: string }) => /exec|write_file/.test(name)),
      false,
    );
    const names = ['workspace__guarded__exec', 'workspace_exec', 'exec', 'workspace__guarded__write_file'];
    for (const name of names) {
      const call = world.rpc('tools/call', { ...toolset, name, arguments: intrude });
      assert.equal((await world.failure(call)).code, 'TOOL_NOT_FOUND');
    }
    const { token } = await world.rpc('tools/grant', toolset);
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const params = { name: 'workspace__guarded__exec', arguments: intrude };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    assert.match(
      JSON.stringify((await world.fetch('/mcp', { headers, body })).body),
      /TOOL_NOT_FOUND|-32602/,
    );
    const options = JSON.stringify({ name: 'guarded', ...intrude });
    const refused = await world.fetch('/v1/exec', { headers, body: options });
    assert.equal(refused.status, 401);
  }
  assert.equal(await workspace.exec('ls intruder 2>/dev/null || echo none'), 'none\n');
});

test('a model with the permission runs commands, in its workspace only', async () => {
  await stopped('worked');
  const workspaces = [{ name: 'worked', work: true }];
  const name = 'workspace__worked__exec';
  const call = (args: object) => world.rpc('tools/call', { workspaces, name, arguments: args });
  const { content, structuredContent } = await call({ command: 'cat file; exit 3' });
  assert.deepEqual([structuredContent.exitCode, structuredContent.stdout], [3, 'saved\n']);
  assert.equal(content[0].text, 'Exit code 3.\nStandard output:\nsaved');
  const other = await world.workspace('other').create();
  const workspace = {
    providerId: 'cloudflare-sandbox',
    ref: { sandboxId: other.sandboxId, rootId: other.sandboxId },
    capabilities: { fs: true, shell: true, code: true, snapshot: true },
    schemaVersion: 1,
  };
  const { isError, _meta } = await call({ command: 'true', workspace });
  assert.deepEqual([isError, _meta['sandbox-snapshotter/error'].code], [true, 'CROSS_LINEAGE']);
});

test('a granted token with the permission runs commands over MCP', async () => {
  await stopped('granted');
  const { token } = await world.rpc('tools/grant', { workspaces: [{ name: 'granted', work: true }] });
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const params = { name: 'workspace__granted__exec', arguments: { command: 'cat file' } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const answer = await world.fetch('/mcp', { headers, body });
  assert.match(JSON.stringify(answer.body), /saved/);
  assert.equal(TOKEN.includes(token), false);
});
