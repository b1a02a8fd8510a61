// `npm run <command>`: sets up what the command needs, then runs it.

import { rmSync } from 'node:fs';

import { build } from './build.mjs';
import {
  at,
  chromium,
  output,
  overlays,
  packages,
  run,
  rust,
  schemathesis,
  squashfs,
  wasmBindgen,
} from './setup.mjs';
import { pages } from './pages.mjs';
import { buildTestWorkers, lintTestWorkers } from './test-workers.mjs';

const [command = '', ...args] = process.argv.slice(2);

const commands = {
  build: () => {
    worker();
  },
  check: () => {
    packages();
    rust();
    run('cargo', ['fmt', '--all', '--check']);
    clippy('--all-targets', '--features', 'schema,service-binding,fuzzing');
    clippy('--lib', '--no-default-features', '--features', 'service-binding');
    clippy('--package', 'snapshotter-cli', '--all-targets');
    run('node', ['scripts/types.mjs', '--check']);
    lintTestWorkers();
    for (const project of [
      '.',
      'client',
      'console',
      'examples/agent',
      'miniflare-tests/caller',
      'miniflare-tests/client/visitor',
      'bench/workers',
      'reference',
    ])
      run('tsc', ['--project', project]);
    run('prettier', ['--check', '--log-level', 'warn', '.']);
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
  test: () => {
    sandboxes();
    chromium();
    schemathesis();
    buildTestWorkers();
    run('cargo', ['build', '--package', 'snapshotter-cli', '--locked', '--quiet']);
    run('node', ['scripts/test.ts', ...args]);
  },
  'test:matrix': () => {
    sandboxes();
    run('node', ['scripts/matrix.ts', ...args]);
  },
  simulate: () => {
    rust();
    const features = args.includes('--planted') ? ['--features', 'planted'] : [];
    const schedules = args.includes('--schedules') ? [] : ['--schedules', '100000'];
    const build = ['--locked', '--quiet', '--profile', 'simulation', ...features, '--test', 'simulation'];
    run('cargo', ['test', ...build, '--', ...schedules, ...args]);
  },
  bench: () => {
    sandboxes();
    run('node', ['bench/main.ts', ...args]);
  },
  soak: () => {
    sandboxes();
    run('node', ['stress/soak.ts', ...args]);
  },
  chaos: () => {
    sandboxes();
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
    sandboxes();
    run('node', ['scripts/demo.ts', ...args]);
  },
  dev: () => {
    sandboxes();
    run('node', ['scripts/dev.ts', ...args]);
  },
  pack: () => {
    packages();
    rmSync(at('client/dist'), { recursive: true, force: true });
    run('tsc', ['--project', 'client/tsconfig.build.json']);
    run('npm', ['pack', './client', ...args]);
  },
  deploy: () => {
    packages(); // wrangler runs `npm run build` itself.
    const docker = output('docker', ['info', '--format', '{{.ServerVersion}}']) !== undefined;
    const rollout = args.includes('--dry-run') && !docker ? ['--containers-rollout=none'] : [];
    run('wrangler', ['deploy', ...args, ...rollout]);
  },
};

function clippy(/** @type {string[]} */ ...options) {
  run('cargo', ['clippy', ...options, '--locked', '--', '-D', 'warnings']);
}

/** The Worker, built. */
function worker() {
  packages();
  rust();
  wasmBindgen();
  build();
  pages();
}

/** The Worker, and what its sandboxes run on. */
function sandboxes() {
  squashfs();
  overlays();
  worker();
}

const chosen = Object.entries(commands).find(([name]) => name === command)?.[1];
if (!chosen) {
  console.error(`There is no command ${command}: use one of ${Object.keys(commands).join(', ')}.`);
  process.exit(2);
}
chosen();
