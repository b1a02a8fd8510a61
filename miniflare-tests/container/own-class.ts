// The caller, with the sandboxes of an application's own class: it starts its container itself, as Cloudflare's guide
// describes, and gets snapshots from the mixin.

import { DurableObject } from 'cloudflare:workers';

import { withFiles } from '../../client/src/container/files.ts';
import { withSnapshots } from '../../client/src/container/index.ts';
import { Caller, type Env } from '../caller/caller.ts';

export { Caller };
export { default } from '../caller/caller.ts';

class OwnContainer extends DurableObject<Env> {
  constructor(ctx: DurableObjectState, env: Env & { BACKUP_BUCKET: R2Bucket }) {
    const failingPart = () => ctx.storage.kv.get<number>('failingPart');
    super(ctx, Object.assign({}, env, { BACKUP_BUCKET: failing(env.BACKUP_BUCKET, failingPart) }));
  }

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

const Snapshots = withSnapshots(OwnContainer, {
  env: () => ({ OWN: 'of the class' }),
  start: () => ({ image: 'debian:slim', labels: { own: '2' } }),
});

export class Sandbox extends withFiles(Snapshots) {
  /** Writes random bytes, which no text has, as a stream, and reads them as one. Returns whether they are the same. */
  async copyBytes(path: string, megabytes: number): Promise<boolean> {
    return (await this.#write(path, megabytes)) === (await this.hashOf(path));
  }

  async #write(path: string, megabytes: number): Promise<string> {
    const [written, hashed] = [new TransformStream(), new crypto.DigestStream('SHA-256')];
    const writers = [written.writable.getWriter(), hashed.getWriter()];
    const writing = this.writeFile(path, written.readable);
    for (let left = megabytes * 16; left > 0; left -= 1) {
      const chunk = crypto.getRandomValues(new Uint8Array(65_536));
      for (const writer of writers) await writer.write(chunk);
    }
    for (const writer of writers) await writer.close();
    await writing;
    return toHex(await hashed.digest);
  }

  /** Returns the SHA-256 of a file, read as a stream. */
  async hashOf(path: string): Promise<string> {
    const hash = new crypto.DigestStream('SHA-256');
    await (await this.readFileStream(path)).pipeTo(hash);
    return toHex(await hash.digest);
  }

  /** Writes bytes in one piece. */
  async writeBytes(path: string, ...bytes: number[]): Promise<void> {
    await this.writeFile(path, new Uint8Array(bytes));
  }

  /** Deletes a directory: `getSandbox` of the SDK 0.12 passes no options of `deleteFile` on. */
  async deleteTree(path: string): Promise<void> {
    await this.deleteFile(path, { recursive: true });
  }

  /** Returns what a session of the sandbox lists. */
  async listInSession(path: string): Promise<string[]> {
    const session = (await this.getSession('one')) as unknown as this;
    return (await session.listFiles(path)).files.map(({ name }) => name).sort();
  }
}

/** Returns a bucket that fails to store a part of an upload. */
function failing(bucket: R2Bucket, part: () => number | undefined): R2Bucket {
  const upload = async (key: string) => {
    const own = await bucket.createMultipartUpload(key);
    const uploadPart = async (number: number, content: Uint8Array) => {
      if (number === part()) throw new Error('R2 fails');
      return own.uploadPart(number, content);
    };
    return { uploadId: own.uploadId, uploadPart, complete: (parts: R2UploadedPart[]) => own.complete(parts) };
  };
  return new Proxy(bucket, {
    get: (target, name: keyof R2Bucket) =>
      name === 'createMultipartUpload' ? upload : (target[name] as Function).bind(target),
  });
}

const toHex = (digest: ArrayBuffer) =>
  Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
