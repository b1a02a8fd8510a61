// Builds the Worker into build/: cargo, wasm-bindgen, wasm-opt, and the pages that it serves.
//
// The code unwinds on panic, so that a panic fails one call and not all calls in progress. This requires a rebuild of the
// standard library with an unstable flag of cargo. RUSTC_BOOTSTRAP permits the flag in the pinned stable toolchain, which
// keeps builds reproducible.

import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { bindgen } from './bindgen.mjs';
import { pages } from './pages.mjs';
import { at, inTarget, run } from './setup.mjs';

const TARGET = 'wasm32-unknown-unknown';

/** The WebAssembly modules: the Worker itself, and the reader of archives, which it loads at its first use. */
const MODULES = [
  { package: 'sandbox-snapshotter', name: 'index' },
  { package: 'snapshot-archive-module', name: 'archive' },
];

/** The options that rebuild the standard library, with unwinding and optimized for size. */
const BUILD_STD = ['-Z', 'build-std=std,panic_unwind', '-Z', 'build-std-features=optimize_for_size'];

/** The files and folders that the build reads. */
const INPUTS = [
  ...[
    'src',
    'archive/src',
    'archive/module',
    'archive/Cargo.toml',
    'clients/rust',
    'console',
    'reference',
    'client/src',
    'scripts/bindgen',
  ],
  ...['docs', 'client/README.md'], // The guides.
  ...['scripts/build.mjs', 'scripts/bindgen.mjs', 'scripts/pages.mjs'],
  ...['Cargo.toml', 'Cargo.lock', 'rust-toolchain.toml', 'package-lock.json'],
];

/**
 * Builds the Worker, unless `build/` contains it already, built from the same inputs.
 *
 * The build runs in another folder that replaces `build/` at the end, so that an interrupted build leaves the previous one
 * in place. Without `optimized`, the build skips wasm-opt: it saves a minute, and the module is more than twice as large.
 */
export function build({ optimized = true } = {}) {
  const inputs = hash(INPUTS);
  if (isBuilt(inputs, optimized)) return console.log('The Worker is up to date.');

  step('Compiling the Worker to WebAssembly');
  const packages = MODULES.flatMap((module) => ['--package', module.package]);
  run('cargo', ['build', '--release', '--lib', ...packages, '--locked', '--target', TARGET, ...BUILD_STD], {
    RUSTC_BOOTSTRAP: '1',
    // Keeps paths of this machine out of the WebAssembly.
    CARGO_ENCODED_RUSTFLAGS: ['-Cpanic=unwind', `--remap-path-prefix=${homedir()}=~`].join('\x1f'),
    WASM_BINDGEN_USE_JS_SYS: '1',
  });

  step('Generating its JavaScript side');
  const folder = newFolder();
  for (const module of MODULES) {
    const file = `${module.package.replaceAll('-', '_')}.wasm`;
    bindgen(inTarget(TARGET, 'release', file), folder, module.name);
  }

  if (optimized) step('Optimizing the WebAssembly, which takes a minute');
  for (const { name } of MODULES) {
    const wasm = join(folder, `${name}_bg.wasm`);
    if (optimized) run('wasm-opt', ['-Oz', '--strip-debug', '--strip-producers', wasm, '-o', wasm]);
    const bytes = readFileSync(wasm);
    console.log(`WebAssembly ${name}: ${kB(bytes)}, ${kB(gzipSync(bytes, { level: 9 }))} gzipped`);
  }

  step('Building the pages');
  pages(folder);

  writeFileSync(join(folder, RECORD), JSON.stringify({ inputs, optimized }));
  rmSync(at('build'), { recursive: true, force: true });
  renameSync(folder, at('build'));
}

/** Returns a folder for this build alone: another one may run at the same time. Removes those of builds that were interrupted. */
function newFolder() {
  mkdirSync(at('build.new'), { recursive: true });
  for (const id of readdirSync(at('build.new')))
    if (!isRunning(Number(id))) rmSync(at('build.new', id), { recursive: true, force: true });
  return at('build.new', String(process.pid));
}

function isRunning(/** @type {number} */ id) {
  try {
    return process.kill(id, 0);
  } catch {
    return false;
  }
}

/** The file in `build/` with the inputs that it was built from. */
const RECORD = 'built.json';

function isBuilt(/** @type {string} */ inputs, /** @type {boolean} */ optimized) {
  const path = at('build', RECORD);
  if (!existsSync(path)) return false;
  const built = JSON.parse(readFileSync(path, 'utf8'));
  return built.inputs === inputs && (built.optimized || !optimized);
}

/** Returns the SHA-256 of the names and contents of files and folders. */
function hash(/** @type {string[]} */ paths) {
  const sum = createHash('sha256');
  for (const path of paths.flatMap(files).sort()) sum.update(`${path}\0`).update(readFileSync(at(path)));
  return sum.digest('hex');
}

/** Returns the files in a folder and in its subfolders, or the file itself. */
function files(/** @type {string} */ path) {
  if (!statSync(at(path)).isDirectory()) return [path];
  const names = readdirSync(at(path), { recursive: true, encoding: 'utf8' }).map((name) => join(path, name));
  return names.filter((name) => statSync(at(name)).isFile());
}

function step(/** @type {string} */ text) {
  console.log(`${text} …`);
}

function kB(/** @type {Uint8Array} */ bytes) {
  return `${(bytes.length / 1000).toFixed(1)} kB`;
}
