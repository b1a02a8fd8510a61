// That the benchmark works, all of it, in small: never how fast anything is.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import { bench, MEASURES, type Results } from './bench.ts';
import { page } from './page.ts';
import { plots } from './plots.ts';
import { compare, exact, holds } from './results.ts';

describe('a quick run', () => {
  let results: Results;
  before(async () => {
    results = await bench(Object.keys(MEASURES), { runs: 1, quick: true }, () => {});
  });

  test('has figures of every measure', () => {
    assert.deepEqual(new Set(results.rows.map(({ measure }) => measure)), new Set(Object.keys(MEASURES)));
  });

  test('has a figure in each row, and a ratio where there is a baseline', () => {
    for (const row of results.rows) {
      assert.ok(Number.isFinite(row.ours) && row.ours >= 0, row.name);
      assert.ok(row.baseline === null || Number.isFinite(row.baseline), row.name);
    }
  });

  test('knows each row by its name and what it is compared with', () => {
    const names = results.rows.map(({ measure, name, against }) => `${measure}: ${name} ${against}`);
    assert.equal(new Set(names).size, names.length);
  });

  test('is drawn, and told in the documentation', async () => {
    for (const svg of Object.values(plots(results))) assert.doesNotMatch(svg, /NaN|undefined|Infinity/);
    const text = await page('<!-- figures: list -->\n<!-- end -->\n', { local: results }, 'benchmarks.md');
    assert.match(text, /list of 5/);
  });

  test('of a mode stands only where that mode is meant', async () => {
    const marks = '<!-- figures: list in production -->\n\nas before\n\n<!-- end -->\n';
    assert.match(await page(marks, { local: results }, 'benchmarks.md'), /as before/);
    assert.match(await page(marks, { production: results }, 'benchmarks.md'), /list of 5/);
  });
});

describe('a row', () => {
  const about = { measure: 'm', name: 'n', unit: 'ms', against: 'a', target: 1.1 };

  test('compares medians', () => {
    const row = compare(about, { ours: [10, 12, 11, 100], baseline: [10, 10, 11, 10] });
    assert.deepEqual([row.ours, row.baseline, row.ratio, row.runs], [11.5, 10, 1.15, 4]);
    assert.equal(holds(row), false);
  });

  test('tells how far the middle half of the runs is apart, relative to the median', () => {
    const { spread, baselineSpread } = compare(about, {
      ours: [8, 9, 10, 11, 12],
      baseline: [5, 5, 5, 5, 5],
    });
    assert.deepEqual([spread, baselineSpread], [0.2, 0]);
  });

  test('of counts says how many there are more', () => {
    const row = exact({ ...about, unit: 'rows', ours: 7, baseline: 3, target: 4, of: 'extra' });
    assert.equal(row.ratio, 4);
    assert.equal(holds(row), true);
  });

  test('without a target holds nothing', () => {
    assert.equal(holds(exact({ ...about, ours: 7, baseline: null, target: null })), null);
  });
});
