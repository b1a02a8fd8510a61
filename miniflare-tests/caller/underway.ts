// The caller, which knows how many backups its sandboxes are making or applying: that goes on when nobody waits for it.
// And its sandboxes tell how long they stay awake.

import { Sandbox as Published } from '@cloudflare/sandbox';

import caller, { type Env } from './caller.ts';

export { Caller } from './caller.ts';

let underway = 0;

async function counted<T>(work: Promise<T>): Promise<T> {
  underway += 1;
  try {
    return await work;
  } finally {
    underway -= 1;
  }
}

export class Sandbox extends Published {
  override createBackup(...options: Parameters<Published['createBackup']>) {
    return counted(super.createBackup(...options));
  }

  override restoreBackup(...backup: Parameters<Published['restoreBackup']>) {
    return counted(super.restoreBackup(...backup));
  }

  /** After how many seconds without a call it falls asleep, as the SDK has it stored; or that it does not. */
  async awake() {
    const [sleepAfter, keepAlive] = await Promise.all([
      this.ctx.storage.get('sleepAfter'),
      this.ctx.storage.get('keepAliveEnabled'),
    ]);
    return keepAlive ? 'always' : sleepAfter;
  }
}

export default {
  async fetch(request, env): Promise<Response> {
    if (new URL(request.url).pathname === '/underway') return Response.json(underway);
    return caller.fetch(request, env);
  },
} satisfies ExportedHandler<Env>;
