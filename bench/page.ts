// The figures in docs/benchmarks.md: what stands between its marks is written from the results.

import { format, resolveConfig } from 'prettier';

import type { Mode } from '../scripts/local.ts';
import type { Results } from './bench.ts';
import type { Billed } from './measures/billing.ts';
import { holds, type Row } from './results.ts';
import { figure } from './table.ts';

/** The results of each mode, as far as it was measured. */
export type Measured = Partial<Record<Mode, Results>>;

/**
 * The page with the figures of these results: of a mark `figures: list` those of local mode, of `figures: list in production`
 * those of production mode. A part of which nothing was measured stays as it is.
 */
export async function page(before: string, measured: Measured, path: string): Promise<string> {
  const filled = before.replace(
    /(<!-- figures: ([a-z]+)( in production)? -->\n)([\s\S]*?)(<!-- end -->)/g,
    (all, begin: string, name: string, production: string | undefined, _: string, end: string) => {
      const results = measured[production === undefined ? 'local' : 'production'];
      const content = results && part(name, results);
      return content === undefined ? all : `${begin}\n${content}\n\n${end}`;
    },
  );
  return format(filled, { ...(await resolveConfig(path)), parser: 'markdown' });
}

/** The results as the file that is kept of them. */
export async function file(results: Results, path: string): Promise<string> {
  return format(JSON.stringify(results), { ...(await resolveConfig(path)), parser: 'json' });
}

function part(name: string, results: Results): string | undefined {
  if (name === 'machine') return machine(results);
  const billed = results.details['billing'] as Billed[] | undefined;
  if (name === 'cost') return billed && cost(billed);
  if (name === 'calls') return billed && calls(billed);
  const rows = results.rows.filter(({ measure }) => measure === name);
  return rows.length === 0 ? undefined : figures(rows);
}

function machine({ machine, versions, date }: Results): string {
  const known = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${date.slice(0, 10)}, ${machine.cpu}, ${machine.cpus} cores, ${machine.memoryGB} GB, ${machine.system}; ${known.join(', ')}.`;
}

function figures(rows: Row[]): string {
  const head =
    '| what | ours | against | that | ratio | wanted | holds | runs |\n| - | -: | - | -: | -: | -: | - | -: |';
  const varying = (number: number, spread: number, row: Row) =>
    `${figure(number)} ${row.unit}${row.runs > 1 ? ` ± ${(spread * 100).toFixed(0)} %` : ''}`;
  const lines = rows.map((row) => {
    const { target, ratio } = row;
    const word = { true: 'yes', false: '**no**', null: '' }[String(holds(row)) as 'true' | 'false' | 'null'];
    const cells = [
      row.name,
      varying(row.ours, row.spread, row),
      row.against,
      row.baseline === null ? '' : varying(row.baseline, row.baselineSpread, row),
      ratio === null ? '' : row.of === 'extra' ? `${ratio < 0 ? '' : '+'}${ratio}` : `${ratio.toFixed(2)}×`,
      target === null
        ? ''
        : row.of === 'extra'
          ? `≤ +${target}`
          : row.of === 'ours'
            ? `≤ ${target}`
            : `≤ ${target}×`,
      word,
      row.runs,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [head, ...lines].join('\n');
}

/** Where the time of a snapshot and of a restore goes. */
function calls(billed: Billed[]): string {
  const head = '| operation | call | began after | took |\n| - | - | -: | -: |';
  const lines = billed
    .filter(({ operation, side }) => side === 'ours' && ['snapshot', 'restore'].includes(operation))
    .flatMap(({ operation, calls }) =>
      calls.map(({ call, at, took }) => `| ${operation} | \`${call}\` | ${at} ms | ${took} ms |`),
    );
  return [head, ...lines].join('\n');
}

function cost(billed: Billed[]): string {
  const names = {
    ours: 'the snapshotter',
    typescript: 'the one in TypeScript',
    direct: "the SDK's calls alone",
  };
  const head =
    '| operation | by | requests | rows read | rows written | class A | class B | subrequests | a million cost |\n' +
    '| - | - | -: | -: | -: | -: | -: | -: | -: |';
  const order = [...new Set(billed.map(({ operation }) => operation))];
  const sorted = [...billed].sort(
    (one, other) => order.indexOf(one.operation) - order.indexOf(other.operation),
  );
  const lines = sorted.map(({ operation, side, bill, dollars }) => {
    const { requests, rowsRead, rowsWritten, classA, classB, subrequests } = bill;
    const cells = [operation, names[side], requests, rowsRead, rowsWritten, classA, classB, subrequests];
    return `| ${cells.join(' | ')} | $${dollars.toFixed(2)} |`;
  });
  return [head, ...lines].join('\n');
}
