// Sandboxes whose archives are lost after a delay: a planted fault, which the chaos test must find.

import { Sandbox as Original } from './sandboxes.mjs';

export { default, Caller } from './sandboxes.mjs';

/** The delay in milliseconds. */
const DELAY = 500;

export class Sandbox extends Original {
  async createBackup(...options) {
    const backup = await super.createBackup(...options);
    const lose = () => this.env.BACKUP_BUCKET.delete(`backups/${backup.id}/data.sqsh`);
    this.ctx.waitUntil(new Promise((resolve) => setTimeout(resolve, DELAY)).then(lose));
    return backup;
  }
}
