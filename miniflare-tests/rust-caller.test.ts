// The Rust client in a Worker in Rust, with the built Worker.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { SNAPSHOTTER, startLocal, type Local } from '../scripts/local.ts';
import { at } from '../scripts/setup.mjs';
import { buildTestWorker } from '../scripts/test-workers.mjs';
import { lines } from './world.ts';

const TOKEN = 'a token for tests';

/** Captures wait for this promise. */
let released: Promise<void> | undefined;
let local: Local;
before(async () => {
  buildTestWorker('rust-caller');
  local = await startLocal({
    workers: [
      {
        config: fileURLToPath(new URL('./rust-caller/wrangler.toml', import.meta.url)),
        vars: { TOKEN },
      },
      { config: SNAPSHOTTER, vars: { API_TOKEN: TOKEN } },
    ],
    engine: {
      onCall: async ({ method }) => {
        if (method === 'backup.createArchive') await released;
      },
    },
  });
  await exec('agent-42', 'echo first > notes.txt');
});
after(() => local.close());

async function post(path: string, body: string): Promise<any> {
  const response = await local.miniflare.dispatchFetch(`http://rust-caller/${path}`, {
    method: 'POST',
    body,
  });
  assert.equal(response.status, 200, 'the calling Worker must not fail');
  return response.json();
}

/** Runs a scenario in the Worker. */
const runScenario = (name: string) => post('scenario', name);

/** Runs a command in a sandbox, and returns its output. */
async function exec(id: string, command: string): Promise<string> {
  return lines((await post(`exec/${id}`, command)).stdout);
}

test('snapshot and restore work, and a restore after the deletion fails with SNAPSHOT_NOT_FOUND', async () => {
  const { value } = await runScenario('take, restore, delete');
  assert.equal(value.label, 'before');
  assert.equal(await exec(value.restored, 'cat notes.txt'), 'first\n');
  const { code, kind, message, correlationId } = value.errorAfterDelete;
  assert.deepEqual([code, kind], ['SNAPSHOT_NOT_FOUND', 'not_found']);
  assert.match(message, /^SNAPSHOT_NOT_FOUND: /);
  assert.match(correlationId, /^[0-9a-f]{16}$/);
});

test('lists are read page by page', async () => {
  assert.deepEqual((await runScenario('read pages')).value, ['c', 'b', 'a']);
});

test('a named workspace is created', async () => {
  assert.equal((await runScenario('create a workspace')).value, 'active');
});

test('a wrong token is refused', async () => {
  assert.equal((await runScenario('use a wrong token')).error.code, 'UNAUTHORIZED');
});

for (const when of ['before', 'during']) {
  test(`an abort ${when} the call fails it with ABORTED`, async () => {
    assert.equal((await runScenario(`abort ${when} the call`)).error.code, 'ABORTED');
  });
}

test('a timeout fails the call with ANSWER_LOST', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  released = promise;
  const { error } = await runScenario('use a short timeout');
  assert.deepEqual([error.code, error.kind], ['ANSWER_LOST', 'transient']);
  resolve();
});

test('the client contains no entrypoints of the snapshotter', async () => {
  const glue = await readFile(at('build/rust-caller/index.js'), 'utf8');
  const functions = [...glue.matchAll(/^export (?:async )?function (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(
    functions.filter((name) => !name?.startsWith('__')),
    ['run_scenario'],
  );
});
