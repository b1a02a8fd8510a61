// A call that touches no sandbox and no bucket: a page of the list.

import { against, alternate, fill, NAMES, type Task } from '../measure.ts';
import { compare, type Outcome } from '../results.ts';

/** How many calls one sample is: the clock counts in milliseconds. */
const TIMES = 50;

/** The snapshots that are listed were all taken. */
export async function list(task: Task): Promise<Outcome> {
  const { runs, quick } = task;
  const count = quick ? 5 : 100;
  const world = await task.world('plain');
  await fill(world, 'listed', { name: '', count: 1, bytes: 1000 });
  const sides = ['ours', 'typescript'] as const;
  for (const side of sides)
    for (let number = 0; number < count; number++)
      await world.perform({ do: 'snapshot', side, sandboxId: 'listed' });
  const samples = await alternate(sides, runs, async (side) => {
    const step = { do: 'list', side, sandboxId: 'listed', limit: 100, times: TIMES } as const;
    const { value, millis } = await world.perform(step);
    if (value !== count) throw new Error(`${side} listed ${value} snapshots of ${count}.`);
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
