// Who is measured, each by the same methods: the SDK called directly, the snapshotter, and the one in TypeScript.

import { getSandbox, type Sandbox } from '@cloudflare/sandbox';

/** A snapshot, in the words of whoever took it. */
export type Snapshot = any;

/** How one of them is called. */
export interface Side {
  /** Captures a sandbox. */
  snapshot(sandboxId: string, options?: object): Promise<Snapshot>;
  /** Makes a new sandbox, and answers its id. */
  restore(snapshot: Snapshot): Promise<string>;
  /** Deletes a snapshot, whoever needs it. */
  remove(snapshot: Snapshot): Promise<void>;
  /** Shows so many snapshots of a sandbox, and answers how many there are. */
  list(sandboxId: string, limit: number): Promise<number>;
}

/** What the bindings of the snapshotters answer to. */
export type Service = Record<'snapshot' | 'restore' | 'delete' | 'list', (options: object) => Promise<any>>;

/** The methods of the SDK, called as its documentation has it; the bucket is looked into where the SDK has no method. */
export class Direct implements Side {
  #sandboxes: DurableObjectNamespace<Sandbox>;
  #bucket: R2Bucket;
  #options: { dir: string; localBucket?: true };

  constructor(sandboxes: DurableObjectNamespace<Sandbox>, bucket: R2Bucket, isLocal: boolean) {
    this.#sandboxes = sandboxes;
    this.#bucket = bucket;
    this.#options = { dir: '/workspace', ...(isLocal && { localBucket: true }) };
  }

  snapshot(sandboxId: string): Promise<Snapshot> {
    return getSandbox(this.#sandboxes, sandboxId).createBackup(this.#options);
  }

  async restore(snapshot: Snapshot): Promise<string> {
    const sandboxId = `direct-${crypto.randomUUID().slice(0, 8)}`;
    await getSandbox(this.#sandboxes, sandboxId).restoreBackup(snapshot);
    return sandboxId;
  }

  async remove({ id }: Snapshot): Promise<void> {
    await this.#bucket.delete([`backups/${id}/data.sqsh`, `backups/${id}/meta.json`]);
  }

  async list(_: string, limit: number): Promise<number> {
    const { objects } = await this.#bucket.list({ prefix: 'backups/', limit });
    return objects.length;
  }
}

/** A snapshotter behind a service binding. */
export class Snapshotter implements Side {
  #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  snapshot(sandboxId: string, options: object = {}): Promise<Snapshot> {
    return this.#service.snapshot({ sandboxId, ...options });
  }

  async restore(ref: Snapshot): Promise<string> {
    return (await this.#service.restore({ ref })).ref.sandboxId;
  }

  async remove(ref: Snapshot): Promise<void> {
    await this.#service.delete({ ref, force: true });
  }

  async list(sandboxId: string, limit: number): Promise<number> {
    return (await this.#service.list({ sandboxId, limit, check: false })).snapshots.length;
  }
}
