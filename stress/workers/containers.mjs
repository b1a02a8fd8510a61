// The caller of the end-to-end tests with sandboxes over `ctx.container`, and with faults in the sandboxes' calls to R2. The fault
// plan names the deployed image: that of the next containers.

import { DurableObject } from 'cloudflare:workers';

import { withSnapshots } from '../../client/src/container/index.ts';
import { counted } from '../../miniflare-tests/caller/active-backups.ts';
import { arm, bucket } from './fault-injection.mjs';

export { default, Caller } from '../../miniflare-tests/caller/active-backups.ts';

let image = 'debian';

export class Sandbox extends withSnapshots(DurableObject, { start: () => ({ image }) }) {
  constructor(ctx, env) {
    super(ctx, { ...env, BACKUP_BUCKET: bucket(env.BACKUP_BUCKET, 'sandbox') });
  }

  createBackup(...options) {
    return counted(super.createBackup(...options));
  }

  restoreBackup(...backup) {
    return counted(super.restoreBackup(...backup));
  }

  snapshotContainer(...options) {
    return counted(super.snapshotContainer(...options));
  }

  startContainer(...options) {
    return counted(super.startContainer(...options));
  }

  arm(plan) {
    arm(plan);
    image = plan.image;
  }
}
