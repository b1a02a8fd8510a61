// Tests that the soak and chaos tests find no violation in the Worker, and find planted faults.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { chaos } from './chaos/run.ts';
import { worker } from './environment.ts';
import { Random } from './random.ts';
import { SECRETS } from './secrets.ts';
import type { Sample } from './soak/gauges.ts';
import { soak } from './soak/run.ts';
import { growing } from './soak/trend.ts';
import { Violations } from './violations.ts';

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
console.log(`SEED=${seed}`);

/** The duration of the short soak tests, in minutes. */
const minutes = 4 / 60;

describe('soak', () => {
  test('finds no violation in the Worker', async () => {
    const { operations, compared, samples, violations } = await soak({ minutes, seed });
    assert.deepEqual(violations, []);
    assert.ok(operations > 20 && compared > 0, `${operations} operations, ${compared} restores compared`);
    assert.ok(samples.length > 0);
  });

  test('reports sandboxes that drop a file from each restore', async () => {
    const { violations } = await soak({ minutes, seed, sandboxes: worker('incomplete-restores.mjs') });
    assert.ok(violations.some((violation) => violation.includes('the files of a restored sandbox')));
  });
});

describe('chaos', () => {
  test('finds no violation in the Worker', async () => {
    const { operations, violations } = await chaos({ rounds: 2, seed });
    assert.deepEqual(violations, []);
    assert.ok(operations > 20, `${operations} operations`);
  });

  test('reports snapshots whose archives are lost, with the seed of the round', async () => {
    const { violations } = await chaos({ rounds: 1, seed, sandboxes: worker('lost-archives.mjs') });
    assert.ok(violations.some((violation) => violation.startsWith(`round ${seed}: `)));
    assert.ok(violations.some((violation) => /BACKUP_INCOMPLETE|not restorable/.test(violation)));
  });
});

describe('gauge', () => {
  const FLAT: Sample = {
    workerd: 200,
    node: 150,
    handles: 100,
    active: 20,
    processes: 6,
    mounts: 20,
    objects: 20,
    ledger: 60,
    names: 300,
  };
  const samples = (change: (index: number) => Partial<Sample>) =>
    Array.from({ length: 12 }, (_, index) => ({ ...FLAT, ...change(index) }));

  test('may vary', () => {
    const noise = [3, -2, 0, 1, -3, 2, -1, 0, 2, -2, 1, -1];
    assert.deepEqual(
      growing(samples((index) => ({ workerd: 200 + 5 * noise[index]!, handles: 100 + noise[index]! }))),
      [],
    );
  });

  test('may grow in the first half', () => {
    assert.deepEqual(growing(samples((index) => ({ workerd: 120 + 40 * Math.min(index, 5) }))), []);
  });

  for (const gauge of Object.keys(FLAT) as (keyof Sample)[]) {
    test(`${gauge} must not grow in the second half`, () => {
      const [growth, ...others] = growing(samples((index) => ({ [gauge]: FLAT[gauge] * (1 + index / 5) })));
      assert.match(growth ?? 'nothing', new RegExp(`^${gauge} grows`));
      assert.deepEqual(others, []);
    });
  }

  test('is not evaluated with few samples', () => {
    assert.deepEqual(growing(samples((index) => ({ objects: index * 100 })).slice(0, 5)), []);
  });
});

describe('error check', () => {
  const LEGIBLE = {
    name: 'SnapshotterError',
    message: 'LABEL_TAKEN: It is taken.',
    code: 'LABEL_TAKEN',
    kind: 'conflict',
    remediation: 'Use another label.',
    retryable: false,
    correlationId: '5c1f0a9be2d47733',
  };
  const violationsOf = (change: object) => {
    const violations = new Violations();
    violations.checkError({ ...LEGIBLE, ...change }, 'label', 'rpc');
    return violations.list.length;
  };

  test('accepts a legible error', () => assert.equal(violationsOf({}), 0));

  for (const [what, change] of Object.entries({
    'no code': { code: undefined },
    'the code of a defect': { code: 'INTERNAL', message: 'INTERNAL: It broke.' },
    'an unknown kind': { kind: 'odd' },
    'no remediation': { remediation: '' },
    'a wrong retryability': { retryable: true },
    'no correlation id': { correlationId: undefined },
    'a message without its code': { message: 'It is taken.' },
    'the content of a file': { message: `LABEL_TAKEN: ${SECRETS.content}` },
    'a variable': { remediation: SECRETS.variable },
  }))
    test(`reports an error with ${what}`, () => assert.equal(violationsOf(change), 1));

  test('reports secrets and defects in log lines of the snapshotter', () => {
    const violations = new Violations();
    violations.checkLine(JSON.stringify({ event: 'snapshot', label: SECRETS.label }));
    violations.checkLine(JSON.stringify({ message: `sandbox.exec ${SECRETS.content}` }));
    violations.checkLine(`panicked at src/lib.rs:1:1`);
    assert.equal(violations.list.length, 2);
  });
});

test('random decisions depend only on the seed', () => {
  const decisions = (seed: number) => {
    const random = new Random(seed);
    return Array.from({ length: 20 }, () => random.below(1000));
  };
  assert.deepEqual(decisions(7), decisions(7));
  assert.notDeepEqual(decisions(7), decisions(8));
});
