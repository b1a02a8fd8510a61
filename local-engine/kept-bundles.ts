/** The bundles that a test run keeps: each test file is a process of its own, and most of them start the same Workers. */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns the bundle with this key from the folder in `KEPT_BUNDLES`, or builds it and stores it there. Without that variable,
 * it always builds. Only a test run sets it, for its own new folder: the sources must not change while the folder exists.
 */
export async function keptBundle<Bundle>(key: string, build: () => Promise<Bundle>): Promise<Bundle> {
  const folder = process.env.KEPT_BUNDLES;
  if (folder === undefined) return build();
  const file = join(folder, createHash('sha256').update(key).digest('hex'));
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Bundle;
  const bundle = await build();
  const unfinished = join(folder, randomUUID());
  writeFileSync(unfinished, JSON.stringify(bundle));
  renameSync(unfinished, file); // Other processes may store the same.
  return bundle;
}
