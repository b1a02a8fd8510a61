// The claims of a run: on the folder of its state, because two runs over it would each take the sandboxes of the other for ended;
// on the registry of local Workers, where two runs have the same name; and on its ports, so that the next run can name it.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, realpathSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { text } from 'node:stream/consumers';

/** Claims a folder as {@link claim} does, and creates it if it does not exist. */
export async function claimFolder(folder: string, description: string): Promise<string | undefined> {
  mkdirSync(folder, { recursive: true });
  return claim(realpathSync(folder), description);
}

/**
 * Claims a name until this process ends. Returns undefined, or the description of the process that has the claim.
 *
 * The claim is a socket in Linux's abstract namespace: it ends with the process, also after a crash.
 */
export async function claim(name: string, description: string): Promise<string | undefined> {
  const id = createHash('sha256').update(name).digest('hex');
  const path = `\0sandbox-snapshotter-${id}`;
  const server = createServer((socket) => socket.on('error', () => {}).end(description)).listen(path);
  server.unref();
  return once(server, 'listening').then(
    () => undefined,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') return text(createConnection(path));
      throw error;
    },
  );
}
