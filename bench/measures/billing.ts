// What each operation is billed for, beside what the SDK's own calls are, and where its time goes.

import { fill, NAMES, type Task } from '../measure.ts';
import { exact, median, type Outcome, type Row } from '../results.ts';
import type { Bill, SideName, Span, Step } from '../workers/steps.ts';

/** Prices in dollars for a million, beyond what a plan includes. `docs/benchmarks.md` says where they are from. */
export const PRICES: Omit<Bill, 'subrequests'> = {
  requests: 0.15,
  rowsRead: 0.001,
  rowsWritten: 1,
  classA: 4.5,
  classB: 0.36,
};

/** The most requests, and the most rows of either kind, that an operation may have more than the SDK's. */
const EXTRA = { requests: 2, rowsRead: 10, rowsWritten: 10 };

/** How many snapshots a workspace has that is listed. */
const FULL = 10;

/** How many of them a list shows: each is a row that is read. */
const SHOWN = 5;

/** How often each operation is counted. */
const TIMES = 7;

/** What one call is billed for. */
export interface Billed {
  operation: string;
  side: SideName;
  bill: Bill;
  /** Dollars for a million such calls. */
  dollars: number;
  /** What was called on the way, and when. */
  calls: Called[];
}

/** A call on the way, in milliseconds; medians. */
export interface Called {
  call: string;
  /** After the first one began. */
  at: number;
  took: number;
}

/** What each operation is billed for, the median of some calls: what the sandboxes' class writes depends on the moment. */
export async function billing(task: Task): Promise<Outcome> {
  const { quick } = task;
  const world = await task.world('metered');
  await fill(world, 'billed', { name: '', count: 100, bytes: 1000 });
  const billed: Billed[] = [];
  for (const side of ['ours', 'typescript', 'direct'] as const) {
    const bills: Record<string, Bill[]> = {};
    const traces: Record<string, Span[][]> = {};
    const note = async (operation: string, step: Step) => {
      const { bill, spans, value } = await world.bill(step);
      (bills[operation] ??= []).push(bill);
      (traces[operation] ??= []).push(spans);
      return value;
    };
    const snapshot = { do: 'snapshot', side, sandboxId: 'billed' } as const;
    await note('the first snapshot', snapshot);
    for (let number = 1; number < FULL; number++) await world.perform(snapshot);
    for (let time = 0; time < (quick ? 1 : TIMES); time++) {
      const taken = await note('snapshot', snapshot);
      await world.end(await note('restore', { do: 'restore', side, snapshot: taken }));
      await note('list', { do: 'list', side, sandboxId: 'billed', limit: SHOWN, times: 1 });
      await note('delete', { do: 'remove', side, snapshot: taken });
    }
    if (side === 'ours')
      await note('the alarm', { do: 'call', method: 'goOff', options: { sandboxId: 'billed' } });
    for (const [operation, all] of Object.entries(bills)) {
      const bill = middle(all);
      billed.push({ operation, side, bill, dollars: dollars(bill), calls: traced(traces[operation]!) });
    }
  }
  return { rows: compared(billed), details: billed };
}

/** The calls of traces of the same operation: the first of a name in one is the first of that name in the others. */
function traced(traces: Span[][]): Called[] {
  const known = new Map<string, { at: number[]; took: number[] }>();
  for (const spans of traces) {
    const began = spans[0]?.began ?? 0;
    const met: Record<string, number> = {};
    for (const span of spans) {
      met[span.call] = (met[span.call] ?? 0) + 1;
      const key = `${span.call} ${met[span.call]}`;
      const figures = known.get(key) ?? { at: [], took: [] };
      figures.at.push(span.began - began);
      figures.took.push((span.ended ?? NaN) - span.began);
      known.set(key, figures);
    }
  }
  const isUsual = ({ at }: { at: number[] }) => at.length * 2 > traces.length;
  return [...known]
    .filter(([, figures]) => isUsual(figures))
    .map(([key, { at, took }]) => ({ call: key.split(' ')[0]!, at: median(at), took: median(took) }))
    .sort((one, other) => one.at - other.at);
}

/** Of each kind, the median. */
function middle(bills: Bill[]): Bill {
  const kinds = Object.keys(bills[0]!) as (keyof Bill)[];
  return Object.fromEntries(
    kinds.map((kind) => [kind, median(bills.map((bill) => bill[kind]))]),
  ) as unknown as Bill;
}

function compared(billed: Billed[]): Row[] {
  const find = (operation: string, side: SideName) =>
    billed.find((one) => one.operation === operation && one.side === side)!.bill;
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
