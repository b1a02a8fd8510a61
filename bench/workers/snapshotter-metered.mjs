// The snapshotter's Worker, with what it costs.

import Snapshotter, { Workspace as Real } from '../../src/entry.mjs';
import { meter, metered, settled, take } from './meter.ts';

export { ContainerProxy, Directory, NamedWorkspace, Sandbox } from '../../src/entry.mjs';

export class Workspace extends Real {
  constructor(ctx, env) {
    meter(ctx);
    super(ctx, metered(env));
  }

  goOff() {
    return this.alarm();
  }
}

export default class extends Snapshotter {
  constructor(ctx, env) {
    super(ctx, metered(env));
  }

  take() {
    return take();
  }

  settled() {
    return settled();
  }

  /** Has the alarm of a workspace go off, as it does when nobody calls for a while. */
  async goOff({ sandboxId }) {
    await this.env.Workspace.getByName(sandboxId).goOff();
  }
}
