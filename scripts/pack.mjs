// `npm run pack`: packs the TypeScript client and the command line as npm packages.

import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { at, inTarget, run } from './setup.mjs';

/** The target of the packed program. It is linked statically, so it runs on every Linux on x64. */
const TARGET = 'x86_64-unknown-linux-musl';

/** Prints the name of the package, and no list of its files. */
const QUIETLY = ['--loglevel', 'error'];

/** The files of the client's package, besides those that are compiled. */
const CLIENT_FILES = ['LICENSE', 'README.md', 'package.json', 'schema.json'];

/** Packs the client. Compiles it in a new folder, so that no other run packs a part of it. */
export function packClient(/** @type {string[]} */ args) {
  const folder = mkdtempSync(join(tmpdir(), 'client-'));
  try {
    for (const project of ['build', 'container'])
      run('tsc', ['--project', `client/tsconfig.${project}.json`, '--outDir', join(folder, 'dist')]);
    for (const file of CLIENT_FILES) copyFileSync(at('client', file), join(folder, file));
    run('npm', ['pack', folder, '--ignore-scripts', ...QUIETLY, ...args]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Builds the command line for the package, and returns the path of the program. */
export function buildProgram() {
  run('rustup', ['target', 'add', TARGET]);
  run('cargo', ['build', '--release', '--package', 'snapshotter-cli', '--locked', '--target', TARGET], {
    CC_x86_64_unknown_linux_musl: process.env.CC_x86_64_unknown_linux_musl ?? 'gcc',
    CARGO_PROFILE_RELEASE_STRIP: 'symbols',
  });
  return inTarget(TARGET, 'release/snapshotter');
}

/** Packs a program as the command line. */
export function packProgram(/** @type {string} */ program, /** @type {string[]} */ args) {
  const packed = at('cli/npm/bin/snapshotter');
  mkdirSync(dirname(packed), { recursive: true });
  copyFileSync(program, packed);
  chmodSync(packed, 0o755);
  run('npm', ['pack', './cli/npm', ...QUIETLY, ...args]);
}
