// Restoring many files, and starting a stopped workspace that has them: against a restore by the SDK called directly.

import { against, alternate, fill, NAMES, type Task, type Files } from '../measure.ts';
import { compare, type Outcome, type Row } from '../results.ts';

const SIZES: Files[] = [
  { name: '10 000 files in 100 directories', count: 10_000, bytes: 400, each: 100 },
  { name: '60 000 files in 600 directories', count: 60_000, bytes: 400, each: 100 },
  { name: '60 000 files in 6 directories', count: 60_000, bytes: 400, each: 10_000 },
  { name: '250 000 files in 2 500 directories', count: 250_000, bytes: 400, each: 100 },
  { name: '250 000 files in 25 directories', count: 250_000, bytes: 400, each: 10_000 },
  { name: '1 GB in 10 files', count: 10, bytes: 100_000_000, each: 100 },
];

const QUICK: Files[] = [{ name: '200 files in 2 directories', count: 200, bytes: 10, each: 100 }];

/** The most that either takes, as a multiple of the SDK's time. */
const TARGET = 1.2;

/** Each side restores in every round. A tree is filled and captured once. */
export async function trees(task: Task): Promise<Outcome> {
  const { runs, quick } = task;
  const rows: Row[] = [];
  const world = await task.world('plain');
  for (const [index, files] of (quick ? QUICK : SIZES).entries()) {
    const name = `tree-${index}`;
    const { sandboxId } = await world.call('workspaces/create', { name });
    const digest = await fill(world, sandboxId, files);
    const direct = await world.perform({ do: 'snapshot', side: 'direct', sandboxId });
    const ours = await world.perform({ do: 'snapshot', side: 'ours', sandboxId });
    const snapshots = { direct: direct.value, ours: ours.value };

    const restores = await alternate(['ours', 'direct'] as const, runs, async (side, round) => {
      const { value, millis } = await world.perform({ do: 'restore', side, snapshot: snapshots[side] });
      if (round === 0 && (await world.digest(value)) !== digest)
        throw new Error(`${side} restored other files than it captured.`);
      await world.end(value);
      return { restore: millis };
    });
    await world.call('workspaces/stop', { name });
    const starts = await alternate(['ours', 'direct'] as const, runs, async (side, round) => {
      if (side === 'direct') {
        const { value, millis } = await world.perform({ do: 'restore', side, snapshot: snapshots.direct });
        await world.end(value);
        return { start: millis };
      }
      const { millis } = await world.perform({ do: 'call', method: 'workspaces/start', options: { name } });
      if (round === 0 && (await world.digest(sandboxId)) !== digest)
        throw new Error('A start restored other files than were captured.');
      await world.call('workspaces/stop', { name });
      return { start: millis };
    });
    await world.call('workspaces/delete', { name });
    await world.perform({ do: 'remove', side: 'direct', snapshot: snapshots.direct });

    for (const [what, samples] of Object.entries({ ...restores, ...starts }))
      rows.push(
        compare(
          {
            measure: 'trees',
            name: `${what} of ${files.name}`,
            unit: 'ms',
            against: NAMES.direct,
            target: TARGET,
          },
          against(samples, 'ours', 'direct'),
        ),
      );
  }
  return { rows };
}
