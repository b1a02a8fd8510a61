// The snapshotter's Worker, whose Workspace objects reject calls as the platform does when too many calls wait.

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
  /** Rejects the next calls. */
  overload({ calls }) {
    left = calls;
  }
}
