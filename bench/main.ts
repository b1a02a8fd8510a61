// `npm run bench`: measures the snapshotter, prints what came of it, and writes it to bench/results.json and docs/images.
//
//   npm run bench -- --only snapshot,list   some of the measures
//   npm run bench -- --runs 30              how often each side is run, 15 times where nothing is said
//   npm run bench -- --quick                small and few, to see that everything works; nothing is written
//   npm run bench -- --out file.json        writes there alone
//   npm run bench -- --plot                 draws what was written before
//   npm run bench -- --mode production      in production mode; writes bench/results-production.json

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { modeOfRun } from '../scripts/local.ts';
import { bench, MEASURES, type Results } from './bench.ts';
import { file, page } from './page.ts';
import { plots } from './plots.ts';
import { table } from './table.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(MEASURES).join() },
    runs: { type: 'string' },
    quick: { type: 'boolean', default: false },
    out: { type: 'string' },
    plot: { type: 'boolean', default: false },
    mode: { type: 'string', default: modeOfRun() },
  },
});

const names = values.only.split(',');
const unknown = names.find((name) => !(name in MEASURES));
const runs = Number(values.runs ?? (values.quick ? 2 : 15));
if (unknown !== undefined || !(Number.isInteger(runs) && runs > 0)) {
  console.error(`--only takes ${Object.keys(MEASURES).join()}; --runs a number.`);
  process.exit(2);
}

process.env['SANDBOX_MODE'] = values.mode;
const isLocal = modeOfRun() === 'local';
const kept = at('results.json');
const inProduction = at('results-production.json');
const written = isLocal ? kept : inProduction;
const out = values.out ?? (values.quick ? undefined : written);
const before = read(out);

if (!values.plot)
  await bench(names, { runs, quick: values.quick }, async (rows, results) => {
    console.log(`\n${rows[0]?.measure}\n${table(rows)}`);
    if (out !== undefined) writeFileSync(out, await file(merged(results), out));
  });
if (out === written) await tell(read(kept), read(inProduction));

/** What was written before. */
function read(path: string | undefined): Results | undefined {
  return path !== undefined && existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

/** The results, with those that were written before of what was not measured now. */
function merged(results: Results): Results {
  const stays = before?.rows.filter(({ measure }) => !names.includes(measure)) ?? [];
  const order = Object.keys(MEASURES);
  const rows = [...stays, ...results.rows].sort(
    (one, other) => order.indexOf(one.measure) - order.indexOf(other.measure),
  );
  return { ...results, rows, details: { ...before?.details, ...results.details } };
}

/** Writes the plots, and the figures of the documentation. */
async function tell(local: Results | undefined, production: Results | undefined) {
  for (const [name, svg] of Object.entries(local ? plots(local) : {}))
    writeFileSync(at(`../docs/images/bench-${name}.svg`), svg);
  const path = at('../docs/benchmarks.md');
  const measured = { ...(local && { local }), ...(production && { production }) };
  writeFileSync(path, await page(readFileSync(path, 'utf8'), measured, path));
}
