// The claim of a run on a folder: on that of its state, because two runs over it would each take the sandboxes of the other for
// ended, or on the registry of local Workers, where two runs have the same name.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, realpathSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { text } from 'node:stream/consumers';

/**
 * Claims a folder until this process ends, and creates it if it does not exist. Returns undefined, or the description of the
 * process that has the claim.
 *
 * The claim is a socket in Linux's abstract namespace: it ends with the process, also after a crash.
 */
export async function claim(folder: string, description: string): Promise<string | undefined> {
  mkdirSync(folder, { recursive: true });
  const id = createHash('sha256').update(realpathSync(folder)).digest('hex');
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
