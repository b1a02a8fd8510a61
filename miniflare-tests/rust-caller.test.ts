// The client in Rust, from a Worker in Rust, over the built Worker.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { SNAPSHOTTER, startLocal, type Local } from '../scripts/local.ts';
import { at } from '../scripts/setup.mjs';
import { buildTestWorker } from '../scripts/test-workers.mjs';
import { lines } from './world.ts';

const TOKEN = 'a token for tests';

/** What captures wait for. */
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
  assert.equal(response.status, 200, 'the caller itself must not fail');
  return response.json();
}

/** Has the Worker do something. */
const play = (what: string) => post('play', what);

/** Runs a command in a sandbox, and answers what it printed. */
async function exec(id: string, command: string): Promise<string> {
  return lines((await post(`exec/${id}`, command)).stdout);
}

test('a snapshot is taken and restored; when it is deleted, that is an error with its code', async () => {
  const { value } = await play('take, restore, delete');
  assert.equal(value.label, 'before');
  assert.equal(await exec(value.restored, 'cat notes.txt'), 'first\n');
  const { code, kind, message, correlationId } = value.afterwards;
  assert.deepEqual([code, kind], ['SNAPSHOT_NOT_FOUND', 'not_found']);
  assert.match(message, /^SNAPSHOT_NOT_FOUND: /);
  assert.match(correlationId, /^[0-9a-f]{16}$/);
});

test('lists are read page by page', async () => {
  assert.deepEqual((await play('read pages')).value, ['c', 'b', 'a']);
});

test('a workspace is made by its name', async () => {
  assert.equal((await play('make a workspace')).value, 'active');
});

test('a wrong token is refused', async () => {
  assert.equal((await play('use a wrong token')).error.code, 'UNAUTHORIZED');
});

for (const when of ['before', 'meanwhile']) {
  test(`who hangs up ${when} is told at once`, async () => {
    assert.equal((await play(`hang up ${when}`)).error.code, 'ABORTED');
  });
}

test('who waits no longer is told that the answer is lost', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  released = promise;
  const { error } = await play('wait shortly');
  assert.deepEqual([error.code, error.kind], ['ANSWER_LOST', 'transient']);
  resolve();
});

test("a caller gets none of the snapshotter's own entrypoints", async () => {
  const glue = await readFile(at('build/rust-caller/index.js'), 'utf8');
  const functions = [...glue.matchAll(/^export (?:async )?function (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(
    functions.filter((name) => !name?.startsWith('__')),
    ['play'],
  );
});
