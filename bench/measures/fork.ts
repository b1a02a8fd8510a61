// Many sandboxes from one snapshot, at the same time.

import { against, alternate, fill, NAMES, type Task } from '../measure.ts';
import { compare, type Outcome, type Row } from '../results.ts';

/** Restores that are asked for together, against as many of the SDK's. */
export async function fork(task: Task): Promise<Outcome> {
  const { runs, quick } = task;
  const rows: Row[] = [];
  const world = await task.world('plain');
  const digest = await fill(world, 'forked', { name: '', count: 100, bytes: 1000 });
  const sides = ['ours', 'direct'] as const;
  const snapshots = {
    ours: (await world.perform({ do: 'snapshot', side: 'ours', sandboxId: 'forked' })).value,
    direct: (await world.perform({ do: 'snapshot', side: 'direct', sandboxId: 'forked' })).value,
  };
  for (const count of quick ? [2] : [1, 4, 16, 64]) {
    const samples = await alternate(sides, runs, async (side, round) => {
      const { value: ids, millis } = await world.perform({
        do: 'fork',
        side,
        snapshot: snapshots[side],
        count,
      });
      if (round === 0 && (await world.digest(ids.at(-1))) !== digest)
        throw new Error(`${side} restored other files than it captured.`);
      await world.end(...ids);
      return { fork: millis };
    });
    const about = {
      measure: 'fork',
      name: `${count} at once`,
      unit: 'ms',
      against: NAMES.direct,
      target: 1.05,
    };
    rows.push(compare(about, against(samples['fork']!, 'ours', 'direct')));
  }
  return { rows };
}
