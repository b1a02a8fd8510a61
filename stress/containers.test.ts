// Tests that the chaos test finds no violation with sandboxes over `ctx.container`, and finds a fault of platform snapshots.

import assert from 'node:assert/strict';
import { test } from 'node:test';

process.env['SANDBOX_MODE'] = 'container'; // The modules read it when they are imported.
const { chaos } = await import('./chaos/run.ts');
const { worker } = await import('./environment.ts');

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
console.log(`SEED=${seed}`);

test('chaos finds no violation with sandboxes over ctx.container', async () => {
  const { operations, violations } = await chaos({ rounds: 1, seed });
  assert.deepEqual(violations, []);
  assert.ok(operations > 10, `${operations} operations`);
});

test('chaos reports starts from a platform snapshot that lack a file', async () => {
  const sandboxes = worker('incomplete-platform-starts.mjs');
  // With this seed, the workspaces are stopped.
  const { violations } = await chaos({ rounds: 1, seed: 200, sandboxes, print: console.log });
  assert.ok(violations.some((violation) => /the files of the (started )?workspace/.test(violation)));
});
