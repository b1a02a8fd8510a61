// The addresses in examples.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { withAddress } from '../src/address.ts';
import { PAGES } from './pages.ts';

const EXAMPLE = 'export SNAPSHOTTER_ADDRESS=https://sandbox-snapshotter.example.workers.dev';
const LOCAL = 'curl http://127.0.0.1:8787/healthz; curl http://127.0.0.1:8788/ada/run';

test('an example shows the address of the Worker that serves it', () => {
  for (const origin of ['https://snapshots.acme.dev', 'http://127.0.0.1:8960'])
    assert.equal(
      withAddress(`${EXAMPLE}\n${EXAMPLE}/docs`, origin),
      `export SNAPSHOTTER_ADDRESS=${origin}\nexport SNAPSHOTTER_ADDRESS=${origin}/docs`,
    );
});

test('an example of a local Worker shows its ports, and stays as it is on a deployed Worker', () => {
  assert.equal(
    withAddress(LOCAL, 'http://localhost:9000'),
    'curl http://localhost:9000/healthz; curl http://localhost:9001/ada/run',
  );
  assert.equal(
    withAddress(LOCAL, 'http://127.0.0.1:8788'),
    'curl http://127.0.0.1:8788/healthz; curl http://127.0.0.1:8789/ada/run',
  );
  assert.equal(withAddress(LOCAL, 'https://snapshots.acme.dev'), LOCAL);
});

test('other addresses in an example stay as they are', () => {
  for (const other of [
    'http://127.0.0.1:87870/',
    'http://127.0.0.1:8789/',
    'https://the-other.example.workers.dev',
  ])
    assert.equal(withAddress(other, 'http://127.0.0.1:9000'), other);
});

test('the pages have the address of examples only in code, where the script replaces it', () => {
  for (const [path, body] of PAGES) {
    if (!path.startsWith('/docs') || !body.startsWith('<!doctype')) continue;
    const prose = body.replaceAll(/<(pre|code)\b.*?<\/\1>/gs, '');
    assert.doesNotMatch(prose, /sandbox-snapshotter\.example\.workers\.dev/, path);
  }
});
