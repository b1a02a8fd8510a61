// The application, with what its own calls cost, and what those cost that it calls.

import caller, { Caller as Plain, type Env } from './caller.ts';
import { metered, settled, take } from './meter.ts';
import type { Counts, Step, Timed } from './steps.ts';

type Metered = Record<'take' | 'settled', () => Promise<Counts>>;

export class Caller extends Plain {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, metered(env));
  }

  override async perform(step: Step): Promise<Timed> {
    const others = [this.env.SNAPSHOTTER, this.env.TYPESCRIPT, this.env.SANDBOXES] as unknown as Metered[];
    switch (step.do) {
      // What goes on behind an answer belongs to it: of each, until nothing is under way.
      case 'wait':
        await settled();
        for (const other of others) await other.settled();
        return { value: undefined, millis: 0 };
      case 'take':
        return { value: [take(), ...(await Promise.all(others.map((other) => other.take())))], millis: 0 };
      default:
        return super.perform(step);
    }
  }
}

export default caller;
