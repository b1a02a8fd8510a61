// Schemathesis generates requests from the API document, and validates the responses against it: with all of its checks, the
// same requests in every run, and existing entities so that a restore succeeds.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';

import { at } from '../../scripts/setup.mjs';
import { ApiFixture, SANDBOX } from './fixture.ts';
import type { SnapshotRef } from '../../client/src/index.ts';

let api: ApiFixture;
let folder: string;
before(async () => {
  api = await ApiFixture.start();
  folder = await mkdtemp(join(tmpdir(), 'schemathesis-'));
});
after(async () => {
  await api[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** Creates a snapshot for deletion, so that the others can be restored. */
async function createSpare(): Promise<SnapshotRef> {
  const options = { sandboxId: SANDBOX, label: 'spare', fresh: true };
  const { text } = await api.send('/v1/snapshot', { body: JSON.stringify(options) });
  const { providerId, ref } = JSON.parse(text);
  return { providerId, ref };
}

/** Runs Schemathesis in its own folder. */
async function schemathesis(...args: string[]): Promise<{ status: number | null; output: string }> {
  const entities = join(folder, 'entities.json');
  await writeFile(entities, JSON.stringify({ ...(await api.prepare()), spare: await createSpare() }));
  const child = spawn(at('.tools/schemathesis/bin/st'), args, {
    cwd: folder,
    env: {
      ...process.env,
      ENTITIES: entities,
      SCHEMATHESIS_HOOKS: 'hooks',
      PYTHONPATH: at('miniflare-tests/schemathesis'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const status = new Promise<number | null>((end, fail) => child.on('error', fail).on('close', end));
  const [code, out, errors] = await Promise.all([status, text(child.stdout), text(child.stderr)]);
  return { status: code, output: out + errors };
}

test('Schemathesis finds no error', async (t) => {
  const { status, output } = await schemathesis(
    '--config-file',
    at('miniflare-tests/schemathesis/schemathesis.toml'),
    'run',
    at('reference/openapi.json'),
    '--url',
    api.address,
    '--header',
    `Authorization: ${api.authorized.authorization}`,
  );
  assert.equal(status, 0, output);
  const cases = Number(/(\d+) passed, \d+ skipped\s*$/m.exec(output)?.[1]);
  assert.ok(cases > 500, output);
  t.diagnostic(`${cases} requests`);
});
