// Snapshots and restores, compared with direct SDK calls and with the TypeScript snapshotter.

import { against, alternate, fill, NAMES, SIDES, type Task, type Files } from '../measure.ts';
import { compare, type Outcome, type Row } from '../results.ts';

const SIZES: (Files & { target: number })[] = [
  { name: '100 files', count: 100, bytes: 1000, target: 1.05 },
  { name: '10 000 files', count: 10_000, bytes: 1000, target: 1.02 },
  { name: '100 MB', count: 10, bytes: 10_000_000, target: 1.02 },
];

const QUICK: typeof SIZES = [{ name: '20 files', count: 20, bytes: 1000, target: 1.05 }];

/** Measures snapshots and restores. Verifies in the warm-up round that the restored files are those that were captured. */
export async function archives(task: Task): Promise<Outcome> {
  const { runs, quick } = task;
  const rows: Row[] = [];
  const world = await task.world('plain');
  for (const { target, ...files } of quick ? QUICK : SIZES) {
    const origin = `origin-${files.count}-${files.bytes}`;
    const digest = await fill(world, origin, files);
    const samples = await alternate(SIDES, runs, async (side, round) => {
      const taken = await world.run({ do: 'snapshot', side, sandboxId: origin });
      const restored = await world.run({ do: 'restore', side, snapshot: taken.value });
      if (round === 0 && (await world.digest(restored.value)) !== digest)
        throw new Error(`The files that ${side} restored differ from those that it captured.`);
      await world.destroy(restored.value);
      await world.run({ do: 'remove', side, snapshot: taken.value });
      return { snapshot: taken.millis, restore: restored.millis };
    });
    await world.destroy(origin);
    for (const what of ['snapshot', 'restore'])
      for (const baseline of ['direct', 'typescript'] as const)
        rows.push(
          compare(
            {
              measure: 'snapshot',
              name: `${what} of ${files.name}`,
              unit: 'ms',
              against: NAMES[baseline],
              target: baseline === 'direct' ? target : 1,
            },
            against(samples[what]!, 'ours', baseline),
          ),
        );
  }
  return { rows };
}
