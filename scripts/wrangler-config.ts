// The configuration in a wrangler.toml, as wrangler reads it.
//
// wrangler takes a second to load. Every test file needs the configuration, so it is stored in .local/configs/ until the file or
// the version of wrangler changes.

import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import type { Unstable_Config as Config } from 'wrangler';

import { at } from './setup.mjs';

export type { Config };

/** The folder of the stored configurations. */
const FOLDER = at('.local/configs');

/** Returns the configuration in a wrangler.toml, or that of one of its environments. */
export async function readConfig(path: string, environment?: string): Promise<Config> {
  const file = resolve(path);
  const version = readFileSync(at('package-lock.json'));
  const parts = [file, environment ?? '', readFileSync(file), version];
  const key = parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex');
  const stored = join(FOLDER, `${key}.json`);
  if (existsSync(stored)) return JSON.parse(readFileSync(stored, 'utf8'));
  const { unstable_readConfig } = await import('wrangler');
  const text = JSON.stringify(
    unstable_readConfig({ config: file, env: environment }, { hideWarnings: true }),
  );
  mkdirSync(FOLDER, { recursive: true });
  const unfinished = join(FOLDER, randomUUID());
  writeFileSync(unfinished, text);
  renameSync(unfinished, stored); // Other processes may store the same.
  return JSON.parse(text);
}
