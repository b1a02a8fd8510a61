// The caller, with the sandboxes of a class as Cloudflare's guide for the SDK 1.0 describes it: it starts, uses and ends its
// container itself, and has its own alarm. The mixin adds snapshots, and nothing in the class is written for it.

import { DurableObject } from 'cloudflare:workers';

import { withSnapshots } from '../../client/src/container/index.ts';
import { Caller, type Env } from '../caller/caller.ts';

export { Caller };
export { default } from '../caller/caller.ts';

/** The time between two checks of the container, in milliseconds. */
const CHECK_MS = 50;

class GuideSandbox extends DurableObject<Env> {
  #checks = 0;

  async start(): Promise<void> {
    const container = this.ctx.container!;
    if (!container.running) {
      container.start({ enableInternet: false, env: { MODE: 'agent' } });
      this.ctx.waitUntil(container.monitor().catch(() => {}));
    }
    await this.run(['mkdir', '-p', '/workspace']);
    await this.ctx.storage.setAlarm(Date.now() + CHECK_MS);
  }

  async run(argv: string[], input?: string): Promise<{ exitCode: number; stdout: string; stderr: string }> {
    const stdin = input === undefined ? {} : { stdin: new Blob([input]).stream() };
    const process = await this.ctx.container!.exec(argv, { cwd: '/', ...stdin });
    const { exitCode, stdout, stderr } = await process.output();
    const text = (bytes: ArrayBuffer) => new TextDecoder().decode(bytes);
    return { exitCode, stdout: text(stdout), stderr: text(stderr) };
  }

  async shutDown(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    if (this.ctx.container!.running) await this.ctx.container!.destroy();
  }

  async checks(): Promise<number> {
    return this.#checks;
  }

  override async alarm(): Promise<void> {
    this.#checks += 1;
    if (this.ctx.container!.running) await this.ctx.storage.setAlarm(Date.now() + CHECK_MS);
  }
}

export class Sandbox extends withSnapshots(GuideSandbox) {}
