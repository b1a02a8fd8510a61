// The `Snapshotter` interface of Helix Agents, implemented with a client.

import { requireOptions } from './argument-checks.ts';
import type { SnapshotterClient } from './client.ts';
import type { SnapshotRef as OwnRef, Workspace } from './types.ts';

/** A reference to a snapshot, as applications store it. */
export interface SnapshotRef {
  readonly providerId: string;
  readonly ref: unknown;
}

/** A reference to a workspace, as a provider resolves it. */
export interface WorkspaceRef {
  readonly providerId: string;
  readonly ref: unknown;
  readonly capabilities: { fs: boolean; shell: boolean; code: boolean; snapshot: boolean };
  readonly schemaVersion: number;
}

/** The options of every method. */
export interface SnapshotOptions {
  /** Aborts the call. If the signal has already fired, nothing is sent. */
  signal?: AbortSignal | undefined;
  /** Whether to allow snapshots of other lineages; `false` if absent. */
  allowCrossLineage?: boolean | undefined;
}

/** The options of `list`. */
export interface SnapshotListOptions extends SnapshotOptions {
  /** The maximum number of snapshots; unlimited if absent. */
  limit?: number | undefined;
}

/** The snapshots of one workspace. `restore` and `branch` create a new workspace, and do not change the existing one. */
export interface Snapshotter {
  snapshot(options?: SnapshotOptions): Promise<SnapshotRef>;
  restore(ref: SnapshotRef, options?: SnapshotOptions): Promise<WorkspaceRef>;
  branch?(ref: SnapshotRef, options?: SnapshotOptions): Promise<WorkspaceRef>;
  list?(options?: SnapshotListOptions): Promise<SnapshotRef[]>;
  delete?(ref: SnapshotRef, options?: SnapshotOptions): Promise<void>;
}

/** The captured workspace: a sandbox, or a named workspace. */
export type Subject =
  /** `dir` is the captured directory; the deployment's default directory, usually `/workspace`, if absent. */
  { sandboxId: string; dir?: string } | { workspace: string; tenant?: string };

/** The settings of a `CloudflareSandboxSnapshotter`. */
export interface SnapshotterSettings {
  /** Whether it has the method `branch`; `true` if absent. Without the method, the framework offers no tool for it. */
  branch?: boolean;
}

/** The snapshots of one sandbox or one named workspace, for Helix Agents. */
export class CloudflareSandboxSnapshotter implements Snapshotter {
  readonly #client: SnapshotterClient;
  readonly #subject: Subject;

  constructor(client: SnapshotterClient, subject: Subject, settings: SnapshotterSettings = {}) {
    const where = 'new CloudflareSandboxSnapshotter()';
    requireOptions(where, client, () => 'a SnapshotterClient as the first argument');
    requireOptions(where, subject, () => '{ sandboxId: … } or { workspace: … } as the second argument');
    requireOptions(where, settings, () => '{ branch: … } as the third argument, or none');
    const { branch = true } = settings;
    this.#client = client;
    this.#subject = subject;
    if (!branch) Object.defineProperty(this, 'branch', { value: undefined });
  }

  /** Verifies that the deployment can take snapshots. Call it when a session starts, before the first snapshot. */
  async ready({ signal }: SnapshotOptions = {}): Promise<void> {
    const { sandboxId } = await this.#resolve(signal);
    // The list of tools for snapshots fails if the deployment cannot take snapshots, and has no side effects.
    await this.#client.tools.list({ workspaces: [{ name: 'session', snapshot: true, sandboxId }], signal });
  }

  async snapshot({ signal }: SnapshotOptions = {}): Promise<SnapshotRef> {
    const { sandboxId, dir } = await this.#resolve(signal);
    return strictRef(
      await this.#client.snapshot({ sandboxId, ...(dir === undefined ? {} : { dir }), signal }),
    );
  }

  async restore(ref: SnapshotRef, options: SnapshotOptions = {}): Promise<WorkspaceRef> {
    return strictWorkspace(await this.#client.restore(await this.#selection(ref, options)));
  }

  async branch(ref: SnapshotRef, options: SnapshotOptions = {}): Promise<WorkspaceRef> {
    return strictWorkspace(await this.#client.branch(await this.#selection(ref, options)));
  }

  /** Returns the snapshots that may be restorable, newest first. Those of former sandboxes of a named workspace follow. */
  async list({ limit = Infinity, ...options }: SnapshotListOptions = {}): Promise<SnapshotRef[]> {
    const { signal, allowCrossLineage = false } = options;
    const { sandboxId: lineageScope, formerSandboxIds } = await this.#resolve(signal);
    const refs: SnapshotRef[] = [];
    for (const sandboxId of [lineageScope, ...formerSandboxIds]) {
      if (refs.length >= limit) break;
      for await (const { ref, restorable } of this.#client.snapshots({
        sandboxId,
        lineageScope,
        allowCrossLineage,
        signal,
      })) {
        if (ref && restorable !== 'no') refs.push(strictRef(ref));
        if (refs.length >= limit) break;
      }
    }
    return refs;
  }

  async delete(ref: SnapshotRef, options: SnapshotOptions = {}): Promise<void> {
    await this.#client.delete(await this.#selection(ref, options));
  }

  /** Returns the selection of a snapshot. The snapshotter verifies the ref. */
  async #selection(ref: SnapshotRef, { signal, allowCrossLineage = false }: SnapshotOptions) {
    const { sandboxId: lineageScope } = await this.#resolve(signal);
    return { ref: ref as OwnRef, lineageScope, allowCrossLineage, signal };
  }

  /** Returns the present sandbox. */
  async #resolve(signal: AbortSignal | undefined): Promise<ResolvedSubject> {
    const subject = this.#subject;
    if ('sandboxId' in subject) return { ...subject, formerSandboxIds: [] };
    const { workspace: name, ...tenant } = subject;
    return this.#client.workspaces.getByName({ name, ...tenant, signal });
  }
}

/** The present sandbox, its captured directory, and the former sandboxes of the workspace. */
type ResolvedSubject = Pick<Workspace, 'sandboxId' | 'formerSandboxIds'> & { dir?: string };

/** Returns the ref without further fields, which an application may refuse. */
function strictRef({ providerId, ref }: SnapshotRef): SnapshotRef {
  return { providerId, ref };
}

function strictWorkspace({ providerId, ref, capabilities, schemaVersion }: WorkspaceRef): WorkspaceRef {
  return { providerId, ref, capabilities, schemaVersion };
}
