// Taking a snapshot, and restoring it: against the SDK called directly, and against the snapshotter in TypeScript.

import { against, alternate, fill, NAMES, SIDES, type Task, type Files } from '../measure.ts';
import { compare, type Outcome, type Row } from '../results.ts';

const SIZES: (Files & { target: number })[] = [
  { name: '100 files', count: 100, bytes: 1000, target: 1.05 },
  { name: '10 000 files', count: 10_000, bytes: 1000, target: 1.02 },
  { name: '100 MB', count: 10, bytes: 10_000_000, target: 1.02 },
];

const QUICK: typeof SIZES = [{ name: '20 files', count: 20, bytes: 1000, target: 1.05 }];

/** Each sandbox that is restored has to have the files that were captured. */
export async function archives(task: Task): Promise<Outcome> {
  const { runs, quick } = task;
  const rows: Row[] = [];
  const world = await task.world('plain');
  for (const { target, ...files } of quick ? QUICK : SIZES) {
    const origin = `origin-${files.count}-${files.bytes}`;
    const digest = await fill(world, origin, files);
    const samples = await alternate(SIDES, runs, async (side, round) => {
      const taken = await world.perform({ do: 'snapshot', side, sandboxId: origin });
      const restored = await world.perform({ do: 'restore', side, snapshot: taken.value });
      if (round === 0 && (await world.digest(restored.value)) !== digest)
        throw new Error(`${side} restored other files than it captured.`);
      await world.end(restored.value);
      await world.perform({ do: 'remove', side, snapshot: taken.value });
      return { snapshot: taken.millis, restore: restored.millis };
    });
    await world.end(origin);
    for (const what of ['snapshot', 'restore'])
      for (const other of ['direct', 'typescript'] as const)
        rows.push(
          compare(
            {
              measure: 'snapshot',
              name: `${what} of ${files.name}`,
              unit: 'ms',
              against: NAMES[other],
              target: other === 'direct' ? target : 1,
            },
            against(samples[what]!, 'ours', other),
          ),
        );
  }
  return { rows };
}
