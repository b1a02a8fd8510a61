// The soak and the chaos find nothing wrong with what is right, and find what was planted.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { chaos } from './chaos/run.ts';
import { Judge } from './judge.ts';
import { Random } from './random.ts';
import { SECRETS } from './secrets.ts';
import type { Sample } from './soak/gauges.ts';
import { soak } from './soak/run.ts';
import { growing } from './soak/trend.ts';
import { worker } from './stage.ts';

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
console.log(`SEED=${seed}`);

/** How long the short soaks are. */
const minutes = 4 / 60;

describe('a soak', () => {
  test('of the Worker finds no violation', async () => {
    const { operations, compared, samples, violations } = await soak({ minutes, seed });
    assert.deepEqual(violations, []);
    assert.ok(operations > 20 && compared > 0, `${operations} operations, ${compared} restores compared`);
    assert.ok(samples.length > 0);
  });

  test('of sandboxes that drop a file from each restore reports them', async () => {
    const { violations } = await soak({ minutes, seed, sandboxes: worker('forgetful.mjs') });
    assert.ok(violations.some((violation) => violation.includes('the files of a restored sandbox')));
  });
});

describe('chaos', () => {
  test('around the Worker finds no violation', async () => {
    const { operations, violations } = await chaos({ rounds: 2, seed });
    assert.deepEqual(violations, []);
    assert.ok(operations > 20, `${operations} operations`);
  });

  test('around a bucket that loses archives reports each snapshot, by the seed of the round', async () => {
    const { violations } = await chaos({ rounds: 1, seed, sandboxes: worker('losing.mjs') });
    assert.ok(violations.some((violation) => violation.startsWith(`round ${seed}: `)));
    assert.ok(violations.some((violation) => /BACKUP_INCOMPLETE|not to be restorable/.test(violation)));
  });
});

describe('what must be flat', () => {
  const FLAT: Sample = {
    workerd: 200,
    node: 150,
    handles: 100,
    awake: 20,
    processes: 6,
    mounts: 20,
    objects: 20,
    ledger: 60,
    names: 300,
  };
  const samples = (change: (index: number) => Partial<Sample>) =>
    Array.from({ length: 12 }, (_, index) => ({ ...FLAT, ...change(index) }));

  test('may vary', () => {
    const up = [3, -2, 0, 1, -3, 2, -1, 0, 2, -2, 1, -1];
    assert.deepEqual(
      growing(samples((index) => ({ workerd: 200 + 5 * up[index]!, handles: 100 + up[index]! }))),
      [],
    );
  });

  test('may grow at the beginning', () => {
    assert.deepEqual(growing(samples((index) => ({ workerd: 120 + 40 * Math.min(index, 5) }))), []);
  });

  for (const gauge of Object.keys(FLAT) as (keyof Sample)[]) {
    test(`must not grow for ever: ${gauge}`, () => {
      const [growth, ...others] = growing(samples((index) => ({ [gauge]: FLAT[gauge] * (1 + index / 5) })));
      assert.match(growth ?? 'nothing', new RegExp(`^${gauge} grows`));
      assert.deepEqual(others, []);
    });
  }

  test('can not be told from few samples', () => {
    assert.deepEqual(growing(samples((index) => ({ objects: index * 100 })).slice(0, 5)), []);
  });
});

describe('a judge', () => {
  const LEGIBLE = {
    name: 'SnapshotterError',
    message: 'LABEL_TAKEN: It is taken.',
    code: 'LABEL_TAKEN',
    kind: 'conflict',
    remediation: 'Give another.',
    retryable: false,
    correlationId: '5c1f0a9be2d47733',
  };
  const judged = (change: object) => {
    const judge = new Judge();
    judge.failure({ ...LEGIBLE, ...change }, 'label', 'rpc');
    return judge.violations.length;
  };

  test('accepts a failure that is legible', () => assert.equal(judged({}), 0));

  for (const [what, change] of Object.entries({
    'no code': { code: undefined },
    'a defect': { code: 'INTERNAL', message: 'INTERNAL: It broke.' },
    'an unknown kind': { kind: 'odd' },
    'no remediation': { remediation: '' },
    'a retry that makes no sense': { retryable: true },
    'no correlation id': { correlationId: undefined },
    'a message without its code': { message: 'It is taken.' },
    'a content of a file': { message: `LABEL_TAKEN: ${SECRETS.content}` },
    'a variable': { remediation: SECRETS.variable },
  }))
    test(`reports a failure with ${what}`, () => assert.equal(judged(change), 1));

  test('reports a line of the log that tells a secret, where the line is the snapshotter’s', () => {
    const judge = new Judge();
    judge.line(JSON.stringify({ event: 'snapshot', label: SECRETS.label }));
    judge.line(JSON.stringify({ message: `sandbox.exec ${SECRETS.content}` }));
    judge.line(`panicked at src/lib.rs:1:1`);
    assert.equal(judge.violations.length, 2);
  });
});

test('a seed gives the same decisions each time, and another one others', () => {
  const decisions = (seed: number) => {
    const random = new Random(seed);
    return Array.from({ length: 20 }, () => random.below(1000));
  };
  assert.deepEqual(decisions(7), decisions(7));
  assert.notDeepEqual(decisions(7), decisions(8));
});
