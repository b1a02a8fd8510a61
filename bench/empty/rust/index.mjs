// An empty Rust Worker.

import * as rust from '../../../build/empty-rust/index.js';
import module from '../../../build/empty-rust/index_bg.wasm';

rust.initSync({ module });

export default {
  fetch() {
    return rust.fetch();
  },
};
