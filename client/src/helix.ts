// The Snapshotter interface of Helix Agents, over a client.

import type { SnapshotterClient } from './client.ts';
import type { SnapshotRef as OwnRef, Workspace } from './types.ts';

/** A snapshot, as applications keep it. */
export interface SnapshotRef {
  readonly providerId: string;
  readonly ref: unknown;
}

/** A workspace, as a provider resolves it. */
export interface WorkspaceRef {
  readonly providerId: string;
  readonly ref: unknown;
  readonly capabilities: { fs: boolean; shell: boolean; code: boolean; snapshot: boolean };
  readonly schemaVersion: number;
}

/** What every method takes. */
export interface SnapshotOptions {
  /** One that has fired already lets nothing start. */
  signal?: AbortSignal | undefined;
  /** Whether a snapshot of another lineage than the session's is accepted: no where absent. */
  allowCrossLineage?: boolean | undefined;
}

/** What `list` takes. */
export interface SnapshotListOptions extends SnapshotOptions {
  /** How many at most; all where absent. */
  limit?: number | undefined;
}

/** Snapshots of one workspace. `restore` and `branch` make a new one, and leave that which they came from as it is. */
export interface Snapshotter {
  snapshot(options?: SnapshotOptions): Promise<SnapshotRef>;
  restore(ref: SnapshotRef, options?: SnapshotOptions): Promise<WorkspaceRef>;
  branch?(ref: SnapshotRef, options?: SnapshotOptions): Promise<WorkspaceRef>;
  list?(options?: SnapshotListOptions): Promise<SnapshotRef[]>;
  delete?(ref: SnapshotRef, options?: SnapshotOptions): Promise<void>;
}

/** What is captured: a sandbox, or the workspace that persists by a name. */
export type Subject =
  /** `dir` is what is captured; `/workspace`, unless the deployment says otherwise, where absent. */
  { sandboxId: string; dir?: string } | { workspace: string; tenant?: string };

/** The snapshots of one sandbox or one named workspace, for Helix Agents. */
export class CloudflareSandboxSnapshotter implements Snapshotter {
  readonly #client: SnapshotterClient;
  readonly #subject: Subject;

  constructor(client: SnapshotterClient, subject: Subject) {
    this.#client = client;
    this.#subject = subject;
  }

  /** Fails now, and not at the first snapshot, where the deployment can't take one. Call it when a session starts. */
  async ready({ signal }: SnapshotOptions = {}): Promise<void> {
    const { sandboxId } = await this.#place(signal);
    // The tools for snapshots are told only where there can be some; telling them touches nothing.
    await this.#client.tools.list({ workspaces: [{ name: 'session', snapshot: true, sandboxId }], signal });
  }

  async snapshot({ signal }: SnapshotOptions = {}): Promise<SnapshotRef> {
    const { sandboxId, dir } = await this.#place(signal);
    return bare(await this.#client.snapshot({ sandboxId, ...(dir === undefined ? {} : { dir }), signal }));
  }

  async restore(ref: SnapshotRef, options: SnapshotOptions = {}): Promise<WorkspaceRef> {
    return workspace(await this.#client.restore(await this.#selection(ref, options)));
  }

  async branch(ref: SnapshotRef, options: SnapshotOptions = {}): Promise<WorkspaceRef> {
    return workspace(await this.#client.branch(await this.#selection(ref, options)));
  }

  /** Those that may be restorable, the newest first; of a named workspace, its former sandboxes' follow. */
  async list({ limit = Infinity, ...options }: SnapshotListOptions = {}): Promise<SnapshotRef[]> {
    const { signal, allowCrossLineage = false } = options;
    const { sandboxId: lineageScope, formerSandboxIds } = await this.#place(signal);
    const refs: SnapshotRef[] = [];
    for (const sandboxId of [lineageScope, ...formerSandboxIds]) {
      if (refs.length >= limit) break;
      for await (const { ref, restorable } of this.#client.snapshots({
        sandboxId,
        lineageScope,
        allowCrossLineage,
        signal,
      })) {
        if (ref && restorable !== 'no') refs.push(bare(ref));
        if (refs.length >= limit) break;
      }
    }
    return refs;
  }

  async delete(ref: SnapshotRef, options: SnapshotOptions = {}): Promise<void> {
    await this.#client.delete(await this.#selection(ref, options));
  }

  /** The snapshotter checks the ref itself: a forged or foreign one is refused there. */
  async #selection(ref: SnapshotRef, { signal, allowCrossLineage = false }: SnapshotOptions) {
    const { sandboxId: lineageScope } = await this.#place(signal);
    return { ref: ref as OwnRef, lineageScope, allowCrossLineage, signal };
  }

  /** Where the work is done now. */
  async #place(signal: AbortSignal | undefined): Promise<Place> {
    const subject = this.#subject;
    if ('sandboxId' in subject) return { ...subject, formerSandboxIds: [] };
    const { workspace: name, ...tenant } = subject;
    return this.#client.workspaces.getByName({ name, ...tenant, signal });
  }
}

/** A sandbox, what is captured of it, and which sandboxes it was before. */
type Place = Pick<Workspace, 'sandboxId' | 'formerSandboxIds'> & { dir?: string };

/** Exactly the ref: whoever keeps it may refuse more. */
function bare({ providerId, ref }: SnapshotRef): SnapshotRef {
  return { providerId, ref };
}

function workspace({ providerId, ref, capabilities, schemaVersion }: WorkspaceRef): WorkspaceRef {
  return { providerId, ref, capabilities, schemaVersion };
}
