// `npm run check:account` against the local engine.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { mainJob } from '../../scripts/check-account/main-job.ts';
import { MIGRATION } from '../../scripts/check-account/migration.ts';
import { INACTIVITY, PLATFORM } from '../../scripts/check-account/platform.ts';
import { STORAGE } from '../../scripts/check-account/storage.ts';
import { startLocal, type Local, type LocalWorker } from '../../scripts/local.ts';
import { exampleOf, type Runtime } from '../../scripts/runtimes.ts';
import { at } from '../../scripts/setup.mjs';
import { http, SnapshotterClient } from '../../client/src/index.ts';
import { Command } from '../local-development/terminal.ts';

const TOKEN = 'a token for tests';
const WORKER = at('scripts/check-account/worker/wrangler.toml');
const LOSSY = fileURLToPath(new URL('./lossy.ts', import.meta.url));
const WITH_IMAGES = fileURLToPath(new URL('./with-images.toml', import.meta.url));
const BOTH = fileURLToPath(new URL('../runtimes/both.toml', import.meta.url));

/** The bindings of the Worker of the check to other runtimes. */
const OTHERS: Record<Runtime, string> = { 'sdk-0.12': 'Container', container: 'Sdk012' };

/** Starts a deployment of a runtime, and the Worker of the check. */
function start(runtime: Runtime, agent: Partial<LocalWorker> = {}): Promise<Local> {
  const example = exampleOf(runtime);
  return startLocal({
    workers: [
      { ...example.snapshotter, vars: { API_TOKEN: TOKEN }, port: 0 },
      { ...example.agent, ...agent },
      { config: WORKER, vars: { CHECK_TOKEN: TOKEN }, without: [OTHERS[runtime]], port: 0 },
    ],
    mode: example.mode,
  });
}

/** Starts a deployment of both runtimes, whose classes the snapshotter exports, and the Worker of the check. */
function startBoth(): Promise<Local> {
  const binding = (exportName: string) => {
    return { type: 'durable-object', worker: 'sandbox-snapshotter', exportName } as const;
  };
  const bindings = { Container: binding('SnapshotSandbox'), Sdk012: binding('Sandbox') };
  return startLocal({
    workers: [
      { config: BOTH, vars: { API_TOKEN: TOKEN }, port: 0 },
      { config: WORKER, vars: { CHECK_TOKEN: TOKEN }, bindings, port: 0 },
    ],
    mode: 'local',
  });
}

async function urlOf(local: Local, worker: string): Promise<string> {
  return String(await local.miniflare.unsafeGetDirectURL(worker));
}

/** Runs the command to its end. The check of the inactivity timeout takes minutes, and is omitted. */
async function check(local: Local): Promise<{ status: number | null; output: string }> {
  await using command = new Command(['node', at('scripts/check-account.ts'), '--without', 'inactivity'], {
    cwd: at(),
    env: {
      SNAPSHOTTER_ADDRESS: await urlOf(local, 'sandbox-snapshotter'),
      SNAPSHOTTER_TOKEN: TOKEN,
      CHECK_ADDRESS: await urlOf(local, 'account-check'),
      CHECK_TOKEN: TOKEN,
    },
  });
  return { status: await command.ended(), output: command.output };
}

/** Returns the names of the checks with an outcome. */
function named(output: string, outcome: string): string[] {
  return [...output.matchAll(new RegExp(`^${outcome}: ((?:[a-z0-9.-]+: )?[a-z-]+): `, 'gm'))].map(
    ([, name = '']) => name,
  );
}

const STORAGES = STORAGE.map(({ name }) => name);
const MIGRATIONS = MIGRATION.map(({ name }) => name);

/** The deployments of one runtime, with the number of checks that are as assumed and those that are skipped. */
const DEPLOYMENTS = [
  ['sdk-0.12', {}, 18, [...STORAGES, ...MIGRATIONS]],
  ['container', {}, 18, [...STORAGES, ...MIGRATIONS]],
  ['container', { config: WITH_IMAGES }, 22, MIGRATIONS],
] as const;

for (const [runtime, agent, count, skipped] of DEPLOYMENTS) {
  const images = 'config' in agent ? ' with images' : '';
  test(`the runtime ${runtime}${images} of the local engine behaves as assumed, except for monitor()`, async () => {
    await using local = await start(runtime, agent);
    const url = await urlOf(local, 'sandbox-snapshotter');
    const { workspaces } = new SnapshotterClient(http({ url, token: TOKEN }));
    await workspaces.create({ name: 'of-a-user' });
    const running = local.engine.running();

    const { status, output } = await check(local);
    assert.deepEqual(named(output, 'failed'), [], output);
    // workerd rejects it for engines like Docker.
    assert.deepEqual(named(output, 'different'), ['monitor-after-destroy'], output);
    assert.deepEqual(named(output, 'skipped'), skipped, output);
    const last = `${count} as assumed, 1 different, 0 failed, ${skipped.length} skipped`;
    assert.equal(output.trim().split('\n').at(-1), last);
    assert.match(output, new RegExp(`skipped: migration-files: ".* bound to ${runtime} only`));
    assert.equal(status, 1);

    assert.deepEqual(local.engine.running(), running, 'the check ends its containers');
    const names = [];
    for await (const { name } of workspaces.all()) names.push(name);
    assert.deepEqual(names, ['of-a-user']);
  });
}

test('a workspace migrates between both runtimes of the local engine as assumed', async () => {
  await using local = await startBoth();
  const { output } = await check(local);
  assert.deepEqual(named(output, 'failed'), [], output);
  assert.deepEqual(named(output, 'different'), ['monitor-after-destroy'], output);
  assert.deepEqual(named(output, 'skipped'), STORAGES, output);
  assert.match(output, /^30 as assumed, 1 different, 0 failed, 4 skipped$/m);
  assert.deepEqual(local.engine.running(), [], 'the check ends its containers');
});

test('a class that loses a directory in a restore is reported', async () => {
  await using local = await start('container', { main: LOSSY });
  const { status, output } = await check(local);
  const lossy = ['container: restore-equality', 'container: workspace-files'];
  assert.deepEqual(named(output, 'different'), ['monitor-after-destroy', ...lossy], output);
  assert.match(output, /restore-equality: \["- \.\/empty directory 755 \d+ ?"\]/);
  assert.equal(status, 1);
});

test('the Worker of the check refuses sandboxes that it did not make', async () => {
  await using local = await start('container');
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const send = async (path: string) => {
    const url = new URL(path, await urlOf(local, 'account-check'));
    return (await fetch(url, { method: 'POST', headers, body: '["ls"]' })).status;
  };
  assert.equal(await send('/container/agent-42/exec'), 403);
  assert.equal(await send('/container/account-check-1-main/restoreBackup'), 404);
  assert.deepEqual(local.engine.running(), []);
});

test('every check is documented', () => {
  const page = readFileSync(at('docs/account.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `([a-z-]+)` +\| (.*?) +\|$/gm)].map(([, name, text]) => [name, text]);
  const checks = [...PLATFORM, INACTIVITY, ...mainJob('container'), ...STORAGE, ...MIGRATION];
  assert.deepEqual(
    rows,
    checks.map(({ name, assumption }) => [name.replace('container: ', ''), assumption]),
  );
});

test('a missing address is named', async () => {
  await using command = new Command(['node', at('scripts/check-account.ts')], {
    cwd: at(),
    env: { SNAPSHOTTER_ADDRESS: '', SNAPSHOTTER_TOKEN: '' },
  });
  assert.equal(await command.ended(), 2);
  assert.match(command.output, /^Set SNAPSHOTTER_ADDRESS and SNAPSHOTTER_TOKEN\./);
});
