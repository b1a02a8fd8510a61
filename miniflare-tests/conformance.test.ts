// The conformance suite over the real ports: SQLite and alarms of a Durable Object, R2, the published
// Sandbox class, and the Workspace objects of the built Worker.
// The cases are written in Rust, and the ports in memory run them too. Each case is a test here.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { SNAPSHOTTER, startLocal } from '../scripts/local.ts';
import { buildTestWorker } from '../scripts/test-workers.mjs';

buildTestWorker('conformance');
const local = await startLocal({
  workers: [
    { config: fileURLToPath(new URL('./conformance/wrangler.toml', import.meta.url)) },
    { config: SNAPSHOTTER, sandboxesOf: 'conformance' },
  ],
});
after(() => local.close());

async function send(path: string, method: 'GET' | 'POST'): Promise<unknown> {
  const response = await local.miniflare.dispatchFetch(`http://conformance/${path}`, { method });
  return response.json();
}

for (const [subject, names] of Object.entries((await send('', 'GET')) as Record<string, string[]>)) {
  describe(`conformance: ${subject}`, () => {
    for (const name of names) {
      test(name.replaceAll('_', ' '), async () => {
        const outcome = await send(`${subject}/${name}`, 'POST');
        assert.deepEqual(outcome, { name, ok: true });
      });
    }
  });
}
