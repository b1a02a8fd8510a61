// Builds the Worker that the conformance suite is run in, into build/conformance/: plainly and fast, since a case that
// does not hold may end its module.

import { at, run } from './setup.mjs';

const TARGET = 'wasm32-unknown-unknown';

const PACKAGE = ['--package', 'conformance', '--locked', '--quiet', '--target', TARGET];

const ENVIRONMENT = { WASM_BINDGEN_USE_JS_SYS: '1' };

export function lintConformance() {
  run('cargo', ['clippy', ...PACKAGE, '--', '-D', 'warnings'], ENVIRONMENT);
}

export function buildConformance() {
  run('cargo', ['build', ...PACKAGE], ENVIRONMENT);
  const target = process.env.CARGO_TARGET_DIR ?? at('target');
  run(at('.tools/bin/wasm-bindgen'), [
    `${target}/${TARGET}/debug/conformance.wasm`,
    ...['--target', 'web', '--no-typescript', '--omit-default-module-path'],
    '--experimental-reset-state-function',
    ...['--out-dir', at('build/conformance'), '--out-name', 'index'],
  ]);
}
