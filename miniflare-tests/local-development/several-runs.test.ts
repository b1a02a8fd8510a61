// Several runs of `npm run dev`: over one state, in one registry, and with the same ports.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { http, SnapshotterClient } from '../../client/src/index.ts';
import { folder, startDev } from './projects.ts';
import { freePorts, listen } from './terminal.ts';

test('a second run over the same state is refused, and leaves the first one as it is', async () => {
  const port = await freePorts();
  await using first = startDev(port, 'shared', ['--runtime', 'container']);
  const [, token = ''] = await first.prints(/Token of both: +(\S+)/);
  await first.prints(/Press Ctrl-C to stop/);
  const { workspaces } = new SnapshotterClient(http({ url: `http://127.0.0.1:${port}`, token }));
  await workspaces.create({ name: 'notebook' });

  await using second = startDev(await freePorts(), 'shared', ['--runtime', 'container']);
  assert.equal(await second.ended(), 1);
  assert.match(second.output, /^Another `npm run dev` uses the state in \S+shared\. End it, or .+\n$/);

  const { state, hadEnded } = await workspaces.stop({ name: 'notebook' });
  assert.deepEqual([state, hadEnded], ['stopped', false]);
  assert.equal(await first.interrupt(), 0);
});

test('a second run with another state leaves the first one in the registry, and names it', async () => {
  const port = await freePorts();
  await using first = startDev(port, 'one', ['--runtime', 'container']);
  await first.prints(/`wrangler dev` in another project can bind [^]*Press Ctrl-C to stop/);
  const entry = () => readFileSync(join(folder, 'config/.wrangler/registry/sandbox-snapshotter'), 'utf8');
  const registered = entry();

  await using second = startDev(await freePorts(), 'two', ['--runtime', 'container']);
  const [, other] = await second.prints(
    /does not reach this run, but the one at ([^,]+), with the state in \S+one\./,
  );
  assert.equal(other, `http://127.0.0.1:${port}`);
  await second.prints(/Press Ctrl-C to stop/);
  assert.doesNotMatch(second.output, /can bind/);
  assert.equal(entry(), registered);
  assert.equal(await second.interrupt(), 0);
  assert.equal(entry(), registered);
  assert.equal(await first.interrupt(), 0);
});

test('the state of another runtime is refused', async () => {
  await using first = startDev(await freePorts(), 'recorded', ['--runtime', 'container']);
  await first.prints(/recorded, of the runtime container\n[^]*Press Ctrl-C to stop/);
  assert.equal(await first.interrupt(), 0);
  await using second = startDev(await freePorts(), 'recorded', ['--runtime', 'sdk-0.12']);
  assert.equal(await second.ended(), 1);
  assert.match(
    second.output,
    /^The state in \S+recorded is of the runtime container, and this run of sdk-0\.12\. .+--state <folder>\n$/,
  );
});

test('a run with the sandboxes of another Worker says why newer files may be lost', async () => {
  const owner = () => join(folder, 'moved/sandboxes-of');
  {
    await using first = startDev(await freePorts(), 'moved', ['--runtime', 'container']);
    await first.prints(/Press Ctrl-C to stop/);
    assert.doesNotMatch(first.output, /may be lost/);
    assert.equal(await first.interrupt(), 0);
  }
  const own = readFileSync(owner(), 'utf8');
  writeFileSync(owner(), 'my-agent');
  {
    await using empty = startDev(await freePorts(), 'moved', ['--runtime', 'container']);
    await empty.prints(/Press Ctrl-C to stop/);
    assert.doesNotMatch(empty.output, /may be lost/, 'there is no workspace whose files may be lost');
    assert.equal(await empty.interrupt(), 0);
  }
  writeFileSync(owner(), 'my-agent');
  writeFileSync(join(folder, 'moved/do/sandbox-snapshotter-NamedWorkspace', `${'0'.repeat(64)}.sqlite`), '');
  await using second = startDev(await freePorts(), 'moved', ['--runtime', 'container']);
  await second.prints(
    new RegExp(
      `those of "${own}", and earlier runs .* had those of "my-agent"\\. .* newer files may be lost: `,
    ),
  );
  await second.prints(/Press Ctrl-C to stop/);
  assert.equal(await second.interrupt(), 0);
  assert.equal(readFileSync(owner(), 'utf8'), own);
});

test('an earlier run that uses the port is named', async () => {
  const port = await freePorts();
  await using first = startDev(port, 'earlier', ['--runtime', 'container']);
  await first.prints(/Press Ctrl-C to stop/);
  await using second = startDev(port + 1, 'later');
  assert.equal(await second.ended(), 1);
  const message = `Port ${port + 1} is in use by an earlier \`npm run dev\`. To end it: kill ${first.pid}. `;
  assert.ok(second.output.startsWith(message), second.output);
});

test('`--port` has priority over PORT, and is replaced in the advice for a busy one', async () => {
  const port = await freePorts();
  const server = await listen(port + 1);
  await using dev = startDev(1, 'fifth', ['--port', String(port)]);
  assert.equal(await dev.ended(), 1);
  server.close();
  const other = `npm run dev -- --state ${join(folder, 'fifth')} --port 9000`;
  assert.equal(dev.output, `Port ${port + 1} is in use. Pass another port: ${other}\n`);
});

test('a busy port is reported on one line that names the option', async () => {
  const port = await freePorts();
  const server = await listen(port + 1);
  await using dev = startDev(port, 'fourth');
  assert.equal(await dev.ended(), 1);
  server.close();
  assert.equal(
    dev.output,
    `Port ${port + 1} is in use. Pass another port: npm run dev -- --state ${join(folder, 'fourth')} --port 9000\n`,
  );
});
