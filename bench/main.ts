// `npm run bench`: runs the benchmarks, prints the results, and writes them to bench/results.json, docs/benchmarks.md and
// docs/images.
//
//   npm run bench -- --only snapshot,list   runs some of the measures
//   npm run bench -- --runs 30              sets the number of runs of each side; the default is 15
//   npm run bench -- --quick                runs small sizes few times, as a smoke test; writes nothing
//   npm run bench -- --out file.json        writes the results to this file only
//   npm run bench -- --plot                 updates the documentation from the stored results, without a run
//   npm run bench -- --mode production      runs in this mode; writes bench/results-production.json or -container.json
//   npm run bench -- --max-files 60000      omits larger trees

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { modeOfRun, type Mode } from '../scripts/local.ts';
import { bench, MEASURES, type Results } from './bench.ts';
import { file, page, type Measured } from './page.ts';
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
    'max-files': { type: 'string' },
  },
});

const names = values.only.split(',');
const unknown = names.find((name) => !(name in MEASURES));
const maxFiles = values['max-files'] === undefined ? {} : { maxFiles: Number(values['max-files']) };
const runs = Number(values.runs ?? (values.quick ? 2 : 15));
if (unknown !== undefined || !(Number.isInteger(runs) && runs > 0)) {
  console.error(
    `\`--only\` must list some of ${Object.keys(MEASURES).join()}; \`--runs\` must be a positive integer.`,
  );
  process.exit(2);
}

process.env['SANDBOX_MODE'] = values.mode;
/** The files of the results of each mode. */
const FILES: Record<Mode, string> = {
  local: at('results.json'),
  production: at('results-production.json'),
  container: at('results-container.json'),
};
const stored = FILES[modeOfRun()];
const out = values.out ?? (values.quick ? undefined : stored);
const previous = read(out);

if (!values.plot)
  await bench(names, { runs, quick: values.quick, ...maxFiles }, async (rows, results) => {
    console.log(`\n${rows[0]?.measure}\n${table(rows)}`);
    if (out !== undefined) writeFileSync(out, await file(merged(results), out));
  });
if (out === stored) await updateDocs();

/** Reads stored results, if there are any. */
function read(path: string | undefined): Results | undefined {
  return path !== undefined && existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

/** Adds the previous results of the measures that this run does not include. */
function merged(results: Results): Results {
  const others = previous?.rows.filter(({ measure }) => !names.includes(measure)) ?? [];
  const order = Object.keys(MEASURES);
  const rows = [...others, ...results.rows].sort(
    (a, b) => order.indexOf(a.measure) - order.indexOf(b.measure),
  );
  return { ...results, rows, details: { ...previous?.details, ...results.details } };
}

/** Writes the plots and the tables of the documentation. */
async function updateDocs() {
  const stored = Object.entries(FILES).map(([mode, path]) => [mode, read(path)] as const);
  const measured: Measured = Object.fromEntries(stored.filter(([, results]) => results !== undefined));
  const { local } = measured;
  for (const [name, svg] of Object.entries(local ? plots(local) : {}))
    writeFileSync(at(`../docs/images/bench-${name}.svg`), svg);
  const path = at('../docs/benchmarks.md');
  writeFileSync(path, await page(readFileSync(path, 'utf8'), measured, path));
}
