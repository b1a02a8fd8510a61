// The caller of the end-to-end tests with its sandboxes, and with faults in the sandboxes' calls to R2.

import { Sandbox as Counted } from '../../miniflare-tests/caller/active-backups.ts';
import { arm, bucket } from './fault-injection.mjs';

export { default, Caller } from '../../miniflare-tests/caller/active-backups.ts';

export class Sandbox extends Counted {
  constructor(ctx, env) {
    super(ctx, { ...env, BACKUP_BUCKET: bucket(env.BACKUP_BUCKET, 'sandbox') });
  }

  arm(plan) {
    arm(plan);
  }
}
