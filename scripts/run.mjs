// `npm run <command>`: installs and builds what the command needs, then runs it.

import { existsSync } from 'node:fs';

import { build } from './build.mjs';
import { parseDeployment, parseOptions, parsePackages } from './options.mjs';
import { buildProgram, packClient, packProgram } from './pack.mjs';
import {
  TESTED,
  browser,
  clientGenerators,
  inTarget,
  jq,
  overlays,
  packages,
  run,
  runForUser,
  rust,
  schemathesis,
  serve,
  squashfs,
} from './setup.mjs';
import { FOR_TEST_WORKERS, TEST_WORKERS, buildTestWorkers, compileTestWorkers } from './test-workers.mjs';

const [command = '', ...args] = process.argv.slice(2);

const commands = {
  build: () => {
    buildWorker({ optimized: process.env.WRANGLER_COMMAND !== 'dev' });
  },
  check: () => {
    packages();
    rust();
    run('cargo', ['fmt', '--all', '--check']);
    const others = ['snapshot-archive-module', 'bindgen', ...TEST_WORKERS];
    const linted = [...TESTED, ...others.flatMap((name) => ['--package', name])];
    run(
      'cargo',
      ['clippy', '--all-targets', ...linted, '--locked', '--', '-D', 'warnings'],
      FOR_TEST_WORKERS,
    );
    run('node', ['scripts/types.mjs', '--check']);
    for (const project of [
      '.',
      'client',
      'console',
      'examples',
      'local-engine/worker',
      'miniflare-tests/caller',
      'miniflare-tests/client/visitor',
      'bench/workers',
      'reference',
      'scripts/check-account/worker',
    ])
      run('tsc', ['--project', project]);
    run('tsc', ['--project', 'client/tsconfig.container.json', '--noEmit']);
    run('node', ['scripts/words.mjs']);
    run('prettier', ['--check', '--log-level', 'warn', '.']);
  },
  'check:account': () => {
    packages();
    run('node', ['scripts/check-account.ts', ...args]);
  },
  types: () => {
    packages();
    rust();
    run('node', ['scripts/types.mjs']);
  },
  format: () => {
    packages();
    rust();
    run('cargo', ['fmt', '--all']);
    run('prettier', ['--write', '--log-level', 'warn', '.']);
  },
  setup: () => {
    packages();
    rust();
    if (args.includes('--tests')) testTools();
    console.log('The setup is complete.');
  },
  'build:tests': () => {
    packages();
    rust();
    compileTestWorkers();
    compileProgram();
    run('cargo', ['test', ...TESTED, '--locked', '--quiet', '--no-run']);
  },
  test: () => {
    testTools();
    prepareSandboxes();
    buildTestWorkers();
    compileProgram();
    run('node', ['scripts/test.ts', ...args]);
  },
  'test:matrix': () => {
    prepareSandboxes();
    run('node', ['scripts/matrix.ts', ...args]);
  },
  simulate: () => {
    rust();
    const schedules = args.includes('--schedules') ? [] : ['--schedules', '100000'];
    const build = ['--locked', '--quiet', '--profile', 'simulation', '--test', 'simulation'];
    run('cargo', ['test', ...build, '--', ...schedules, ...args]);
  },
  bench: () => {
    prepareSandboxes();
    run('node', ['bench/main.ts', ...args]);
  },
  soak: () => {
    prepareSandboxes();
    run('node', ['stress/soak.ts', ...args]);
  },
  chaos: () => {
    prepareSandboxes();
    run('node', ['stress/chaos.ts', ...args]);
  },
  fuzz: () => {
    rust();
    run('node', ['fuzz/run.mjs', ...args]);
  },
  mutants: () => {
    rust();
    run('node', ['scripts/mutants.mjs', ...args]);
  },
  demo: () => {
    parseOptions('demo', args);
    prepareSandboxes({ optimized: false });
    run('node', ['scripts/demo.ts', ...args]);
  },
  dev: () => {
    parseOptions('dev', args);
    prepareSandboxes({ optimized: false });
    serve('node', ['scripts/dev.ts', ...args]);
  },
  cli: () => {
    rust();
    if (!existsSync(inTarget('debug/snapshotter')))
      console.error('Compiling the command line, which takes minutes the first time …');
    const program = ['--package', 'snapshotter-cli', '--bin', 'snapshotter'];
    run('cargo', ['build', '--quiet', '--locked', ...program]);
    runForUser(inTarget('debug/snapshotter'), args, { SNAPSHOTTER_PROGRAM: 'npm run -s cli --' });
  },
  pack: () => {
    const { names, rest } = parsePackages(args);
    packages();
    if (names.includes('client')) packClient(rest);
    if (names.includes('cli')) {
      rust();
      packProgram(buildProgram(), rest);
    }
  },
  deploy: () => {
    parseDeployment(args);
    packages(); // wrangler runs `npm run build`.
    run('node', ['scripts/deploy.ts', ...args]);
  },
};

/** Builds the Worker. */
function buildWorker(/** @type {Parameters<typeof build>[0]} */ options = {}) {
  packages();
  rust();
  build(options);
}

/**
 * Compiles the command line for tests. The example makes cargo use the features of dependencies that tests have, and not compile
 * 40 packages again without them.
 */
function compileProgram() {
  run('cargo', ['build', ...TESTED, '--bin', 'snapshotter', '--example', 'schema', '--locked', '--quiet']);
}

/** Installs the programs that tests need. */
function testTools() {
  squashfs();
  overlays();
  browser();
  jq();
  schemathesis();
  clientGenerators();
}

/** Builds the Worker, and installs what local sandboxes need. */
function prepareSandboxes(/** @type {Parameters<typeof build>[0]} */ options = {}) {
  squashfs();
  overlays();
  buildWorker(options);
}

const selected = Object.entries(commands).find(([name]) => name === command)?.[1];
if (!selected) {
  console.error(
    `Unknown command ${JSON.stringify(command)}. Use one of ${Object.keys(commands).join(', ')}.`,
  );
  process.exit(2);
}
selected();
