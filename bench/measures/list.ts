// A call without sandbox and bucket: a page of the list.

import { against, alternate, fill, NAMES, type Task } from '../measure.ts';
import { compare, type Outcome } from '../results.ts';

/** The number of calls in a sample, because the clock of Workers counts whole milliseconds. */
const TIMES = 50;

/** Measures a page of real snapshots. */
export async function list(task: Task): Promise<Outcome> {
  const { runs, quick } = task;
  const count = quick ? 5 : 100;
  const world = await task.world('plain');
  await fill(world, 'listed', { name: '', count: 1, bytes: 1000 });
  const sides = ['ours', 'typescript'] as const;
  for (const side of sides)
    for (let number = 0; number < count; number++)
      await world.run({ do: 'snapshot', side, sandboxId: 'listed' });
  const samples = await alternate(sides, runs, async (side) => {
    const step = { do: 'list', side, sandboxId: 'listed', limit: 100, times: TIMES } as const;
    const { value, millis } = await world.run(step);
    if (value !== count) throw new Error(`${side} must list ${count} snapshots, listed ${value}.`);
    return { list: millis / TIMES };
  });
  const about = {
    measure: 'list',
    name: `list of ${count}`,
    unit: 'ms',
    against: NAMES.typescript,
    target: 1,
  };
  return { rows: [compare(about, against(samples['list']!, 'ours', 'typescript'))] };
}
