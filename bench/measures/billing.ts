// The billed usage of each operation, comparisons with direct SDK calls, and the times of the calls within it.

import { fill, NAMES, type Task } from '../measure.ts';
import { exact, median, type Outcome, type Row } from '../results.ts';
import type { Bill, SideName, Span, Step } from '../workers/steps.ts';

/** Prices in dollars per million, beyond the included usage of a plan. `docs/benchmarks.md` names their sources. */
export const PRICES: Omit<Bill, 'subrequests'> = {
  requests: 0.15,
  rowsRead: 0.001,
  rowsWritten: 1,
  classA: 4.5,
  classB: 0.36,
};

/** The target: the maximum of requests and rows that an operation uses in addition to the direct SDK calls. */
const EXTRA = { requests: 2, rowsRead: 10, rowsWritten: 10 };

/** The number of snapshots in the listed workspace. */
const SNAPSHOTS = 10;

/** The number of snapshots in a page of the list. Each is a row that is read. */
const PAGE = 5;

/** The number of metered calls of each operation. */
const TIMES = 7;

/** The billed usage of one call. */
export interface Billed {
  operation: string;
  side: SideName;
  bill: Bill;
  /** Dollars for a million such calls. */
  dollars: number;
  /** The calls within it, with their times. */
  calls: Called[];
}

/** A call within an operation. The times are medians in milliseconds. */
export interface Called {
  call: string;
  /** The start, relative to the start of the first call. */
  at: number;
  took: number;
}

/**
 * Measures the billed usage of each operation, as the median of several calls: how many rows the `Sandbox` class writes varies from
 * call to call.
 */
export async function billing(task: Task): Promise<Outcome> {
  const { quick } = task;
  const world = await task.world('metered');
  await fill(world, 'billed', { name: '', count: 100, bytes: 1000 });
  const billed: Billed[] = [];
  for (const side of ['ours', 'typescript', 'direct'] as const) {
    const bills: Record<string, Bill[]> = {};
    const traces: Record<string, Span[][]> = {};
    const meter = async (operation: string, step: Step) => {
      const { bill, spans, value } = await world.bill(step);
      (bills[operation] ??= []).push(bill);
      (traces[operation] ??= []).push(spans);
      return value;
    };
    const snapshot = { do: 'snapshot', side, sandboxId: 'billed' } as const;
    await meter('first snapshot', snapshot);
    for (let number = 1; number < SNAPSHOTS; number++) await world.run(snapshot);
    for (let time = 0; time < (quick ? 1 : TIMES); time++) {
      const taken = await meter('snapshot', snapshot);
      await world.destroy(await meter('restore', { do: 'restore', side, snapshot: taken }));
      await meter('list', { do: 'list', side, sandboxId: 'billed', limit: PAGE, times: 1 });
      await meter('delete', { do: 'remove', side, snapshot: taken });
    }
    if (side === 'ours')
      await meter('alarm', { do: 'call', method: 'runAlarm', options: { sandboxId: 'billed' } });
    for (const [operation, all] of Object.entries(bills)) {
      const bill = medians(all);
      billed.push({ operation, side, bill, dollars: dollars(bill), calls: aggregated(traces[operation]!) });
    }
  }
  return { rows: comparisons(billed), details: billed };
}

/** Aggregates the traces of one operation. The nth call of a name in one trace matches the nth call of that name in the others. */
function aggregated(traces: Span[][]): Called[] {
  const byCall = new Map<string, { at: number[]; took: number[] }>();
  for (const spans of traces) {
    const began = spans[0]?.began ?? 0;
    const seen: Record<string, number> = {};
    for (const span of spans) {
      seen[span.call] = (seen[span.call] ?? 0) + 1;
      const key = `${span.call} ${seen[span.call]}`;
      const figures = byCall.get(key) ?? { at: [], took: [] };
      figures.at.push(span.began - began);
      figures.took.push((span.ended ?? NaN) - span.began);
      byCall.set(key, figures);
    }
  }
  const isUsual = ({ at }: { at: number[] }) => at.length * 2 > traces.length;
  return [...byCall]
    .filter(([, figures]) => isUsual(figures))
    .map(([key, { at, took }]) => ({ call: key.split(' ')[0]!, at: median(at), took: median(took) }))
    .sort((a, b) => a.at - b.at);
}

/** The median of each kind of usage. */
function medians(bills: Bill[]): Bill {
  const kinds = Object.keys(bills[0]!) as (keyof Bill)[];
  return Object.fromEntries(
    kinds.map((kind) => [kind, median(bills.map((bill) => bill[kind]))]),
  ) as unknown as Bill;
}

function comparisons(billed: Billed[]): Row[] {
  const find = (operation: string, side: SideName) =>
    billed.find((entry) => entry.operation === operation && entry.side === side)!.bill;
  return ['snapshot', 'restore', 'list', 'delete'].flatMap((operation) => {
    const [ours, direct] = [find(operation, 'ours'), find(operation, 'direct')];
    const names = { requests: 'requests', rowsRead: 'rows read', rowsWritten: 'rows written' } as const;
    return Object.entries(names).map(([key, name]) =>
      exact({
        measure: 'billing',
        name: `${operation}: ${name}`,
        unit: name,
        ours: ours[key as keyof Bill],
        baseline: direct[key as keyof Bill],
        against: NAMES.direct,
        target: EXTRA[key as keyof typeof EXTRA],
        of: 'extra',
      }),
    );
  });
}

function dollars(bill: Bill): number {
  const kinds = Object.entries(PRICES) as [keyof typeof PRICES, number][];
  return Number(kinds.reduce((sum, [kind, price]) => sum + bill[kind] * price, 0).toFixed(4));
}
