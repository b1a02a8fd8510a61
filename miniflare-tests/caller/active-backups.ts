// The caller, which counts the backups that its sandboxes create or apply, also after their caller stopped waiting. Its
// sandboxes also return their sleep timeout.

import { Sandbox as Published } from '@cloudflare/sandbox';

import caller, { type Env } from './caller.ts';

export { Caller } from './caller.ts';

let activeBackups = 0;

/** Counts work as a backup in progress. */
export async function counted<T>(work: Promise<T>): Promise<T> {
  activeBackups += 1;
  try {
    return await work;
  } finally {
    activeBackups -= 1;
  }
}

export class Sandbox extends Published {
  override createBackup(...options: Parameters<Published['createBackup']>) {
    return counted(super.createBackup(...options));
  }

  override restoreBackup(...backup: Parameters<Published['restoreBackup']>) {
    return counted(super.restoreBackup(...backup));
  }

  /** Returns the `sleepAfter` that the SDK or the class of the client has stored, or 'always' with `keepAlive`. */
  async sleepTimeout() {
    const millis = await this.ctx.storage.get<number | null>('sandbox-snapshotter:timeout');
    if (millis !== undefined) return millis === null ? 'always' : millis / 1000;
    const [sleepAfter, keepAlive] = await Promise.all([
      this.ctx.storage.get('sleepAfter'),
      this.ctx.storage.get('keepAliveEnabled'),
    ]);
    return keepAlive ? 'always' : sleepAfter;
  }
}

export default {
  async fetch(request, env): Promise<Response> {
    if (new URL(request.url).pathname === '/active-backups') return Response.json(activeBackups);
    return caller.fetch(request, env);
  },
} satisfies ExportedHandler<Env>;
