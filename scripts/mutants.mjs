// `npm run mutants`: verifies that a test fails for each small change of the code. Passes its arguments to cargo-mutants.
// .cargo/mutants.toml configures the exclusions and the tests.

import { at, inTarget, output, run } from './setup.mjs';

const VERSION = '27.1.0';

/** The files with mutants, unless an argument selects others. In the configuration, they would be added to those. */
const FILES = ['clients/rust/src/model/**', 'src/model/**', 'src/service/**'];

const mutants = at('.tools/bin/cargo-mutants');
if (!output(mutants, ['mutants', '--version'])?.includes(VERSION)) {
  run('cargo', ['install', 'cargo-mutants', '--version', VERSION, '--locked', '--root', at('.tools')]);
}

// Each mutant needs its own build, so these settings shorten it.
const mold = output('which', ['mold']) === undefined ? {} : { RUSTFLAGS: '-Clink-arg=-fuse-ld=mold' };
const packages = ['--package', 'sandbox-snapshotter', '--package', 'sandbox-snapshotter-client'];
const args = process.argv.slice(2);
const files = args.some((arg) => /^(-f|--file)/.test(arg)) ? [] : FILES.flatMap((glob) => ['--file', glob]);
run(mutants, ['mutants', ...packages, ...files, '--output', inTarget(), ...args], {
  CARGO_INCREMENTAL: '1',
  CARGO_PROFILE_DEV_DEBUG: '0',
  CARGO_PROFILE_TEST_DEBUG: '0',
  ...mold,
});
