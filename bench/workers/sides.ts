// The measured implementations behind one interface: direct SDK calls, the snapshotter, and the TypeScript snapshotter.

import { getSandbox, type Sandbox } from '@cloudflare/sandbox';

/** A snapshot, in the format of its implementation. */
export type Snapshot = any;

/** A measured implementation. */
export interface Side {
  /** Captures a sandbox. */
  snapshot(sandboxId: string, options?: object): Promise<Snapshot>;
  /** Restores a snapshot into a new sandbox, and returns its id. */
  restore(snapshot: Snapshot): Promise<string>;
  /** Deletes a snapshot, also with dependents. */
  remove(snapshot: Snapshot): Promise<void>;
  /** Lists up to `limit` snapshots of a sandbox, and returns their number. */
  list(sandboxId: string, limit: number): Promise<number>;
}

/** The service binding of a snapshotter. */
export type Service = Record<'snapshot' | 'restore' | 'delete' | 'list', (options: object) => Promise<any>>;

/** Direct calls of the SDK, as its documentation shows them, and of the bucket where the SDK has no method. */
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
