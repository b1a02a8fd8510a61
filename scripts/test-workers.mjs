// Builds the Workers in Rust that are for tests alone, each into a folder of its name in build/: plainly and fast, since a
// test that does not hold may end its module.

import { at, run } from './setup.mjs';

const TARGET = 'wasm32-unknown-unknown';

const ENVIRONMENT = { WASM_BINDGEN_USE_JS_SYS: '1' };

/** The Worker that the conformance suite is run in, and one that calls the snapshotter through the client. */
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
  run(at('.tools/bin/wasm-bindgen'), [
    `${target}/${TARGET}/debug/${name.replace('-', '_')}.wasm`,
    ...['--target', 'web', '--no-typescript', '--omit-default-module-path'],
    '--experimental-reset-state-function',
    ...['--out-dir', at('build', name), '--out-name', 'index'],
  ]);
}

// One package at a time: together they would share the features that either needs.
function options(/** @type {string} */ name) {
  return ['--package', name, '--locked', '--quiet', '--target', TARGET];
}
