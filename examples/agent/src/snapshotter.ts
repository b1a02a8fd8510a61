import type { Workspaces } from './workspaces.ts';

/**
 * What the service binding SNAPSHOTTER answers. Refs are JSON: keep them anywhere, give them back unchanged.
 *
 * Every operation takes a `signal` too, and fails with an error that has the members of {@link Problem}.
 */
export interface Snapshotter {
  /** Workspaces that persist by name. */
  readonly workspaces: Workspaces;
  /** Captures a directory of a running sandbox. */
  snapshot(options: SnapshotOptions): Promise<SnapshotRef>;
  /** Makes a new sandbox, `<origin>-restored-<id>`, with the files of a snapshot. */
  restore(options: RestoreOptions): Promise<WorkspaceRef>;
  /** The same, to try something else: `<origin>-branch-<id>`. */
  branch(options: RestoreOptions): Promise<WorkspaceRef>;
  /** A page of the snapshots of a sandbox, the newest first. */
  list(options: ListOptions): Promise<Page>;
  /** One snapshot. */
  get(options: SnapshotSelection): Promise<Summary>;
  /** Everything that is known about one snapshot. */
  manifest(options: SnapshotSelection): Promise<Manifest>;
  /** Checks a snapshot in R2. No container is started. */
  verify(options: SnapshotSelection): Promise<Verification>;
  /** Gives a snapshot another label. */
  label(options: SnapshotSelection & { newLabel: string; replace?: boolean }): Promise<Summary>;
  /** Keeps a snapshot whatever the policy says. */
  pin(options: SnapshotSelection): Promise<Summary>;
  unpin(options: SnapshotSelection): Promise<Summary>;
  /** Deletes a snapshot. One that others need, or that is pinned, only goes by `force`. */
  delete(options: SnapshotSelection & { force?: boolean }): Promise<{ snapshotId: string; removed: boolean }>;
  /** Takes in a backup that the SDK made directly. */
  import(options: ImportOptions): Promise<SnapshotRef>;
  /** The tree of sandboxes and snapshots that a sandbox belongs to. */
  lineage(options: WorkspaceOptions): Promise<Tree>;
  /** The policy of a sandbox, and what it means for each of its snapshots now. */
  retention(options: WorkspaceOptions): Promise<Retention>;
  /** Gives a sandbox another policy, which is applied at once. */
  setRetention(options: { sandboxId: string; policy: Policy; dryRun?: boolean }): Promise<Retention>;
  /** Lets go what the policy says. */
  applyRetention(options: { sandboxId: string; dryRun?: boolean }): Promise<Retention>;
  /** Signs refs with a new key from now on. The one before is still accepted. */
  rotateKey(options: WorkspaceOptions): Promise<{ key: number; previous?: number }>;
  /** Deletes what carries the snapshotter's mark in R2 and belongs to no sandbox's snapshots. */
  sweep(options: { dryRun?: boolean; graceSeconds?: number }): Promise<Sweep>;
}

/** Who asks: what belongs to another lineage than the session's is refused. */
export interface Session {
  /** The sandbox that the caller works in. */
  session?: string;
  allowCrossSession?: boolean;
}

/** One snapshot: by its ref, its id or its label. */
export type Selection = Session &
  ({ ref: SnapshotRef } | { sandboxId: string; snapshotId: string } | { sandboxId: string; label: string });

/** An operation on one snapshot. */
export type SnapshotSelection = Selection & { signal?: AbortSignal };

export type WorkspaceOptions = Session & { sandboxId: string };

export interface SnapshotOptions {
  /** As given to `getSandbox()`. */
  sandboxId: string;
  /** What to capture: `/workspace` where absent. */
  dir?: string;
  /** A name for people, one of its kind in the sandbox; one by the time where absent. */
  label?: string;
  /** Take the label from another snapshot that has it. */
  replace?: boolean;
  /** Seconds from its last use to its end, 0 for never; what the policy says where absent. */
  expirationSeconds?: number;
  /** Paths to leave out, as mksquashfs takes them. */
  excludes?: string[];
  /** Whether to leave out what git ignores. */
  gitignore?: boolean;
  compression?: { format?: 'gzip' | 'lz4' | 'zstd'; threads?: number };
  /** Start a sandbox that is not running, and capture it as it starts. */
  wake?: boolean;
  /** A capture that is under way already will not do: what was written since would not be in it. */
  fresh?: boolean;
  /** The same key gets the same answer, for two days. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** With an `idempotencyKey` the same call gets the same sandbox. */
export type RestoreOptions = SnapshotSelection & { idempotencyKey?: string };

export interface ListOptions extends Session {
  sandboxId: string;
  /** Of the page before. */
  cursor?: string;
  /** 20 where absent, 100 at most. */
  limit?: number;
  labelPrefix?: string;
  /** Whether R2 is looked into, for what can be restored now: yes where absent. */
  check?: boolean;
}

export interface ImportOptions {
  /** The sandbox that it was made of. */
  sandboxId: string;
  /** What `createBackup` answered. */
  backup: { id: string; dir: string };
  label?: string;
  replace?: boolean;
  expirationSeconds?: number;
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
    signature: string;
  };
  /** Of the answer of `snapshot`: callers who ask for the same at the same time share one capture. */
  capture?: { label: string; sizeBytes: number; beganAt: string; shared: boolean };
}

export interface WorkspaceRef {
  providerId: 'cloudflare-sandbox';
  /** `sandboxId` is what `getSandbox()` takes. */
  ref: { sandboxId: string; rootId: string };
  capabilities: { fs: boolean; shell: boolean; code: boolean; snapshot: boolean };
  schemaVersion: 1;
}

export type SnapshotState = 'making' | 'ready' | 'deleting' | 'deleted';

/** A snapshot, as lists show it. Times are RFC 3339. */
export interface Summary {
  snapshotId: string;
  label: string;
  state: SnapshotState;
  dir: string;
  createdAt: string;
  ageSeconds: number;
  sizeBytes?: number;
  /** When it was taken or last restored. */
  lastUsedAt: string;
  expiresAt?: string;
  pinned: boolean;
  /** The sandboxes that need it. */
  holders: string[];
  restorable: 'yes' | 'no' | 'unknown';
  /** Why it isn't yes. */
  why?: string;
  checkedAt?: string;
  ref?: SnapshotRef;
}

export interface Page {
  snapshots: Summary[];
  /** Where the next page begins, if there is one. */
  cursor?: string;
}

export interface Manifest extends Summary {
  schemaVersion: 1;
  originId: string;
  rootId: string;
  parent?: { originId: string; snapshotId: string };
  captureBeganAt: string;
  excludes: string[];
  gitignore: boolean;
  compression?: { format?: string; threads?: number };
  expirationSeconds?: number;
  usableUntil?: string;
  checksum?: string;
  /** The keys in R2. */
  objects: string[];
  imported: boolean;
  /** The sandboxes that were made from it. */
  derived: { sandboxId: string; lineage: Lineage; beganAt: string; holds: boolean }[];
  ended?: { at: string; reason: string };
}

export interface Verification {
  snapshotId: string;
  ok: boolean;
  /** `ok` is absent where there is nothing to compare with. */
  checks: { name: string; ok?: boolean; detail: string }[];
  verifiedAt: string;
}

export type Lineage = 'restored' | 'branch';

/** A sandbox in a tree, and what grows from it. */
export interface Branch {
  sandboxId: string;
  lineage?: Lineage;
  snapshots: {
    snapshotId: string;
    label?: string;
    state: SnapshotState;
    createdAt?: string;
    sizeBytes?: number;
    pinned: boolean;
    expiresAt?: string;
    derived: Branch[];
  }[];
  problem?: string;
}

export interface Tree {
  root: Branch;
  sandboxes: number;
  truncated: boolean;
}

/** How long the snapshots of a sandbox are kept. The newest that can be restored always stays. */
export interface Policy {
  keepLast?: { count: number; expirationSeconds?: number; deleteEvicted?: boolean };
  /** From the last use; 0 is for ever. 30 days where absent. */
  expirationSeconds?: number;
  keepDaily?: number;
  keepWeekly?: number;
}

export interface Retention {
  policy: Policy;
  decisions: {
    snapshotId: string;
    label: string;
    createdAt: string;
    keep: boolean;
    reasons: string[];
    expiresAt?: string;
  }[];
  letGo: number;
  dryRun: boolean;
}

/** What a sweep of the bucket came to, in backups. */
export interface Sweep {
  seen: number;
  young: number;
  unmarked: number;
  owned: number;
  swept: number;
  failed: number;
  dryRun: boolean;
}

/** What an error of an operation carries. */
export interface Problem {
  /** Stable, for programs; the message begins with it. */
  code: string;
  kind: string;
  remediation: string;
  /** Whether the same call may succeed later. */
  retryable: boolean;
  /** In the log line of the call too. */
  correlationId: string;
}
