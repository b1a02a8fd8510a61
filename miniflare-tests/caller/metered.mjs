// The snapshotter's Worker, with an Analytics Engine dataset that writes its data points to the log.

import Snapshotter from '../../src/entry.mjs';

export { ContainerProxy, Directory, NamedWorkspace, Sandbox, Workspace } from '../../src/entry.mjs';

const METRICS = { writeDataPoint: (point) => console.log(JSON.stringify({ point })) };

export default class extends Snapshotter {
  constructor(ctx, env) {
    super(ctx, { ...env, METRICS });
  }
}
