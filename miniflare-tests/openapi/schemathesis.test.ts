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
import { Place } from './place.ts';

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

/** Runs Schemathesis in a folder of its own. */
async function schemathesis(...args: string[]): Promise<{ status: number | null; output: string }> {
  const known = join(folder, 'known.json');
  await writeFile(known, JSON.stringify(await place.prepare()));
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

test('Schemathesis finds nothing', async () => {
  const { status, output } = await schemathesis(
    '--config-file',
    at('miniflare-tests/schemathesis/schemathesis.toml'),
    'run',
    at('reference/openapi.json'),
    '--url',
    place.address,
    '--header',
    `Authorization: ${place.authorized.authorization}`,
    '--checks',
    'all',
    '--max-time',
    '100',
  );
  assert.equal(status, 0, output);
});
