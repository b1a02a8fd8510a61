// The JavaScript side of a WebAssembly module.

import { run } from './setup.mjs';

/** Writes `<name>.js` and `<name>_bg.wasm` of a module that cargo built into a folder. */
export function bindgen(/** @type {string} */ module, /** @type {string} */ folder, name = 'index') {
  run('cargo', ['run', '--quiet', '--locked', '--package', 'bindgen', '--', module, folder, name]);
}
