// The snapshotter's Worker, whose WebAssembly instance can be reset, as after a trap.

import * as rust from '../../build/index.js';
import Snapshotter from '../../src/entry.mjs';

export * from '../../src/entry.mjs';

export default class extends Snapshotter {
  reset() {
    rust.__wbg_reset_state();
  }
}
