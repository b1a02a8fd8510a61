// `npm run mutants`: whether a test fails for each small change of the code. Arguments go to cargo-mutants.
// What is changed, what is left out and which tests are run is in .cargo/mutants.toml.

import { at, output, run } from './setup.mjs';

const VERSION = '27.1.0';

const mutants = at('.tools/bin/cargo-mutants');
if (!output(mutants, ['mutants', '--version'])?.includes(VERSION)) {
  run('cargo', ['install', 'cargo-mutants', '--version', VERSION, '--locked', '--root', at('.tools')]);
}

// Each mutant is a build of its own: what makes that shorter counts.
const mold = output('which', ['mold']) === undefined ? {} : { RUSTFLAGS: '-Clink-arg=-fuse-ld=mold' };
run(mutants, ['mutants', '--output', at('target'), ...process.argv.slice(2)], {
  CARGO_INCREMENTAL: '1',
  CARGO_PROFILE_DEV_DEBUG: '0',
  CARGO_PROFILE_TEST_DEBUG: '0',
  ...mold,
});
