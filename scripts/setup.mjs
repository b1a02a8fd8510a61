// Installs what a command needs and the machine lacks. Nothing is installed twice.
// Runs on the machine's own Node, before any package is there.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TOOLCHAIN = '1.95.0';
const WASM_BINDGEN = '0.2.129';

/** A path in the project. */
export function at(/** @type {string[]} */ ...parts) {
  return join(ROOT, ...parts);
}

/** The environment of commands: the project's packages first, which bring a Node of their own where there is one. */
export function environment(/** @type {NodeJS.ProcessEnv} */ extra = {}) {
  const path = [at('node_modules/.bin'), process.env.PATH].join(delimiter);
  return {
    ...process.env,
    PATH: path,
    WRANGLER_SEND_METRICS: 'false',
    CLOUDFLARE_CF_FETCH_ENABLED: 'false',
    ...extra,
  };
}

/** Runs a command in the project, and ends this process with its status when it fails. */
export function run(
  /** @type {string} */ command,
  /** @type {string[]} */ args,
  /** @type {NodeJS.ProcessEnv} */ extra = {},
) {
  const status = attempt(command, args, extra);
  if (status !== 0) process.exit(status);
}

/** Runs a command in the project and answers its exit status. */
function attempt(
  /** @type {string} */ command,
  /** @type {string[]} */ args,
  /** @type {NodeJS.ProcessEnv} */ extra = {},
) {
  const { status, error } = spawnSync(command, args, {
    cwd: ROOT,
    env: environment(extra),
    stdio: 'inherit',
  });
  if (error) console.error(`${command} could not be run: ${error.message}`);
  return status ?? 1;
}

/** What a command prints, or undefined when it fails. */
export function output(/** @type {string} */ command, /** @type {string[]} */ args) {
  const { status, stdout } = spawnSync(command, args, { cwd: ROOT, env: environment(), encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}

/** The packages of package-lock.json. */
export function packages() {
  const stamp = at('node_modules/.lock-hash');
  const wanted = createHash('sha256')
    .update(readFileSync(at('package-lock.json')))
    .digest('hex');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
    run('npm', ['ci', '--no-fund', '--no-audit']);
    writeFileSync(stamp, wanted);
  }
  const version = output('node', ['--version']) ?? '';
  const [major = 0, minor = 0] = version.replace('v', '').split('.').map(Number);
  if (major < 22 || (major === 22 && minor < 18)) {
    fail(`Node ${version.trim()} is too old for wrangler and the tests: install Node 22.18 or later.`);
  }
}

/** The Rust toolchain with the parts that the WebAssembly is built from. */
export function rust() {
  if (!output('rustup', ['--version']))
    fail('rustup is missing: install it from https://rustup.rs and try again.');
  const wanted = ['rustfmt', 'clippy', 'rust-src', 'rust-std-wasm32-unknown-unknown'];
  const installed = output('rustup', ['component', 'list', '--installed', '--toolchain', TOOLCHAIN]);
  if (installed === undefined)
    run('rustup', ['toolchain', 'install', TOOLCHAIN, '--profile', 'minimal', '--no-self-update']);
  const missing = wanted.filter((component) => !installed?.includes(component));
  const components = missing.filter((component) => !component.startsWith('rust-std'));
  if (components.length > 0) run('rustup', ['component', 'add', '--toolchain', TOOLCHAIN, ...components]);
  if (missing.length > components.length)
    run('rustup', ['target', 'add', '--toolchain', TOOLCHAIN, 'wasm32-unknown-unknown']);
}

/** The wasm-bindgen command, of the version of the library. */
export function wasmBindgen() {
  if (output(at('.tools/bin/wasm-bindgen'), ['--version'])?.includes(WASM_BINDGEN)) return;
  run('cargo', [
    'install',
    'wasm-bindgen-cli',
    '--version',
    WASM_BINDGEN,
    '--locked',
    '--root',
    at('.tools'),
  ]);
}

/** The squashfs tools, which local sandboxes make their archives with. */
export function squashfs() {
  debian(
    'squashfs-tools',
    ['mksquashfs', 'unsquashfs'],
    'Local sandboxes need Linux with it; elsewhere use Docker and `npx wrangler dev`.',
  );
}

/** What sandboxes in production mode transfer and mount their archives with, where the machine can run that mode at all. */
export function overlays() {
  if (process.getuid?.() !== 0 || !existsSync('/dev/fuse')) return;
  const why = 'Sandboxes in production mode need it.';
  for (const [name = '', command = ''] of [
    ['squashfuse', 'squashfuse'],
    ['fuse-overlayfs', 'fuse-overlayfs'],
    ['fuse3', 'fusermount3'],
    ['curl', 'curl'],
    ['openssl', 'openssl'],
  ])
    debian(name, [command], why);
}

/** The browser that tests look at pages with. */
export function chromium() {
  debian('chromium', ['chromium'], 'Tests look at pages with it.');
}

/** Schemathesis, in a virtual environment of Python: the tests of the API document need it. */
export function schemathesis() {
  const [folder, wanted] = [at('.tools/schemathesis'), at('scripts/schemathesis.txt')];
  const stamp = join(folder, 'installed.txt');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === readFileSync(wanted, 'utf8')) return;
  const isThere = () => output('python3', ['-c', 'import ensurepip, venv']) !== undefined;
  installed('python3-venv', isThere, 'Tests of the API document need Python 3.10 or later with it.');
  run('python3', ['-m', 'venv', '--clear', folder]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps'];
  run(join(folder, 'bin/python3'), [...pip, '--requirement', wanted]);
  writeFileSync(stamp, readFileSync(wanted));
}

/** Installs a package of Debian's where one of its commands is missing. */
function debian(/** @type {string} */ name, /** @type {string[]} */ commands, /** @type {string} */ why) {
  installed(name, () => commands.every((command) => output('which', [command])), why);
}

/** Installs a package of Debian's where it is not there. */
function installed(
  /** @type {string} */ name,
  /** @type {() => boolean} */ isThere,
  /** @type {string} */ why,
) {
  if (isThere()) return;
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const apt = (/** @type {string[]} */ ...args) => {
    const [command = '', ...rest] = [...sudo, 'apt-get', ...args];
    return output('which', ['apt-get']) !== undefined && attempt(command, rest) === 0;
  };
  if (!apt('install', '-y', name)) apt('update') && apt('install', '-y', name);
  if (!isThere()) fail(`The package ${name} could not be installed. ${why}`);
}

function fail(/** @type {string} */ message) {
  console.error(message);
  process.exit(1);
}
