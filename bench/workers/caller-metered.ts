// The application with a meter for its own calls, and access to the meters of the other Workers.

import caller, { Caller as Plain, type Env } from './caller.ts';
import { drain, meteredEnv, takeCounts } from './meter.ts';
import type { Counts, Step, Timed } from './steps.ts';

type Metered = Record<'takeCounts' | 'drain', () => Promise<Counts>>;

export class Caller extends Plain {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, meteredEnv(env));
  }

  override async run(step: Step): Promise<Timed> {
    const others = [this.env.SNAPSHOTTER, this.env.TYPESCRIPT, this.env.SANDBOXES] as unknown as Metered[];
    switch (step.do) {
      // Work that continues after an answer belongs to it, so every Worker is drained.
      case 'drain':
        await drain();
        for (const other of others) await other.drain();
        return { value: undefined, millis: 0 };
      case 'takeCounts':
        return {
          value: [takeCounts(), ...(await Promise.all(others.map((other) => other.takeCounts())))],
          millis: 0,
        };
      default:
        return super.run(step);
    }
  }
}

export default caller;
