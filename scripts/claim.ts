// The claim of a run on its folder of state. Two runs over one folder would each take the sandboxes of the other for ended.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, realpathSync } from 'node:fs';
import { createServer } from 'node:net';

/**
 * Claims a folder until this process ends, and creates it if it does not exist. Returns whether no other process has the claim.
 *
 * The claim is a socket in Linux's abstract namespace: it ends with the process, also after a crash.
 */
export async function claim(folder: string): Promise<boolean> {
  mkdirSync(folder, { recursive: true });
  const id = createHash('sha256').update(realpathSync(folder)).digest('hex');
  const server = createServer().listen(`\0sandbox-snapshotter-${id}`);
  server.unref();
  return once(server, 'listening').then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') return false;
      throw error;
    },
  );
}
