// The tables of docs/benchmarks.md. The text between its markers is generated from the results.

import { format, resolveConfig } from 'prettier';

import type { Mode } from '../scripts/local.ts';
import type { Results } from './bench.ts';
import type { Billed } from './measures/billing.ts';
import { meetsTarget, type Row } from './results.ts';
import { figure } from './table.ts';

/** The results of each measured mode. */
export type Measured = Partial<Record<Mode, Results>>;

/**
 * Returns the page with the tables of these results. The marker `figures: list` takes the results of local mode, and
 * `figures: list in production` those of another mode. A part without results stays unchanged.
 */
export async function page(previous: string, measured: Measured, path: string): Promise<string> {
  const filled = previous.replace(
    /(<!-- figures: ([a-z]+)(?: in (production|container))? -->\n)([\s\S]*?)(<!-- end -->)/g,
    (all, begin: string, name: string, mode: Mode | undefined, _: string, end: string) => {
      const results = measured[mode ?? 'local'];
      const content = results && part(name, results);
      return content === undefined ? all : `${begin}\n${content}\n\n${end}`;
    },
  );
  return format(filled, { ...(await resolveConfig(path)), parser: 'markdown' });
}

/** Returns the results in the format of their file. */
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
  const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${date.slice(0, 10)}, ${machine.cpu}, ${machine.cpus} cores, ${machine.memoryGB} GB, ${machine.system}; ${packages.join(', ')}.`;
}

function figures(rows: Row[]): string {
  const head =
    '| measurement | snapshotter | compared with | baseline | ratio | target | met | runs |\n| - | -: | - | -: | -: | -: | - | -: |';
  const withSpread = (number: number, spread: number, row: Row) =>
    `${figure(number)} ${row.unit}${row.runs > 1 ? ` ± ${(spread * 100).toFixed(0)} %` : ''}`;
  const lines = rows.map((row) => {
    const { target, ratio } = row;
    const met = { true: 'yes', false: '**no**', null: '' }[
      String(meetsTarget(row)) as 'true' | 'false' | 'null'
    ];
    const cells = [
      row.name,
      withSpread(row.ours, row.spread, row),
      row.against,
      row.baseline === null ? '' : withSpread(row.baseline, row.baselineSpread, row),
      ratio === null ? '' : row.of === 'extra' ? `${ratio < 0 ? '' : '+'}${ratio}` : `${ratio.toFixed(2)}×`,
      target === null
        ? ''
        : row.of === 'extra'
          ? `≤ +${target}`
          : row.of === 'ours'
            ? `≤ ${target}`
            : `≤ ${target}×`,
      met,
      row.runs,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [head, ...lines].join('\n');
}

/** The calls within a snapshot and a restore, with their times. */
function calls(billed: Billed[]): string {
  const head = '| operation | call | start | duration |\n| - | - | -: | -: |';
  const lines = billed
    .filter(({ operation, side }) => side === 'ours' && ['snapshot', 'restore'].includes(operation))
    .flatMap(({ operation, calls }) =>
      calls.map(({ call, at, took }) => `| ${operation} | \`${call}\` | ${at} ms | ${took} ms |`),
    );
  return [head, ...lines].join('\n');
}

function cost(billed: Billed[]): string {
  const names = {
    ours: 'snapshotter',
    typescript: 'TypeScript snapshotter',
    direct: 'direct SDK calls',
  };
  const head =
    '| operation | implementation | requests | rows read | rows written | class A | class B | subrequests | cost per million |\n' +
    '| - | - | -: | -: | -: | -: | -: | -: | -: |';
  const order = [...new Set(billed.map(({ operation }) => operation))];
  const sorted = [...billed].sort((a, b) => order.indexOf(a.operation) - order.indexOf(b.operation));
  const lines = sorted.map(({ operation, side, bill, dollars }) => {
    const { requests, rowsRead, rowsWritten, classA, classB, subrequests } = bill;
    const cells = [operation, names[side], requests, rowsRead, rowsWritten, classA, classB, subrequests];
    return `| ${cells.join(' | ')} | $${dollars.toFixed(2)} |`;
  });
  return [head, ...lines].join('\n');
}
