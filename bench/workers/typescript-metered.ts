// The snapshotter in TypeScript, with what it costs.

import Snapshotter, { Workspace as Real, type Env } from '../typescript/index.ts';
import { meter, metered, settled, take } from './meter.ts';

export class Workspace extends Real {
  constructor(ctx: DurableObjectState, env: Env) {
    meter(ctx);
    super(ctx, metered(env));
  }
}

export default class extends Snapshotter {
  constructor(ctx: ExecutionContext, env: Env) {
    super(ctx, metered(env));
  }

  take() {
    return take();
  }

  settled() {
    return settled();
  }
}
