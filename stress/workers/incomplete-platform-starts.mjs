// Sandboxes that drop a file from each start from a platform snapshot: a planted fault, which the chaos test must find.

import { Sandbox as Original } from './containers.mjs';

export { default, Caller } from './containers.mjs';

export class Sandbox extends Original {
  async startContainer(options) {
    const id = await super.startContainer(options);
    if (options?.containerSnapshot) await this.exec('rm -f /workspace/state');
    return id;
  }
}
