// The class of the sandboxes, with what it costs.

import { Sandbox as Published } from '@cloudflare/sandbox';
import { WorkerEntrypoint } from 'cloudflare:workers';

import { meter, metered, settled, take } from './meter.ts';

export { ContainerProxy } from '@cloudflare/sandbox';

export class Sandbox extends Published {
  constructor(ctx: any, env: any) {
    meter(ctx);
    super(ctx, metered(env));
  }
}

export default class extends WorkerEntrypoint {
  take() {
    return take();
  }

  settled() {
    return settled();
  }
}
