// The snapshotter's Worker, whose Workspace objects don't get calls for a while, as the platform has it when too many wait.

import Snapshotter, * as all from '../src/entry.mjs';

export * from '../src/entry.mjs';

let left = 0;

export class Workspace extends all.Workspace {
  perform(...call) {
    if (left === 0) return super.perform(...call);
    left -= 1;
    throw Object.assign(new Error('Durable Object is overloaded. Too many requests queued.'), {
      overloaded: true,
    });
  }
}

export default class extends Snapshotter {
  /** Loses the next calls. */
  overload({ calls }) {
    left = calls;
  }
}
