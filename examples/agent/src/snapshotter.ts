/** What the service binding SNAPSHOTTER answers. Refs are JSON: keep them anywhere, give them back unchanged. */
export interface Snapshotter {
  /** Captures a directory of a running sandbox. */
  snapshot(options: SnapshotOptions): Promise<SnapshotRef>;
  /** Makes a new sandbox, `<origin>-restored-<id>`, with the files of a snapshot. */
  restore(options: RestoreOptions): Promise<WorkspaceRef>;
  /** The same, to try something else: `<origin>-branch-<id>`. */
  branch(options: RestoreOptions): Promise<WorkspaceRef>;
}

export interface SnapshotOptions {
  /** As given to `getSandbox()`. */
  sandboxId: string;
  /** What to capture: `/workspace` where absent. */
  dir?: string;
  /** A name for people. */
  label?: string;
  /** Seconds for which it can be restored: a hundred years where absent. */
  ttl?: number;
  /** Paths to leave out, as mksquashfs takes them. */
  excludes?: string[];
  /** Whether to leave out what git ignores. */
  gitignore?: boolean;
  compression?: { format?: 'gzip' | 'lz4' | 'zstd'; threads?: number };
  /** Start a sandbox that is not running, and capture it as it starts. */
  wake?: boolean;
  /** A capture that is under way already will not do: what was written since would not be in it. */
  fresh?: boolean;
  signal?: AbortSignal;
}

export interface RestoreOptions {
  ref: SnapshotRef;
  signal?: AbortSignal;
}

export interface SnapshotRef {
  providerId: 'cloudflare-sandbox';
  ref: {
    schemaVersion: 1;
    snapshotId: string;
    originId: string;
    rootId: string;
    backup: { id: string; dir: string };
    createdAt: string;
  };
  /** Of the answer of `snapshot`: callers who ask for the same at the same time share one capture. */
  capture?: { beganAt: string; shared: boolean };
}

export interface WorkspaceRef {
  providerId: 'cloudflare-sandbox';
  /** `sandboxId` is what `getSandbox()` takes. */
  ref: { sandboxId: string; rootId: string };
  capabilities: { fs: boolean; shell: boolean; code: boolean; snapshot: boolean };
  schemaVersion: 1;
}
