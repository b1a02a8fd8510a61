// The end of `npm run dev`, which saves the active workspaces.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { http, SnapshotterClient } from '../../client/src/index.ts';
import { at } from '../../scripts/setup.mjs';
import { DEV, startDev } from './projects.ts';
import { freePorts } from './terminal.ts';

test('Ctrl-C saves the active workspaces of each tenant', async () => {
  const port = await freePorts();
  const address = { tenant: 'acme', name: 'web' };
  const startOwn = async () => {
    const dev = startDev(port, 'tenants');
    const [, token = ''] = await dev.prints(/Token of both: +(\S+)/);
    await dev.prints(/Press Ctrl-C to stop/);
    return { dev, client: new SnapshotterClient(http({ url: `http://127.0.0.1:${port}`, token })) };
  };
  {
    const { dev, client } = await startOwn();
    await using _ = dev;
    await client.workspaces.create(address);
    await client.exec({ ...address, command: 'echo hello > notes.txt' });
    assert.equal(await dev.interrupt(), 0);
    assert.match(dev.output, /Saved acme\/web\./);
  }
  const { dev, client } = await startOwn();
  await using _ = dev;
  const { stdout } = await client.exec({ ...address, command: 'cat notes.txt' });
  assert.equal(stdout, 'hello\n');
  assert.equal(await dev.interrupt(), 0);
});

const THROUGH_RUN = ['node', at('scripts/run.mjs'), 'dev'];
const THROUGH_NPM = ['npm', 'run', 'dev', '--'];
for (const [what, command, signal, isToGroup] of [
  ['SIGTERM', DEV, 'SIGTERM', false],
  ['SIGHUP', DEV, 'SIGHUP', false],
  ['SIGTERM to scripts/run.mjs', THROUGH_RUN, 'SIGTERM', false],
  ['SIGTERM to npm', THROUGH_NPM, 'SIGTERM', false],
  ['Ctrl-C in a terminal', THROUGH_NPM, 'SIGINT', true],
  ['SIGHUP to all processes of a terminal', THROUGH_NPM, 'SIGHUP', true],
  ['SIGTERM to all processes of a service', THROUGH_NPM, 'SIGTERM', true],
] as const)
  test(`${what} saves the active workspaces, and ends the command`, async () => {
    const port = await freePorts();
    await using dev = startDev(port, 'signaled', ['--runtime', 'container'], [...command]);
    const [, token = ''] = await dev.prints(/Token of both: +(\S+)/);
    await dev.prints(/Press Ctrl-C to stop/);
    const { workspaces } = new SnapshotterClient(http({ url: `http://127.0.0.1:${port}`, token }));
    const notebook = await workspaces.getOrCreate({ name: 'notebook' });
    await notebook.exec('echo saved > notes.txt');
    process.kill(isToGroup ? -dev.pid : dev.pid, signal);
    await dev.closed();
    assert.match(dev.output, /Saved notebook\./);
    await assert.rejects(fetch(`http://127.0.0.1:${port}`), 'workerd has ended');
  });

test('the active workspaces are saved when the terminal is closed', async () => {
  const start = async () => {
    const port = await freePorts();
    const dev = startDev(port, 'closed', ['--runtime', 'container']);
    const [, token = ''] = await dev.prints(/Token of both: +(\S+)/);
    await dev.prints(/Press Ctrl-C to stop/);
    const { workspaces } = new SnapshotterClient(http({ url: `http://127.0.0.1:${port}`, token }));
    return { dev, workspaces };
  };
  const first = await start();
  await using dev = first.dev;
  await first.workspaces.getOrCreate({ name: 'notebook' });
  assert.equal(await dev.closeTerminal(), 0);

  const second = await start();
  await using again = second.dev;
  const { state } = await second.workspaces.getByName({ name: 'notebook' });
  assert.equal(state, 'stopped');
  assert.equal(await again.interrupt(), 0);
});

test('a workspace that is not persistent is ended, and one that is gone is not mentioned', async () => {
  const port = await freePorts();
  await using dev = startDev(port, 'ended', ['--runtime', 'container']);
  const [, token = ''] = await dev.prints(/Token of both: +(\S+)/);
  await dev.prints(/Press Ctrl-C to stop/);
  const { workspaces } = new SnapshotterClient(http({ url: `http://127.0.0.1:${port}`, token }));
  await workspaces.create({ name: 'scratch', persistent: false });
  await workspaces.create({ name: 'gone' });
  await workspaces.delete({ name: 'gone' });
  await dev.prints(/workspaces\/delete gone/);
  assert.equal(await dev.interrupt(), 0);
  assert.match(dev.output, /Ended scratch: it is not persistent, so its files are gone\./);
  assert.doesNotMatch(dev.output, /Saved|WORKSPACE_NOT_FOUND/);
});
