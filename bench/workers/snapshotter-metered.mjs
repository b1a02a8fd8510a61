// The snapshotter's Worker with a meter.

import Snapshotter, { Workspace as Real } from '../../src/entry.mjs';
import { drain, meteredEnv, meterStorage, takeCounts } from './meter.ts';

export { ContainerProxy, Directory, NamedWorkspace, Sandbox } from '../../src/entry.mjs';

export class Workspace extends Real {
  constructor(ctx, env) {
    meterStorage(ctx);
    super(ctx, meteredEnv(env));
  }

  runAlarm() {
    return this.alarm();
  }
}

export default class extends Snapshotter {
  constructor(ctx, env) {
    super(ctx, meteredEnv(env));
  }

  takeCounts() {
    return takeCounts();
  }

  drain() {
    return drain();
  }

  /** Runs the alarm of a workspace, as the platform does when it is due. */
  async runAlarm({ sandboxId }) {
    await this.env.Workspace.getByName(sandboxId).runAlarm();
  }
}
