// Sandboxes that drop a file from each restore: a planted fault, which the soak test must find.

import { Sandbox as Original } from './sandboxes.mjs';

export { default, Caller } from './sandboxes.mjs';

export class Sandbox extends Original {
  async restoreBackup(...backup) {
    const answer = await super.restoreBackup(...backup);
    await this.exec('rm -f /workspace/state');
    return answer;
  }
}
