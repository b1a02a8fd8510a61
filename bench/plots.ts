// Plots of the results, as SVG for light and dark backgrounds.

import type { Results } from './bench.ts';
import type { Billed } from './measures/billing.ts';
import type { Row } from './results.ts';

/** Draws the plots of these results, by name. Omits plots without data. */
export function plots({ rows, details }: Results): Record<string, string> {
  const drawn: Record<string, string> = {};
  const of = (...measures: string[]) =>
    rows.filter(
      (row) => measures.includes(row.measure) && row.ratioQuartiles !== undefined && row.target !== null,
    );
  if (of('snapshot', 'list', 'fork', 'checkpoints').length > 0)
    drawn['ratios'] = ratios(of('snapshot', 'list', 'fork', 'checkpoints'));
  if (of('growth').length > 0) drawn['growth'] = growth(of('growth'));
  if (details['billing']) drawn['cost'] = cost(details['billing'] as Billed[]);
  return drawn;
}

const WIDTH = 760;
const LINE = 20;

/** Colors that color-blind readers can distinguish, for light and dark backgrounds. */
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .title { font-size: 14px; font-weight: 600; }
  .quiet { fill: #57606a; }
  .axis { stroke: #8c959f; stroke-width: 1; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  .ours { fill: #0969da; stroke: #0969da; }
  .other { fill: #bf8700; stroke: #bf8700; }
  .third { fill: #8250df; stroke: #8250df; }
  .range { stroke-width: 3; opacity: 0.45; }
  .target { stroke: #cf222e; stroke-width: 2; }
  .line { fill: none; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .quiet { fill: #9198a1; }
    .grid { stroke: #3d444d; }
    .ours { fill: #58a6ff; stroke: #58a6ff; }
    .other { fill: #d29922; stroke: #d29922; }
    .third { fill: #bc8cff; stroke: #bc8cff; }
    .target { stroke: #ff7b72; }
  }`;

/** Draws each ratio as a dot, with its quartiles as a bar and its target as a line. */
function ratios(rows: Row[]): string {
  const [left, right, top] = [330, WIDTH - 60, 56];
  const max = Math.max(1.5, ...rows.map(({ ratio, ratioQuartiles }) => Math.max(ratio!, ratioQuartiles![1])));
  const min = Math.min(0.5, ...rows.map(({ ratioQuartiles }) => ratioQuartiles![0]));
  const x = (ratio: number) => left + ((right - left) * Math.log(ratio / min)) / Math.log(max / min);
  const bottom = top + rows.length * LINE;
  const ticks = [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8].filter((tick) => tick >= min && tick <= max);
  const lines = rows.flatMap((row, index) => {
    const y = top + index * LINE + LINE / 2;
    const [from, to] = row.ratioQuartiles!;
    const style = row.against.includes('TypeScript')
      ? 'other'
      : row.measure === 'checkpoints'
        ? 'third'
        : 'ours';
    return [
      text(left - 12, y + 4, `${row.name} / ${short(row.against)}`, 'end'),
      `<line class="${style} range" x1="${at(x(from))}" x2="${at(x(to))}" y1="${y}" y2="${y}"/>`,
      `<line class="target" x1="${at(x(row.target!))}" x2="${at(x(row.target!))}" y1="${y - 6}" y2="${y + 6}"/>`,
      `<circle class="${style}" cx="${at(x(row.ratio!))}" cy="${y}" r="4"/>`,
      text(right + 10, y + 4, `${row.ratio!.toFixed(2)}×`, 'start'),
    ];
  });
  return svg(bottom + 40, 'Time of each call, divided by the time of its baseline', [
    text(left - 12, 44, 'red: target; bar: middle half of the runs', 'end', 'quiet'),
    ...ticks.flatMap((tick) => [
      `<line class="${tick === 1 ? 'axis' : 'grid'}" x1="${at(x(tick))}" x2="${at(x(tick))}" y1="${top}" y2="${bottom}"/>`,
      text(x(tick), bottom + 18, `${tick}×`, 'middle', 'quiet'),
    ]),
    ...lines,
  ]);
}

/** Draws the time of a list page and of a snapshot, by the number of snapshots in the ledger. */
function growth(rows: Row[]): string {
  const [left, right, top, bottom] = [70, WIDTH - 170, 60, 260];
  const lines = ['list page of 10', 'snapshot'].map((name, index) => {
    const own = rows.filter((row) => row.name.startsWith(`${name}, ledger of`));
    const points = own.map((row) => ({ size: Number(row.name.split(' ').at(-1)), millis: row.ours }));
    const first = own[0]
      ? [{ size: Number(own[0].against.split(' ').at(-1)), millis: own[0].baseline! }]
      : [];
    return { name, style: ['ours', 'other'][index]!, points: [...first, ...points] };
  });
  const all = lines.flatMap(({ points }) => points);
  const [small, large] = [Math.min(...all.map(({ size }) => size)), Math.max(...all.map(({ size }) => size))];
  const times = all.map(({ millis }) => Math.log10(millis));
  const [min, max] = [Math.floor(Math.min(...times)), Math.ceil(Math.max(...times))];
  const x = (size: number) => left + ((right - left) * Math.log(size / small)) / Math.log(large / small);
  const y = (millis: number) => bottom - ((bottom - top) * (Math.log10(millis) - min)) / (max - min);
  const ticks = Array.from({ length: max - min + 1 }, (_, index) => 10 ** (min + index));
  return svg(bottom + 50, 'Time of a call, by the number of snapshots in the ledger', [
    ...ticks.flatMap((tick) => [
      `<line class="grid" x1="${left}" x2="${right}" y1="${at(y(tick))}" y2="${at(y(tick))}"/>`,
      text(left - 8, y(tick) + 4, `${tick} ms`, 'end', 'quiet'),
    ]),
    ...[...new Set(all.map(({ size }) => size))].map((size) =>
      text(x(size), bottom + 20, grouped(size), 'middle', 'quiet'),
    ),
    text((left + right) / 2, bottom + 40, 'snapshots in the ledger', 'middle', 'quiet'),
    ...lines.flatMap(({ name, style, points }) => [
      `<polyline class="${style} line" style="fill:none" points="${points.map(({ size, millis }) => `${at(x(size))},${at(y(millis))}`).join(' ')}"/>`,
      ...points.map(
        ({ size, millis }) => `<circle class="${style}" cx="${at(x(size))}" cy="${at(y(millis))}" r="4"/>`,
      ),
      text(
        right + 12,
        y(points.at(-1)?.millis ?? 1) + 4,
        `${name}: ${points.at(-1)?.millis.toPrecision(3)} ms`,
        'start',
      ),
    ]),
  ]);
}

const SIDES = [
  ['ours', 'ours', 'snapshotter'],
  ['typescript', 'other', 'TypeScript snapshotter'],
  ['direct', 'third', 'direct SDK calls'],
] as const;

/** Draws the dollars for a million calls. */
function cost(billed: Billed[]): string {
  const operations = ['snapshot', 'restore', 'list', 'delete'];
  const [left, right, top, bar] = [90, WIDTH - 90, 60, 16];
  const max = Math.max(...billed.map(({ dollars }) => dollars));
  const width = (dollars: number) => ((right - left) * dollars) / max;
  const group = SIDES.length * bar + 18;
  const bottom = top + operations.length * group;
  return svg(bottom + 24, 'US dollars per million calls', [
    ...SIDES.flatMap(([, style, name], index) => [
      `<rect class="${style}" x="${left + index * 200}" y="36" width="10" height="10"/>`,
      text(left + 16 + index * 200, 45, name, 'start', 'quiet'),
    ]),
    ...operations.flatMap((operation, row) => [
      text(left - 10, top + row * group + group / 2, operation, 'end'),
      ...SIDES.flatMap(([side, style], index) => {
        const dollars = billed.find((one) => one.operation === operation && one.side === side)?.dollars ?? 0;
        const y = top + row * group + index * bar;
        return [
          `<rect class="${style}" x="${left}" y="${y}" width="${at(width(dollars))}" height="${bar - 4}"/>`,
          text(left + width(dollars) + 6, y + 10, `$${dollars.toFixed(2)}`, 'start', 'quiet'),
        ];
      }),
    ]),
    text(
      left,
      bottom + 8,
      'beyond the included usage of a plan; without duration and storage',
      'start',
      'quiet',
    ),
  ]);
}

function svg(height: number, title: string, content: string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}">
<style>${STYLE}
</style>
${text(16, 22, title, 'start', 'title')}
${content.join('\n')}
</svg>
`;
}

function text(x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end', style = ''): string {
  const attributes = `x="${at(x)}" y="${at(y)}" text-anchor="${anchor}"${style && ` class="${style}"`}`;
  return `<text ${attributes}>${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

function short(against: string): string {
  if (against.includes('TypeScript')) return 'TypeScript';
  return against.includes('SDK') ? 'SDK' : against;
}

function at(position: number): string {
  return String(Math.round(position * 10) / 10);
}

function grouped(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ' ');
}
