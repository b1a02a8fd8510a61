// Sandboxes that drop a file from each restore: what the stress tests must find.

import { Sandbox as Whole } from './sandboxes.mjs';

export { default, Caller } from './sandboxes.mjs';

export class Sandbox extends Whole {
  async restoreBackup(...backup) {
    const answer = await super.restoreBackup(...backup);
    await this.exec('rm -f /workspace/state');
    return answer;
  }
}
