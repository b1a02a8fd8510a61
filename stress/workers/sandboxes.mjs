// The caller of the end-to-end tests, with its sandboxes, whose calls to R2 may go wrong.

import { Sandbox as Counted } from '../../miniflare-tests/caller/underway.ts';
import { arm, bucket } from './meddle.mjs';

export { default, Caller } from '../../miniflare-tests/caller/underway.ts';

export class Sandbox extends Counted {
  constructor(ctx, env) {
    super(ctx, { ...env, BACKUP_BUCKET: bucket(env.BACKUP_BUCKET, 'sandbox') });
  }

  arm(plan) {
    arm(plan);
  }
}
