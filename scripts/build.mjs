// Builds the WebAssembly of the Worker into build/: cargo, wasm-bindgen, wasm-opt.
//
// It is compiled to unwind on panic, so that a panic fails one call and not all that are under way. The standard
// library is rebuilt for that, which wants an unstable flag of cargo; RUSTC_BOOTSTRAP lets the pinned stable
// toolchain take it, so that a build of today and one of next year are the same.

import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { gzipSync } from 'node:zlib';

import { at, run } from './setup.mjs';

const TARGET = 'wasm32-unknown-unknown';

/** The standard library, for unwinding and for size. */
const STD = ['-Z', 'build-std=std,panic_unwind', '-Z', 'build-std-features=optimize_for_size'];

export function build() {
  run('cargo', ['build', '--release', '--lib', '--locked', '--target', TARGET, ...STD], {
    RUSTC_BOOTSTRAP: '1',
    // Paths of this machine stay out of what is shipped.
    CARGO_ENCODED_RUSTFLAGS: ['-Cpanic=unwind', `--remap-path-prefix=${homedir()}=~`].join('\x1f'),
    WASM_BINDGEN_USE_JS_SYS: '1',
  });
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
