// wrangler's registry of local Workers: the folder by which `wrangler dev` and `npm run dev` find each other.

import { once } from 'node:events';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** Returns the folder that `wrangler dev` uses. The default of Miniflare is another one. */
export function wranglerRegistry(): string {
  const { CLOUDFLARE_DEV_REGISTRY_PATH, WRANGLER_REGISTRY_PATH } = process.env;
  return resolve(
    CLOUDFLARE_DEV_REGISTRY_PATH || WRANGLER_REGISTRY_PATH || join(wranglerFolder(), 'registry'),
  );
}

/** Returns the folder in which wrangler keeps what concerns all projects. */
function wranglerFolder(): string {
  const former = join(homedir(), '.wrangler');
  if (statSync(former, { throwIfNoEntry: false })?.isDirectory()) return former;
  return join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), '.wrangler');
}

/**
 * Removes the entries of Workers that have ended without removing them, as after SIGKILL. Miniflare does not register a Worker of the
 * same name while such an entry is younger than 90 seconds, and `wrangler dev` would call the one that ended.
 */
export async function removeEndedWorkers(registry: string): Promise<void> {
  const files = readdirSync(registry).map((name) => join(registry, name));
  await Promise.all(files.map(async (file) => (await hasEnded(file)) && rmSync(file, { force: true })));
}

/** Returns whether no process listens at the address of an entry. */
async function hasEnded(file: string): Promise<boolean> {
  const entry = await readFile(file, 'utf8').catch(() => ''); // Its Worker may end now.
  const [, host, port] = /"debugPortAddress": *"(.+):([0-9]+)"/.exec(entry) ?? [];
  if (host === undefined) return false;
  const socket = createConnection(Number(port), host);
  const failure = await once(socket, 'connect').then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code,
  );
  socket.destroy();
  return failure === 'ECONNREFUSED';
}
