// Sandboxes whose archives get lost after a while: what the stress tests must find.

import { Sandbox as Whole } from './sandboxes.mjs';

export { default, Caller } from './sandboxes.mjs';

/** After how many milliseconds. */
const LATER = 500;

export class Sandbox extends Whole {
  async createBackup(...options) {
    const backup = await super.createBackup(...options);
    const lose = () => this.env.BACKUP_BUCKET.delete(`backups/${backup.id}/data.sqsh`);
    this.ctx.waitUntil(new Promise((resolve) => setTimeout(resolve, LATER)).then(lose));
    return backup;
  }
}
