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

  /** Starts a container that does not exist. Returns whether the platform reports that it runs. */
  async launchGone(): Promise<boolean> {
    const container = this.ctx.container!;
    container.start({ enableInternet: false, containerSnapshot: { id: 'gone' } });
    return container.running;
  }

  alarmTime(): Promise<number | null> {
    return this.ctx.storage.getAlarm();
  }

  /** Returns the time of the object's one alarm, which the mixin shares. */
  platformAlarmTime(): Promise<number | null> {
    const { storage } = this.ctx;
    return Object.getPrototypeOf(storage).getAlarm.call(storage);
  }

  /** Runs the alarm of the object, as the platform does. */
  async fire(): Promise<void> {
    await this.alarm();
  }

  /** Sets the alarm of the application. The first `failures` of its calls fail. */
  async setAlarm(time: number, failures = 0): Promise<void> {
    this.ctx.storage.kv.put('failures', failures);
    await this.ctx.storage.setAlarm(time);
  }

  /** The times that the application saw as its alarm while that ran. */
  async alarms(): Promise<(number | null)[]> {
    return this.ctx.storage.kv.get('alarms') ?? [];
  }

  override async alarm(): Promise<void> {
    const { kv } = this.ctx.storage;
    kv.put('alarms', [...(await this.alarms()), await this.ctx.storage.getAlarm()]);
    const failures = kv.get<number>('failures') ?? 0;
    kv.put('failures', failures - 1);
    if (failures > 0) throw new Error('The alarm of the application failed');
  }

  /** Changes what the object has stored, for states that only time brings about. */
  async store(key: string, value: unknown): Promise<void> {
    this.ctx.storage.kv.put(key, value);
  }

  async stored(key: string): Promise<unknown> {
    return this.ctx.storage.kv.get(key);
  }

  async labels(): Promise<Record<string, string> | undefined> {
    return (await this.ctx.container!.inspect())?.labels;
  }
}

export class Sandbox extends withSnapshots(OwnContainer, {
  env: () => ({ OWN: 'of the class' }),
  start: () => ({ image: 'debian:slim', labels: { own: '2' } }),
}) {}
