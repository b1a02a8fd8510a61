// New projects, and `npm run dev` beside them. The test file that imports this module has a folder of its own.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before } from 'node:test';

import { at, environment } from '../../scripts/setup.mjs';
import { Command } from './terminal.ts';

/** The folder of the projects, the states and the registry. */
export let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'development-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** Creates a project with the packages that the page names. */
export function createProject(name: string, files: Record<string, string>): string {
  const project = join(folder, name);
  const all = { 'package.json': JSON.stringify({ private: true, type: 'module' }), ...files };
  for (const [file, text] of Object.entries(all)) {
    mkdirSync(dirname(join(project, file)), { recursive: true });
    writeFileSync(join(project, file), text);
  }
  mkdirSync(join(project, 'node_modules/@cloudflare'), { recursive: true });
  for (const packageName of ['wrangler', '@cloudflare/sandbox', '@cloudflare/workers-types'])
    symlinkSync(at('node_modules', packageName), join(project, 'node_modules', packageName));
  run('tar', ['-xzf', packedClient()], project);
  run('mv', ['package', 'node_modules/sandbox-snapshotter-client'], project);
  return project;
}

let packed: string | undefined;

/** Packs the client for all projects, and returns the path of the package. */
function packedClient(): string {
  if (packed !== undefined) return packed;
  const args = [at('scripts/run.mjs'), 'pack', 'client', '--silent', '--pack-destination', folder];
  const [file = ''] = /\S+\.tgz/.exec(run('node', args, folder)) ?? [];
  return (packed = join(folder, file));
}

/** Runs a program to its end, and returns its output. */
export function run(program: string, args: string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, env: environment(), encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout;
}

/** Starts `npm run dev` with its own state and its own registry of local Workers. */
export function startDev(port: number, state: string, args: string[] = [], command = DEV): Command {
  return new Command([...command, '--state', join(folder, state), ...args], {
    cwd: at(),
    env: { PORT: String(port), ...ownRegistry() },
  });
}

/**
 * Variables by which a command has the registry of this file, at its default place below a folder of its own. Without the
 * variable of the test column, the runtime is that of a new user.
 */
function ownRegistry() {
  return { XDG_CONFIG_HOME: join(folder, 'config'), SANDBOX_MODE: undefined };
}

/** The command itself, without npm. */
export const DEV = ['node', at('scripts/dev.ts')];

/** Starts a plain `wrangler dev` in a project. */
export function startWrangler(project: string): Command {
  const command = ['wrangler', 'dev', '--port', '0', '--inspector-port', '0'];
  return new Command(command, { cwd: project, env: ownRegistry() });
}
