// Results as a text table.

import { meetsTarget, type Row } from './results.ts';

const HEAD = ['', 'snapshotter', '±', 'baseline', '±', 'ratio', 'target', 'met', 'compared with'];

/** Formats the rows of a measure in columns. */
export function table(rows: Row[]): string {
  const lines = [HEAD, ...rows.map(line)];
  const widths = HEAD.map((_, column) => Math.max(...lines.map((cells) => cells[column]!.length)));
  const padded = (cells: string[]) =>
    cells.map((cell, column) =>
      column === 0 || column >= 7 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
    );
  return lines.map((cells) => padded(cells).join('  ').trimEnd()).join('\n');
}

function line(row: Row): string[] {
  const varies = row.runs > 1;
  const target = row.target === null ? '' : `≤ ${row.of === 'extra' ? '+' : ''}${row.target}`;
  return [
    row.name,
    `${figure(row.ours)} ${row.unit}`,
    varies ? percent(row.spread) : '',
    row.baseline === null ? '' : figure(row.baseline),
    varies ? percent(row.baselineSpread) : '',
    row.ratio === null ? '' : row.of === 'extra' ? signed(row.ratio) : `${row.ratio.toFixed(3)}×`,
    target,
    { true: 'yes', false: 'NO', null: '' }[String(meetsTarget(row)) as 'true' | 'false' | 'null'],
    row.baseline === null ? '' : row.against,
  ];
}

/** Formats a number with its significant digits. */
export function figure(number: number): string {
  if (Number.isInteger(number)) return String(number);
  return number >= 100 ? number.toFixed(0) : number.toPrecision(3);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

function signed(number: number): string {
  return number < 0 ? `−${-number}` : `+${number}`;
}
