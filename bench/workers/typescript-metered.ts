// The TypeScript snapshotter with a meter.

import Snapshotter, { Workspace as Real, type Env } from '../typescript/index.ts';
import { drain, meteredEnv, meterStorage, takeCounts } from './meter.ts';

export class Workspace extends Real {
  constructor(ctx: DurableObjectState, env: Env) {
    meterStorage(ctx);
    super(ctx, meteredEnv(env));
  }
}

export default class extends Snapshotter {
  constructor(ctx: ExecutionContext, env: Env) {
    super(ctx, meteredEnv(env));
  }

  takeCounts() {
    return takeCounts();
  }

  drain() {
    return drain();
  }
}
