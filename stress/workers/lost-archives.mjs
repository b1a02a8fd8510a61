// Sandboxes whose archives are lost once a snapshot is reported: a planted fault, which the chaos test must find.

import { Caller as Original } from './sandboxes.mjs';

export { default, Sandbox } from './sandboxes.mjs';

/** The operations that report a snapshot: methods of RPC, and paths of HTTP. */
const CAPTURES = /(?:snapshot|stop)$/;

export class Caller extends Original {
  async runStep(step) {
    const answer = await super.runStep(step);
    const isReported = answer.error === undefined && (answer.value?.status ?? 200) === 200;
    if (isReported && CAPTURES.test(step.method ?? step.path ?? '')) await this.#loseArchives();
    return answer;
  }

  async #loseArchives() {
    const { objects } = await this.env.BACKUP_BUCKET.list({ prefix: 'backups/' });
    const archives = objects.map(({ key }) => key).filter((key) => key.endsWith('/data.sqsh'));
    if (archives.length > 0) await this.env.BACKUP_BUCKET.delete(archives);
  }
}
