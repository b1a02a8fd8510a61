// `npm run dev`: serves the Worker with local sandboxes, and the example agent or an application's Worker. The first run creates
// the state folder .local/ and the file .dev.vars with the token. Git ignores both.

import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { SnapshotterClient, http, isSnapshotterError } from '../client/src/index.ts';
import { fromCaller, loadApplication } from './application.ts';
import { claim, claimFolder } from './claim.ts';
import { at } from './setup.mjs';
import { endOf, formatLogLine, isMissing, isOfSnapshotter, workspaceOf } from './log-lines.ts';
import {
  SNAPSHOTTER,
  SNAPSHOTTER_WITH_CONTAINERS,
  modeOfRun,
  startLocal,
  type LocalWorker,
  type Mode,
} from './local.ts';
import { parseOptions } from './options.mjs';
import { removeEndedWorkers, wranglerRegistry } from './registry.ts';
import { exampleOf, named, runtimeOf, type Runtime } from './runtimes.ts';

/** How long a restart of workerd is awaited. */
const RESTART_MILLIS = 60_000;

process.env.LOCAL_WORKERD_PROGRAM =
  process.env.MINIFLARE_WORKERD_PATH ?? String(createRequire(import.meta.url)('workerd').default);
process.env.MINIFLARE_WORKERD_PATH = at('scripts/workerd.sh');

// run.mjs disconnects this process to end it.
const ending = Promise.withResolvers<unknown>();
process.once('disconnect', ending.resolve);
if (process.connected === false) ending.resolve(undefined);

const args = process.argv.slice(2);
const options = parseOptions('dev', args);
const givenPort = options.port ?? process.env.PORT ?? '8787';
const port = Number(givenPort);
if (!(Number.isInteger(port) && port > 0 && port < 65535))
  fail(
    `${options.port === undefined ? 'PORT' : '--port'} must be an integer from 1 to 65534, got ${JSON.stringify(givenPort)}.`,
  );
for (const used of [port, port + 1]) {
  const earlier = await claim(`port ${used}`, `${process.pid}`);
  if (earlier === undefined && !(await isBusy(used))) continue;
  const by = earlier && ` by an earlier \`npm run dev\`. To end it: kill ${earlier}`;
  fail(`Port ${used} is in use${by ?? ''}. Pass another port: npm run dev -- ${withPort(args, 9000)}`);
}

const token = developmentToken();
const address = `http://127.0.0.1:${port}`;
const { workspaces } = new SnapshotterClient(http({ url: address, token }));
/** Whether the workspaces are being saved, for which this process looks them up. */
let isSaving = false;
/** The workspaces that the log names. The list of a tenant may not have the latest ones yet, and no list has all tenants. */
const used = new Map<string, { tenant: string; name: string }>();
const snapshotterVars = { API_TOKEN: token };
const served = options.agent === undefined ? loadExample() : await loadOwn(options.agent);

const persist = options.state === undefined ? defaultState(served.runtime) : fromCaller(options.state);
const self = `${address}, with the state in ${persist}`;
if ((await claimFolder(persist, self)) !== undefined)
  fail(
    `Another \`npm run dev\` uses the state in ${persist}. End it, or pass another folder: --state <folder>`,
  );
// Its workspaces would be started in the runtime of this run, and fail in their own.
const runtimeOfState = join(persist, 'runtime');
const recorded = existsSync(runtimeOfState) ? readFileSync(runtimeOfState, 'utf8') : served.runtime;
if (recorded !== served.runtime)
  fail(
    `The state in ${persist} is of the runtime ${recorded}, and this run of ${served.runtime}. Pass another folder: --state <folder>`,
  );

// The sandboxes of another Worker are other objects: the snapshotter learns from them nothing about those of the earlier runs.
const ownerOfState = join(persist, 'sandboxes-of');
const earlierOwner =
  existsSync(ownerOfState) && hasWorkspaces() ? readFileSync(ownerOfState, 'utf8') : served.sandboxesOf;

// All runs have the same name in the registry. The first one keeps it: a later one would take its callers over.
const registry = wranglerRegistry();
const other = await claimFolder(registry, self);
if (other === undefined) await removeEndedWorkers(registry);

const local = await startLocal({
  workers: served.workers,
  port,
  persist,
  ...(other === undefined && { registry }),
  onLog: printLogLine,
  mode: served.mode,
}).catch((error: Error) => {
  // esbuild has printed what is wrong.
  if ('errors' in error)
    fail(
      `${served.name} cannot be bundled. Correct the errors above. If a package is missing, install it in the project: the client as client/README.md says.`,
    );
  throw error;
});

writeFileSync(runtimeOfState, served.runtime);
writeFileSync(ownerOfState, served.sandboxesOf);

// Miniflare's own listeners would end workerd at once. A signal that arrives while they are replaced is lost, so the output, to
// which a caller may react with one, comes after.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {}); // A closed terminal.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.removeAllListeners(signal).on(signal, ending.resolve);
// The first Ctrl-C also ends run.mjs, and does not count as two.
const aborted = once(process, 'SIGINT').then(() => once(process, 'SIGINT'));

const width = Math.max(served.name.length, 'API reference'.length) + 2;
const print = (label: string, value: string) => console.log(`${label}:`.padEnd(width) + value);
print('Snapshotter', `${address} (the console, in a browser)`);
print('API reference', `${address}/docs`);
print('Guides', `${address}/docs/guides`);
print(served.name, `http://127.0.0.1:${port + 1}`);
print('State', `${persist}, of the runtime ${served.runtime}`);
print(served.isExample ? 'Token of both' : 'Token', token);
console.log(`
For the command line, in another terminal:
  export SNAPSHOTTER_ADDRESS=${address}
  export SNAPSHOTTER_TOKEN="$(sed -n 's/^API_TOKEN=//p' '${at('.dev.vars')}' | tr -d '"')"
  npm run -s cli -- workspace list   # builds and runs snapshotter; see docs/cli.md to install it
`);
if (earlierOwner !== served.sandboxesOf)
  console.log(
    `The sandboxes are those of "${served.sandboxesOf}", and earlier runs over this state had those of "${earlierOwner}". The first start of each earlier workspace restores its newest snapshot, and reports that newer files may be lost: whether its former sandbox ran after that can't be checked from here.\n`,
  );
if (served.isExample)
  console.log(`To run a command in the sandbox of an agent named ada:
  curl http://127.0.0.1:${port + 1}/ada/run -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '["echo hello"]'
`);
if (other === undefined)
  console.log(
    `\`wrangler dev\` in another project can bind the service "sandbox-snapshotter", and the class Sandbox of\n"${served.sandboxesOf}".`,
  );
else
  console.warn(
    `\`wrangler dev\` in another project does not reach this run, but the one at ${other}. To reach this one, end the other first, or set CLOUDFLARE_DEV_REGISTRY_PATH to the same new folder here and there.`,
  );
console.log('Callers with the token can run commands on this machine. Press Ctrl-C to stop.');

await ending.promise;
isSaving = true;
console.log('\nSaving the active workspaces. Press Ctrl-C again to end without.');
await Promise.race([saveWorkspaces(), aborted]);
await local.close();
process.exit(0);

/** Returns whether an earlier run over this state had a workspace: Miniflare stores each Durable Object in a file. */
function hasWorkspaces(): boolean {
  const objects = join(persist, 'do/sandbox-snapshotter-NamedWorkspace');
  if (!existsSync(objects)) return false;
  return readdirSync(objects).some((file) => file.endsWith('.sqlite') && file !== 'metadata.sqlite');
}

/** Stops the active workspaces, which takes a snapshot of each. */
async function saveWorkspaces() {
  for (const [label, address] of await workspacesToSave()) {
    try {
      if ((await workspaces.getByName(address)).state !== 'active') continue;
      console.log(endOf(label, await workspaces.stop(address)));
    } catch (error) {
      if (isSnapshotterError(error) && error.code === 'WORKSPACE_NOT_FOUND') continue;
      console.error(`${label} is not saved: ${error instanceof Error ? error.message : error}`);
    }
  }
}

/**
 * Returns the workspaces that this run used, and the active ones of their tenants. If workerd has ended, waits until Miniflare has started
 * it again.
 */
async function workspacesToSave() {
  const deadline = Date.now() + RESTART_MILLIS;
  for (;;) {
    try {
      const known = new Map(used);
      for (const tenant of new Set(['default', ...[...used.values()].map(({ tenant }) => tenant)]))
        for await (const { name, state } of workspaces.all({ tenant }))
          if (state === 'active') note(known, { tenant, name });
      return known;
    } catch (thrown) {
      if (!(isSnapshotterError(thrown) && thrown.retryable) || Date.now() > deadline) throw thrown;
      await setTimeout(100);
    }
  }
}

/** The Workers that this command serves: the snapshotter first, and an agent. */
interface Served {
  /** How the output names the agent. */
  name: string;
  isExample: boolean;
  workers: LocalWorker[];
  /** The name of the Worker that exports the class of the sandboxes. */
  sandboxesOf: string;
  mode: Mode;
  /** The runtime of that class. */
  runtime: Runtime;
}

/** Returns the folder of the state, unless the caller selects one. Each runtime has its own: its sandboxes are other objects. */
function defaultState(runtime: Runtime): string {
  return at(runtime === 'container' ? '.local/state-container' : '.local/state');
}

/** Returns the example agent of a runtime. */
function loadExample(): Served {
  const runtime = runtimeOf(options.runtime);
  const isDefault = options.runtime === undefined && options.state === undefined;
  if (isDefault && runtime === 'container' && existsSync(defaultState('sdk-0.12')))
    console.log(
      'The sandboxes are of the runtime container. To use the workspaces of earlier runs of the other one: --runtime sdk-0.12',
    );
  const { agent, snapshotter, mode } = exampleOf(runtime);
  return {
    name: 'Example agent',
    isExample: true,
    workers: [
      { ...snapshotter, vars: { ...snapshotter.vars, ...snapshotterVars } },
      { ...agent, vars: { AGENT_TOKEN: token }, port: port + 1 },
    ],
    sandboxesOf: snapshotter.sandboxesOf ?? 'sandbox-snapshotter',
    mode,
    runtime,
  };
}

/** Returns an application's Worker, which calls the snapshotter and may export the class of the sandboxes. */
async function loadOwn(path: string): Promise<Served> {
  const application = await loadApplication(path, options.runtime).catch((error: Error) =>
    fail(error.message),
  );
  const { name, worker, runtime, sandboxClass, bucket, notes, warnings } = application;
  for (const warning of warnings) console.warn(warning);
  for (const note of notes) console.log(note);
  const snapshotter: LocalWorker =
    sandboxClass === undefined && runtime === 'container'
      ? { config: SNAPSHOTTER_WITH_CONTAINERS, vars: snapshotterVars }
      : {
          config: SNAPSHOTTER,
          vars: { ...named(runtime), ...snapshotterVars },
          ...(sandboxClass && { sandboxesOf: name, sandboxClass }),
        };
  return {
    name,
    isExample: false,
    workers: [
      {
        ...snapshotter,
        ...(bucket && { bindings: { BACKUP_BUCKET: { type: 'r2', name: bucket } } }),
      },
      { ...worker, port: port + 1 },
    ],
    sandboxesOf: sandboxClass ? name : 'sandbox-snapshotter',
    mode: modeOfRun(),
    runtime,
  };
}

/** Adds a workspace by the label that the output gives it. */
function note(known: typeof used, { tenant, name }: { tenant: string; name: string }) {
  known.set(tenant === 'default' ? name : `${tenant}/${name}`, { tenant, name });
}

/** Prints a log line. Omits those of the example agent and of the class of its sandboxes. */
function printLogLine(line: string) {
  const workspace = workspaceOf(line);
  if (workspace) note(used, workspace);
  if ((served.isExample && !isOfSnapshotter(line)) || (isSaving && isMissing(line))) return;
  const printed = options.log === 'json' ? line : formatLogLine(line);
  if (printed !== undefined) console.log(printed);
}

/** Returns whether another process listens on a port of 127.0.0.1. */
async function isBusy(number: number): Promise<boolean> {
  const server = createServer().listen(number, '127.0.0.1');
  const [error] = await Promise.race([once(server, 'listening'), once(server, 'error')]).catch(
    (error: unknown) => [error],
  );
  server.close();
  return error !== undefined;
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

/** Returns the token in .dev.vars, which `wrangler dev` also reads. Generates the token if there is none. */
function developmentToken(): string {
  const file = at('.dev.vars');
  const vars = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const existing = /^API_TOKEN="?([^"\n]+)"?$/m.exec(vars)?.[1];
  if (existing) return existing;
  const generated = randomBytes(24).toString('base64url');
  const lines = [vars.trimEnd(), `API_TOKEN="${generated}"`, 'LOCAL_BUCKET="true"', ''];
  writeFileSync(file, lines.join('\n').trimStart(), { mode: 0o600 });
  return generated;
}

/** Returns the arguments with another port. */
function withPort(given: string[], other: number): string {
  const at = given.findIndex((each) => each === '--port' || each.startsWith('--port='));
  const length = given[at] === '--port' ? 2 : 1;
  const rest = at === -1 ? given : given.toSpliced(at, length);
  return [...rest, '--port', `${other}`].join(' ');
}
