// `npm run mutants`: verifies that a test fails for each small change of the code. Passes its arguments to cargo-mutants.
// .cargo/mutants.toml configures the mutants, the exclusions and the tests.

import { at, output, run } from './setup.mjs';

const VERSION = '27.1.0';

const mutants = at('.tools/bin/cargo-mutants');
if (!output(mutants, ['mutants', '--version'])?.includes(VERSION)) {
  run('cargo', ['install', 'cargo-mutants', '--version', VERSION, '--locked', '--root', at('.tools')]);
}

// Each mutant needs its own build, so these settings shorten it.
const mold = output('which', ['mold']) === undefined ? {} : { RUSTFLAGS: '-Clink-arg=-fuse-ld=mold' };
const packages = ['--package', 'sandbox-snapshotter', '--package', 'sandbox-snapshotter-client'];
run(mutants, ['mutants', ...packages, '--output', at('target'), ...process.argv.slice(2)], {
  CARGO_INCREMENTAL: '1',
  CARGO_PROFILE_DEV_DEBUG: '0',
  CARGO_PROFILE_TEST_DEBUG: '0',
  ...mold,
});
