// Tests that all measures of the benchmark work, with small sizes. They assert nothing about speed.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { bench, MEASURES, type Results } from './bench.ts';
import { page } from './page.ts';
import { plots } from './plots.ts';
import { compare, exact, meetsTarget } from './results.ts';

describe('quick run', () => {
  let results: Results;
  before(async () => {
    results = await bench(Object.keys(MEASURES), { runs: 1, quick: true }, () => {});
  });

  test('has rows for every measure', () => {
    assert.deepEqual(new Set(results.rows.map(({ measure }) => measure)), new Set(Object.keys(MEASURES)));
  });

  test('has finite figures in every row', () => {
    for (const row of results.rows) {
      assert.ok(Number.isFinite(row.ours) && row.ours >= 0, row.name);
      assert.ok(row.baseline === null || Number.isFinite(row.baseline), row.name);
    }
  });

  test('has a unique name and baseline for every row of a measure', () => {
    const names = results.rows.map(({ measure, name, against }) => `${measure}: ${name} ${against}`);
    assert.equal(new Set(names).size, names.length);
  });

  test('produces plots and tables', async () => {
    for (const svg of Object.values(plots(results))) assert.doesNotMatch(svg, /NaN|undefined|Infinity/);
    const text = await page('<!-- figures: list -->\n<!-- end -->\n', { local: results }, 'benchmarks.md');
    assert.match(text, /list of 5/);
  });

  test('fills only the tables of its mode', async () => {
    const markers = '<!-- figures: list in production -->\n\nunchanged\n\n<!-- end -->\n';
    assert.match(await page(markers, { local: results }, 'benchmarks.md'), /unchanged/);
    assert.match(await page(markers, { production: results }, 'benchmarks.md'), /list of 5/);
  });
});

describe('quick run with sandboxes over ctx.container', () => {
  let results: Results;
  before(async () => {
    process.env['SANDBOX_MODE'] = 'container';
    results = await bench(['trees'], { runs: 1, quick: true }, () => {});
  });
  after(() => delete process.env['SANDBOX_MODE']);

  test('compares a start from each storage with plain calls of ctx.container', () => {
    const starts = results.rows.filter(({ name }) => name.startsWith('start'));
    const of = 'start of 200 files in 2 directories';
    assert.deepEqual(
      starts.map(({ name }) => name),
      [of, `${of}, storage both`, `${of}, storage platform`],
    );
    for (const { against, ratio } of starts) {
      assert.equal(against, 'plain calls of ctx.container');
      assert.ok(Number.isFinite(ratio));
    }
  });

  test('fills the tables of its mode', async () => {
    const markers = '<!-- figures: trees in container -->\n\n<!-- end -->\n';
    assert.match(await page(markers, { container: results }, 'benchmarks.md'), /start of 200 files/);
  });
});

describe('row', () => {
  const about = { measure: 'm', name: 'n', unit: 'ms', against: 'a', target: 1.1 };

  test('compares medians', () => {
    const row = compare(about, { ours: [10, 12, 11, 100], baseline: [10, 10, 11, 10] });
    assert.deepEqual([row.ours, row.baseline, row.ratio, row.runs], [11.5, 10, 1.15, 4]);
    assert.equal(meetsTarget(row), false);
  });

  test('has the interquartile range divided by the median as its spread', () => {
    const { spread, baselineSpread } = compare(about, {
      ours: [8, 9, 10, 11, 12],
      baseline: [5, 5, 5, 5, 5],
    });
    assert.deepEqual([spread, baselineSpread], [0.2, 0]);
  });

  test('of counts has the difference as its ratio', () => {
    const row = exact({ ...about, unit: 'rows', ours: 7, baseline: 3, target: 4, of: 'extra' });
    assert.equal(row.ratio, 4);
    assert.equal(meetsTarget(row), true);
  });

  test('without a target neither meets nor misses it', () => {
    assert.equal(meetsTarget(exact({ ...about, ours: 7, baseline: null, target: null })), null);
  });
});
