// wrangler's registry of local Workers: the folder by which `wrangler dev` and `npm run dev` find each other.

import { statSync } from 'node:fs';
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
