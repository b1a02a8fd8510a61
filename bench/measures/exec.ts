// A command that does nothing, by the id of its sandbox and by the name of a running workspace. In the column `container`, it is
// compared with a plain call of `ctx.container`, and in the others with a direct call of the class of the sandboxes.

import { randomUUID } from 'node:crypto';

import { modeOfRun } from '../../scripts/local.ts';
import { against, alternate, NAMES, type Task } from '../measure.ts';
import { compare, type Outcome } from '../results.ts';
import type { Step } from '../workers/steps.ts';

/** The number of calls in a sample, because the clock of Workers counts whole milliseconds. */
const TIMES = 10;

/** Measures `true`, without output. */
export async function exec(task: Task): Promise<Outcome> {
  const world = await task.world('plain');
  const name = `exec-${randomUUID().slice(0, 8)}`;
  const { sandboxId } = await world.call('workspaces/create', { name });
  const baseline = modeOfRun() === 'container' ? 'raw' : 'direct';
  const raw = { do: 'raw', id: `raw-${name}` } as const;
  if (baseline === 'raw') await world.run({ ...raw, method: 'start', args: [] });
  const times = task.quick ? 1 : TIMES;
  const steps: Record<'byId' | 'byName' | 'baseline', Step> = {
    byId: { do: 'call', method: 'exec', options: { sandboxId, command: 'true' }, times },
    byName: { do: 'call', method: 'exec', options: { name, command: 'true' }, times },
    baseline:
      baseline === 'raw'
        ? { ...raw, method: 'run', args: [['/bin/sh', '-c', 'true']], times }
        : { do: 'exec', id: sandboxId, command: 'true', times },
  };
  const samples = await alternate(['byId', 'byName', 'baseline'] as const, task.runs, async (side) => ({
    exec: (await world.run(steps[side])).millis / times,
  }));
  await world.destroy(sandboxId);
  const about = { measure: 'exec', unit: 'ms', against: NAMES[baseline] };
  return {
    rows: [
      compare(
        { ...about, name: 'exec of `true` by sandbox id', target: 1.1 },
        against(samples['exec']!, 'byId', 'baseline'),
      ),
      compare(
        { ...about, name: 'exec of `true` by name', target: 1.3 },
        against(samples['exec']!, 'byName', 'baseline'),
      ),
    ],
  };
}
