// Installs what a command needs, if it is missing. Runs on the machine's own Node, before any package is installed.

import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TOOLCHAIN = '1.95.0';

/**
 * The packages with native tests, and the features of these tests. Each command for one of them selects all, because cargo
 * compiles a dependency again for other features.
 */
export const TESTED = [
  ...['sandbox-snapshotter', 'sandbox-snapshotter-client', 'snapshot-archive', 'snapshotter-cli'].flatMap(
    (name) => ['--package', name],
  ),
  '--features',
  'sandbox-snapshotter/schema,sandbox-snapshotter/fuzzing,sandbox-snapshotter-client/service-binding',
];

/** Returns the absolute path of a file of the project. */
export function at(/** @type {string[]} */ ...parts) {
  return join(ROOT, ...parts);
}

/** Returns the absolute path of a file in the folder where cargo puts what it builds. */
export function inTarget(/** @type {string[]} */ ...parts) {
  return resolve(ROOT, process.env.CARGO_TARGET_DIR ?? 'target', ...parts);
}

/** Returns the environment for commands. Programs from the project's packages, possibly including Node, precede those of the machine. */
export function environment(/** @type {NodeJS.ProcessEnv} */ extra = {}) {
  const path = [at('node_modules/.bin'), process.env.PATH].join(delimiter);
  return {
    ...process.env,
    PATH: path,
    WRANGLER_SEND_METRICS: 'false',
    CLOUDFLARE_CF_FETCH_ENABLED: 'false',
    NODE_COMPILE_CACHE: at('.local/compile-cache'), // Miniflare takes half a second to compile.
    ...extra,
  };
}

/** Runs a command in the project. If it fails, exits this process with its status. */
export function run(
  /** @type {string} */ command,
  /** @type {string[]} */ args,
  /** @type {NodeJS.ProcessEnv} */ extra = {},
) {
  const status = attempt(command, args, extra);
  if (status !== 0) process.exit(status);
}

/** Runs a program in the folder in which the user called npm. If it fails, exits this process with its status. */
export function runForUser(
  /** @type {string} */ program,
  /** @type {string[]} */ args,
  /** @type {NodeJS.ProcessEnv} */ extra = {},
) {
  const status = attempt(program, args, extra, process.env.INIT_CWD ?? process.cwd());
  if (status !== 0) process.exit(status);
}

/** Runs a command in the project, or in another folder, and returns its exit status. */
function attempt(
  /** @type {string} */ command,
  /** @type {string[]} */ args,
  /** @type {NodeJS.ProcessEnv} */ extra = {},
  cwd = ROOT,
) {
  const { status, error } = spawnSync(command, args, {
    cwd,
    env: environment(extra),
    stdio: 'inherit',
  });
  if (error) console.error(`Failed to run ${command}: ${error.message}`);
  return status ?? 1;
}

/**
 * Runs a server in the project, and exits this process with its status. A signal to this process, or its end, disconnects the
 * server, which then ends by itself. The signal is not passed on: a terminal sends it to both, and the server would get it twice.
 */
export function serve(/** @type {string} */ command, /** @type {string[]} */ args) {
  const server = spawn(command, args, {
    cwd: ROOT,
    env: environment(),
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => server.connected && server.disconnect());
  server.on('error', (error) => fail(`Failed to run ${command}: ${error.message}`));
  server.on('exit', (status) => process.exit(status ?? 1));
}

/** Runs a command, and returns its output, or `undefined` if it fails. */
export function output(/** @type {string} */ command, /** @type {string[]} */ args) {
  const { status, stdout } = spawnSync(command, args, {
    cwd: ROOT,
    env: environment(),
    encoding: 'utf8',
    maxBuffer: 16 * 2 ** 20,
  });
  return status === 0 ? stdout : undefined;
}

/** Installs the packages of package-lock.json. */
export function packages() {
  const hashFile = at('node_modules/.lock-hash');
  const lockHash = createHash('sha256')
    .update(readFileSync(at('package-lock.json')))
    .digest('hex');
  if (!existsSync(hashFile) || readFileSync(hashFile, 'utf8') !== lockHash) {
    console.log('Installing the packages …');
    run('npm', ['ci', '--no-fund', '--no-audit', '--loglevel', 'error']); // One of the packages is a later Node.
    writeFileSync(hashFile, lockHash);
  }
  const version = output('node', ['--version']) ?? '';
  const [major = 0, minor = 0] = version.replace('v', '').split('.').map(Number);
  if (major < 22 || (major === 22 && minor < 18)) {
    fail(`wrangler and the tests need Node 22.18 or later, got ${version.trim()}. Install a later version.`);
  }
}

/** Installs the Rust toolchain, with the components that the build of the WebAssembly needs. */
export function rust() {
  if (!output('rustup', ['--version'])) fail('rustup is not installed. Install it from https://rustup.rs.');
  const required = ['rustfmt', 'clippy', 'rust-src', 'rust-std-wasm32-unknown-unknown'];
  const installed = output('rustup', ['component', 'list', '--installed', '--toolchain', TOOLCHAIN]);
  if (installed === undefined)
    run('rustup', ['toolchain', 'install', TOOLCHAIN, '--profile', 'minimal', '--no-self-update']);
  const missing = required.filter((component) => !installed?.includes(component));
  const components = missing.filter((component) => !component.startsWith('rust-std'));
  if (components.length > 0) run('rustup', ['component', 'add', '--toolchain', TOOLCHAIN, ...components]);
  if (missing.length > components.length)
    run('rustup', ['target', 'add', '--toolchain', TOOLCHAIN, 'wasm32-unknown-unknown']);
}

/** Installs the squashfs tools, with which local sandboxes create archives. */
export function squashfs() {
  debian(
    'squashfs-tools',
    ['mksquashfs', 'unsquashfs'],
    'Local sandboxes need it, and Linux. On other systems, use Docker and `npx wrangler dev`.',
  );
}

/** Installs the tools with which sandboxes in production mode transfer and mount archives, if the machine can run that mode. */
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

/**
 * The browsers for the tests of the pages, the preferred one first. The headless shell takes a third less processor time than all of
 * Chromium.
 */
export const BROWSERS = ['chromium-headless-shell', 'chromium'];

/** Installs the browser for the tests of the pages. Not every system has a package of the headless shell. */
export function browser() {
  const [shell = '', chromium = ''] = BROWSERS;
  const isKnown = () => output('apt-cache', ['show', shell]) !== undefined;
  if ((isKnown() || !isInstalled(chromium)) && install(shell, () => isInstalled(shell))) return;
  debian(chromium, [chromium], 'The tests of the pages need it.');
}

/** Installs jq, with which the scripts of the documentation read JSON. */
export function jq() {
  debian('jq', ['jq'], 'The tests of the scripts in the documentation need it.');
}

/** Installs Schemathesis, for the tests of the API document. */
export function schemathesis() {
  python('schemathesis');
}

/** Installs generators of clients for Python and TypeScript, for the tests of the API document. */
export function clientGenerators() {
  python('openapi-python-client');
  const [folder, packages] = [at('.tools/openapi-typescript'), at('scripts/openapi-typescript')];
  installOnce(folder, join(packages, 'package-lock.json'), () => {
    cpSync(packages, folder, { recursive: true });
    run('npm', ['ci', '--prefix', folder, '--no-audit', '--no-fund', '--silent']);
  });
}

/** Installs a Python program, pinned in `scripts/<name>.txt`, in the virtual environment `.tools/<name>`. */
function python(/** @type {string} */ name) {
  const [folder, requirements] = [at('.tools', name), at('scripts', `${name}.txt`)];
  installOnce(folder, requirements, () => {
    const isInstalled = () => output('python3', ['-c', 'import ensurepip, venv']) !== undefined;
    ensureInstalled(
      'python3-venv',
      isInstalled,
      'The tests of the API document need it, and Python 3.10 or later.',
    );
    run('python3', ['-m', 'venv', '--clear', folder]);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps'];
    run(join(folder, 'bin/python3'), [...pip, '--requirement', requirements]);
  });
}

/** Installs a tool into a folder, unless it was installed there from the same list of versions. */
function installOnce(
  /** @type {string} */ folder,
  /** @type {string} */ versions,
  /** @type {() => void} */ install,
) {
  const installed = join(folder, 'installed.txt');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === readFileSync(versions, 'utf8')) return;
  install();
  writeFileSync(installed, readFileSync(versions));
}

/** Installs a Debian package if one of its commands is missing. */
function debian(/** @type {string} */ name, /** @type {string[]} */ commands, /** @type {string} */ why) {
  ensureInstalled(name, () => commands.every(isInstalled), why);
}

/** Returns whether the machine has a command. */
function isInstalled(/** @type {string} */ command) {
  return output('which', [command]) !== undefined;
}

/** Installs a Debian package if it is missing. If that fails, exits this process. */
function ensureInstalled(
  /** @type {string} */ name,
  /** @type {() => boolean} */ isInstalled,
  /** @type {string} */ why,
) {
  if (!install(name, isInstalled)) fail(`Failed to install the package ${name}. ${why}`);
}

/** Installs a Debian package if it is missing. Returns whether it is installed. */
function install(/** @type {string} */ name, /** @type {() => boolean} */ isInstalled) {
  if (isInstalled()) return true;
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const apt = (/** @type {string[]} */ ...args) => {
    const [command = '', ...rest] = [...sudo, 'apt-get', ...args];
    return output('which', ['apt-get']) !== undefined && attempt(command, rest) === 0;
  };
  if (!apt('install', '-y', name)) apt('update') && apt('install', '-y', name);
  return isInstalled();
}

function fail(/** @type {string} */ message) {
  console.error(message);
  process.exit(1);
}
