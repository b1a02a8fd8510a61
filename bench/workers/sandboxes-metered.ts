// The `Sandbox` class with a meter.

import { Sandbox as Published } from '@cloudflare/sandbox';
import { WorkerEntrypoint } from 'cloudflare:workers';

import { drain, meteredEnv, meterStorage, takeCounts } from './meter.ts';

export { ContainerProxy } from '@cloudflare/sandbox';
export { RawContainer } from './raw.ts';

export class Sandbox extends Published {
  constructor(ctx: any, env: any) {
    meterStorage(ctx);
    super(ctx, meteredEnv(env));
  }
}

export default class extends WorkerEntrypoint {
  takeCounts() {
    return takeCounts();
  }

  drain() {
    return drain();
  }
}
