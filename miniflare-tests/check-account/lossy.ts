// The example agent for containers, whose class loses a directory in each restore.

import { Agent, Sandbox as Complete } from '../../examples/container-agent/src/index.ts';

export { Agent };
export { default } from '../../examples/container-agent/src/index.ts';

export class Sandbox extends Complete {
  override async restoreBackup(handle: Parameters<Complete['restoreBackup']>[0]) {
    const restored = await super.restoreBackup(handle);
    await this.exec('rmdir /workspace/empty');
    return restored;
  }
}
