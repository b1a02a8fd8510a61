// Builds the WebAssembly of the Worker into build/: cargo, wasm-bindgen, wasm-opt.
//
// It is compiled to unwind on panic, so that a panic fails one call and not all that are under way. The standard
// library is rebuilt for that, which wants an unstable flag of cargo; RUSTC_BOOTSTRAP lets the pinned stable
// toolchain take it, so that a build of today and one of next year are the same.

import { gzipSync } from 'node:zlib';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';

import { at, run } from './setup.mjs';

const TARGET = 'wasm32-unknown-unknown';

export function build() {
  run(
    'cargo',
    ['build', '--release', '--lib', '--locked', '--target', TARGET, '-Z', 'build-std=std,panic_unwind'],
    {
      RUSTC_BOOTSTRAP: '1',
      RUSTFLAGS: '-Cpanic=unwind',
      WASM_BINDGEN_USE_JS_SYS: '1',
    },
  );
  rmSync(at('build'), { recursive: true, force: true });
  mkdirSync(at('build'));
  run(at('.tools/bin/wasm-bindgen'), [
    at('target', TARGET, 'release/sandbox_snapshotter.wasm'),
    ...[
      '--target',
      'web',
      '--no-typescript',
      '--omit-default-module-path',
      '--experimental-reset-state-function',
    ],
    ...['--out-dir', at('build'), '--out-name', 'index'],
  ]);
  const wasm = at('build/index_bg.wasm');
  run('wasm-opt', ['-Oz', '--strip-debug', '--strip-producers', wasm, '-o', wasm]);
  const bytes = readFileSync(wasm);
  console.log(`WebAssembly: ${kB(bytes)}, ${kB(gzipSync(bytes, { level: 9 }))} gzipped`);
}

function kB(/** @type {Uint8Array} */ bytes) {
  return `${(bytes.length / 1000).toFixed(1)} kB`;
}
