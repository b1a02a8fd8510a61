// Concurrent restores of one snapshot.

import { against, alternate, fill, NAMES, type Task } from '../measure.ts';
import { compare, type Outcome, type Row } from '../results.ts';

/** Measures concurrent restores, compared with as many of the SDK. */
export async function fork(task: Task): Promise<Outcome> {
  const { runs, quick } = task;
  const rows: Row[] = [];
  const world = await task.world('plain');
  const digest = await fill(world, 'forked', { name: '', count: 100, bytes: 1000 });
  const sides = ['ours', 'direct'] as const;
  const snapshots = {
    ours: (await world.run({ do: 'snapshot', side: 'ours', sandboxId: 'forked' })).value,
    direct: (await world.run({ do: 'snapshot', side: 'direct', sandboxId: 'forked' })).value,
  };
  for (const count of quick ? [2] : [1, 4, 16, 64]) {
    const samples = await alternate(sides, runs, async (side, round) => {
      const { value: ids, millis } = await world.run({
        do: 'fork',
        side,
        snapshot: snapshots[side],
        count,
      });
      if (round === 0 && (await world.digest(ids.at(-1))) !== digest)
        throw new Error(`The files that ${side} restored differ from those that it captured.`);
      await world.destroy(...ids);
      return { fork: millis };
    });
    const about = {
      measure: 'fork',
      name: count === 1 ? '1 restore' : `${count} concurrent restores`,
      unit: 'ms',
      against: NAMES.direct,
      target: 1.05,
    };
    rows.push(compare(about, against(samples['fork']!, 'ours', 'direct')));
  }
  return { rows };
}
