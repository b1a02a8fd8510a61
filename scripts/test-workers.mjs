// Builds the Rust Workers for tests, each into build/<name>. Uses the debug profile, for fast builds; a panic may end the module.

import { statSync } from 'node:fs';
import { join } from 'node:path';

import { bindgen } from './bindgen.mjs';
import { at, inTarget, run } from './setup.mjs';

const TARGET = 'wasm32-unknown-unknown';

/** The environment of their builds. */
export const FOR_TEST_WORKERS = { WASM_BINDGEN_USE_JS_SYS: '1' };

/** The Worker that runs the conformance suite, and the Worker that calls the snapshotter through the Rust client. */
export const TEST_WORKERS = ['conformance', 'rust-caller'];

export function buildTestWorkers() {
  TEST_WORKERS.forEach(buildTestWorker);
}

/** Compiles them only, beside a build of the snapshotter, which replaces the folder `build/`. */
export function compileTestWorkers() {
  TEST_WORKERS.forEach(compileTestWorker);
}

function compileTestWorker(/** @type {string} */ name) {
  // Builds one package at a time, because a joint build would unify their features.
  const options = ['--package', name, '--locked', '--quiet', '--target', TARGET];
  run('cargo', ['build', ...options], FOR_TEST_WORKERS);
}

export function buildTestWorker(/** @type {string} */ name) {
  compileTestWorker(name);
  const module = inTarget(TARGET, 'debug', `${name.replace('-', '_')}.wasm`);
  const folder = at('build', name);
  if (modifiedAt(module) > modifiedAt(join(folder, 'index_bg.wasm'))) bindgen(module, folder);
}

/** Returns the time of a file's last change in milliseconds, or 0 if it does not exist. */
function modifiedAt(/** @type {string} */ path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
