// Schemathesis makes requests up from the API document, and holds the answers against it: with all of its checks, the same requests
// in every run, and data for which a restore succeeds.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';

import { at } from '../../scripts/setup.mjs';
import { Place, SANDBOX } from './place.ts';
import type { SnapshotRef } from '../../client/src/index.ts';

let place: Place;
let folder: string;
before(async () => {
  place = await Place.start();
  folder = await mkdtemp(join(tmpdir(), 'schemathesis-'));
});
after(async () => {
  await place[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** The ref of a snapshot that can be deleted, so that the others are there to be restored. */
async function spare(): Promise<SnapshotRef> {
  const options = { sandboxId: SANDBOX, label: 'spare', fresh: true };
  const { text } = await place.send('/v1/snapshot', { body: JSON.stringify(options) });
  const { providerId, ref } = JSON.parse(text);
  return { providerId, ref };
}

/** Runs Schemathesis in a folder of its own. */
async function schemathesis(...args: string[]): Promise<{ status: number | null; output: string }> {
  const known = join(folder, 'known.json');
  await writeFile(known, JSON.stringify({ ...(await place.prepare()), spare: await spare() }));
  const child = spawn(at('.tools/schemathesis/bin/st'), args, {
    cwd: folder,
    env: {
      ...process.env,
      KNOWN: known,
      SCHEMATHESIS_HOOKS: 'hooks',
      PYTHONPATH: at('miniflare-tests/schemathesis'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const status = new Promise<number | null>((end, fail) => child.on('error', fail).on('close', end));
  const [code, out, errors] = await Promise.all([status, text(child.stdout), text(child.stderr)]);
  return { status: code, output: out + errors };
}

test('Schemathesis finds nothing', async (t) => {
  const { status, output } = await schemathesis(
    '--config-file',
    at('miniflare-tests/schemathesis/schemathesis.toml'),
    'run',
    at('reference/openapi.json'),
    '--url',
    place.address,
    '--header',
    `Authorization: ${place.authorized.authorization}`,
  );
  assert.equal(status, 0, output);
  const cases = Number(/(\d+) passed, \d+ skipped\s*$/m.exec(output)?.[1]);
  assert.ok(cases > 500, output);
  t.diagnostic(`${cases} requests`);
});
