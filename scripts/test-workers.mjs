// Builds the Rust Workers for tests, each into build/<name>. Uses the debug profile, for fast builds; a panic may end the module.

import { bindgen } from './bindgen.mjs';
import { at, run } from './setup.mjs';

const TARGET = 'wasm32-unknown-unknown';

const ENVIRONMENT = { WASM_BINDGEN_USE_JS_SYS: '1' };

/** The Worker that runs the conformance suite, and the Worker that calls the snapshotter through the Rust client. */
const WORKERS = ['conformance', 'rust-caller'];

export function lintTestWorkers() {
  for (const name of WORKERS) run('cargo', ['clippy', ...options(name), '--', '-D', 'warnings'], ENVIRONMENT);
}

export function buildTestWorkers() {
  WORKERS.forEach(buildTestWorker);
}

export function buildTestWorker(/** @type {string} */ name) {
  run('cargo', ['build', ...options(name)], ENVIRONMENT);
  const target = process.env.CARGO_TARGET_DIR ?? at('target');
  bindgen(`${target}/${TARGET}/debug/${name.replace('-', '_')}.wasm`, at('build', name));
}

// Builds one package at a time, because a joint build would unify their features.
function options(/** @type {string} */ name) {
  return ['--package', name, '--locked', '--quiet', '--target', TARGET];
}
