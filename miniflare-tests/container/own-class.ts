// The caller, with the sandboxes of an application's own class: it starts its container itself, as Cloudflare's guide
// describes, and gets snapshots from the mixin.

import { DurableObject } from 'cloudflare:workers';

import { withSnapshots } from '../../client/src/container/index.ts';
import { Caller, type Env } from '../caller/caller.ts';

export { Caller };
export { default } from '../caller/caller.ts';

class OwnContainer extends DurableObject<Env> {
  async launch(image = 'debian:slim'): Promise<boolean> {
    const container = this.ctx.container!;
    if (!container.running)
      container.start({ image, enableInternet: false, env: { OWN: 'value' }, labels: { own: '1' } });
    const process = await container.exec(['sh', '-c', 'mkdir -p /workspace && echo own >/workspace/own']);
    return (await process.output()).exitCode === 0;
  }

  alarmTime(): Promise<number | null> {
    return this.ctx.storage.getAlarm();
  }

  async labels(): Promise<Record<string, string> | undefined> {
    return (await this.ctx.container!.inspect())?.labels;
  }
}

export class Sandbox extends withSnapshots(OwnContainer, {
  env: () => ({ OWN: 'of the class' }),
  start: () => ({ image: 'debian:slim', labels: { own: '2' } }),
}) {}
