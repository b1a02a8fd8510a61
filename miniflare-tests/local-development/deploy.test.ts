// The two configurations of the snapshotter, and `npm run deploy`, which selects one of them.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { SnapshotterClient, http } from '../../client/src/index.ts';
import { SNAPSHOTTER, startLocal } from '../../scripts/local.ts';
import { at } from '../../scripts/setup.mjs';
import { readConfig } from '../../scripts/wrangler-config.ts';
import { createProject } from './projects.ts';
import { Command } from './terminal.ts';

const CONTAINER = at('wrangler.container.toml');

async function deploy(...args: string[]) {
  await using command = new Command(['node', at('scripts/run.mjs'), 'deploy', ...args], { cwd: at() });
  return { status: await command.ended(), output: command.output };
}

/** Returns a configuration without its path and without what depends on the runtime. */
async function sharedSettings(path: string, sandboxClass: string) {
  const { configPath: _, userConfigPath: __, main: ___, vars: ____, ...shared } = await readConfig(path);
  const { containers = [], durable_objects, migrations } = shared;
  return {
    ...shared,
    containers: containers.map(({ image: _, image_build_context: __, name: ___, class_name, ...rest }) => ({
      ...rest,
      isOfSandboxes: class_name === sandboxClass,
    })),
    durable_objects: durable_objects.bindings.map(({ name, class_name }) =>
      class_name === sandboxClass ? [name === sandboxClass] : [name, class_name],
    ),
    migrations: migrations.map(({ tag, new_sqlite_classes = [] }) => [
      tag,
      new_sqlite_classes.map((name) => name === sandboxClass || name),
    ]),
  };
}

test('the configurations of both runtimes differ only in the class of the sandboxes, the entry and the vars', async () => {
  const container = await sharedSettings(CONTAINER, 'SnapshotSandbox');
  assert.deepEqual(container, await sharedSettings(SNAPSHOTTER, 'Sandbox'));
  assert.deepEqual(container.containers, [{ max_instances: 20, isOfSandboxes: true }]);
  const { vars } = await readConfig(CONTAINER);
  assert.deepEqual(vars, { SANDBOXES: [{ binding: 'SnapshotSandbox', runtime: 'container' }] });
});

test('the image of wrangler.container.toml is built from a Dockerfile of the repository', async () => {
  const { containers = [] } = await readConfig(CONTAINER);
  assert.match(readFileSync(containers[0]?.image ?? '', 'utf8'), /^FROM docker\.io\/library\/debian:/);
});

test('wrangler bundles wrangler.container.toml', async () => {
  // Without [build]: other tests use build/ at the same time.
  const folder = mkdtempSync(join(tmpdir(), 'deploy-'));
  const config = readFileSync(CONTAINER, 'utf8')
    .replace(/^\[build\]\n.+\n.+\n/m, '')
    .replace('"src/', `"${at('src')}/`)
    .replace('"./', `"${at()}`);
  writeFileSync(join(folder, 'wrangler.toml'), config);
  const { status, output } = await deploy('--dry-run', '--config', join(folder, 'wrangler.toml'));
  rmSync(folder, { recursive: true });
  assert.equal(status, 0, output);
  assert.ok(output.startsWith('Building wrangler.toml, with the runtime container.\n'), output);
  assert.match(output, /env\.SnapshotSandbox \(SnapshotSandbox\)/);
  assert.match(output, /env\.BACKUP_BUCKET \(sandbox-backups\)/);
});

// wrangler refuses the option, and builds nothing.
for (const [args, first] of [
  [['--runtime', 'container'], 'Deploying wrangler.container.toml, with the runtime container.\n'],
  [['--runtime=container', '--dry-run'], 'Building wrangler.container.toml, with the runtime container.\n'],
  [['--runtime', 'sdk-0.12'], 'Deploying wrangler.toml, with the runtime sdk-0.12.\n'],
  [
    ['--config', 'examples/agent/wrangler.toml'],
    'Deploying wrangler.toml, with sandboxes of another Worker.\n',
  ],
  [
    ['-c', 'miniflare-tests/runtimes/both.toml'],
    'Deploying both.toml, with the runtimes sdk-0.12 and container.\n',
  ],
] as const)
  test(`\`npm run deploy -- ${args.join(' ')}\` says which runtime the deployment has`, async () => {
    const { status, output } = await deploy(...args, '--unknown-option');
    assert.equal(status, 1, output);
    assert.ok(output.startsWith(first), output);
    assert.match(output.slice(first.length), /Unknown arguments: unknown-option/);
  });

test('`npm run deploy` asks for the runtime', async () => {
  for (const args of [[], ['--dry-run']]) {
    const { status, output } = await deploy(...args);
    assert.equal(status, 2, output);
    assert.match(output, /^Which runtime\? For a new deployment: npm run deploy -- --runtime container\n/);
    assert.match(output, /npm run deploy -- --runtime sdk-0\.12\n/);
  }
});

test('Getting started shows what the command prints', () => {
  const page = readFileSync(at('docs/getting-started.md'), 'utf8');
  assert.match(page, /`Deploying wrangler\.container\.toml, with the runtime container\.`/);
  assert.match(
    page,
    /^npm run deploy -- --runtime sdk-0\.12 +# Deploying wrangler\.toml, with the runtime sdk-0\.12\.$/m,
  );
});

test('a workspace of wrangler.container.toml keeps its files', async () => {
  const worker = { config: CONTAINER, vars: { API_TOKEN: 'token' } };
  await using local = await startLocal({ workers: [worker], mode: 'container' });
  const url = (await local.miniflare.ready).href;
  const { workspaces } = new SnapshotterClient(http({ url, token: 'token' }));
  const notebook = await workspaces.getOrCreate({ name: 'notebook' });
  await notebook.exec('echo hello >ideas.txt');
  await notebook.stop();
  const { stdout } = await notebook.exec('cat ideas.txt');
  const { runtime } = await notebook.describe();
  assert.deepEqual([stdout, runtime], ['hello\n', 'container']);
});

test('a deployment of wrangler.container.toml needs no R2 credentials', async () => {
  await using local = await startLocal({
    workers: [{ config: CONTAINER, vars: { LOCAL_BUCKET: 'false' } }],
    mode: 'container',
  });
  const response = await fetch(new URL('/healthz', (await local.miniflare.ready).href));
  const { checks } = (await response.json()) as { checks: { name: string; ok?: boolean; detail: string }[] };
  const { ok, detail } = checks.find((check) => check.name === 'backupCredentials') ?? {};
  assert.deepEqual([ok, detail], [true, 'The runtime container needs no credentials.']);
});

test('the agent of the guide calls sandboxes of wrangler.container.toml', async () => {
  const page = readFileSync(at('docs/add-to-an-agent.md'), 'utf8');
  const [, config = ''] =
    /^## `container`: the snapshotter exports[^]+?^```toml\n([^]+?)^```/m.exec(page) ?? [];
  const [, calls = ''] = /^## The calls\n[^]+?^```ts\n([^]+?)^```/m.exec(page) ?? [];
  const main = `${calls}
export default {
  async fetch(request: Request, env: { Agent: DurableObjectNamespace<Agent> }) {
    return Response.json(await env.Agent.getByName('ada').run(await request.text()));
  },
};`;
  const project = createProject('my-agent', { 'wrangler.toml': config, 'src/index.ts': main });
  const workers = [{ config: join(project, 'wrangler.toml') }, { config: CONTAINER }];
  await using local = await startLocal({ workers, mode: 'container' });
  const response = await local.miniflare.dispatchFetch('http://agent/', {
    method: 'POST',
    body: 'echo hello',
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.partialDeepStrictEqual(JSON.parse(text), { exitCode: 0, stdout: 'hello\n' });
});
