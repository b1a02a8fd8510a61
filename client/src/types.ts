// Made by `npm run types` from the types of the Worker, in Rust. Edit those.

/** The operations by name: what each takes, and what it answers. */
export interface Operations {
  /** Captures a directory of a running sandbox. */
  snapshot: { options: SnapshotOptions; answer: TakenSnapshot };
  /** Makes a new sandbox, `<origin>-restored-<id>`, with the files of a snapshot. */
  restore: { options: RestoreOptions; answer: WorkspaceRef };
  /** Makes a new sandbox, `<origin>-branch-<id>`, with the files of a snapshot, to try something else. */
  branch: { options: RestoreOptions; answer: WorkspaceRef };
  /** Lists the snapshots of a sandbox, the newest first. */
  list: { options: ListOptions; answer: Page };
  /** Tells of one snapshot what lists show of it. */
  get: { options: Selection; answer: Summary };
  /** Tells everything that is known about one snapshot. */
  manifest: { options: Selection; answer: Manifest };
  /** Checks in R2 whether a snapshot can be restored. No container is started. */
  verify: { options: Selection; answer: Verification };
  /** Gives a snapshot another label. */
  label: { options: LabelOptions; answer: Summary };
  /** Keeps a snapshot whatever the policy says. */
  pin: { options: Selection; answer: Summary };
  /** Leaves a snapshot to the policy again. */
  unpin: { options: Selection; answer: Summary };
  /** Deletes a snapshot. One that is pinned, or that others need, goes by `force` alone. */
  delete: { options: DeleteOptions; answer: Deletion };
  /** Takes in a backup that the SDK made directly. */
  import: { options: ImportOptions; answer: TakenSnapshot };
  /** Shows the tree of sandboxes and snapshots that a sandbox belongs to. */
  lineage: { options: LineageOptions; answer: Tree };
  /** Tells the policy of a sandbox, and what it means for each of its snapshots now. */
  retention: { options: SandboxOptions; answer: Retention };
  /** Gives a sandbox another policy, which is applied at once. */
  setRetention: { options: SetRetentionOptions; answer: Retention };
  /** Removes the snapshots that the policy no longer keeps. */
  applyRetention: { options: ApplyRetentionOptions; answer: Retention };
  /** Signs the refs of a sandbox with a new key from now on. The one before is still accepted. */
  rotateKey: { options: SandboxOptions; answer: KeyRotation };
  /** Deletes what carries the snapshotter's mark in R2 and belongs to no sandbox's snapshots. */
  sweep: { options: SweepOptions; answer: Sweep };
  /** Makes a workspace; `NAME_TAKEN` where there is one of the name. */
  'workspaces/create': { options: CreateWorkspaceOptions; answer: StartedWorkspace };
  /** Starts a workspace, or makes it where there is none. Of one that exists, only the fingerprint is changed. */
  'workspaces/getOrCreate': { options: GetOrCreateWorkspaceOptions; answer: StartedWorkspace };
  /** Tells what is known of a workspace. Starts nothing. */
  'workspaces/getByName': { options: WorkspaceAddress; answer: Workspace };
  /** Lists a tenant's workspaces by their names. The list may lag a little behind. */
  'workspaces/list': { options: ListWorkspacesOptions; answer: WorkspacePage };
  /** Gives a workspace a sandbox that runs with its files in place. */
  'workspaces/start': { options: StartWorkspaceOptions; answer: StartedWorkspace };
  /** Takes a snapshot, and ends the sandbox. */
  'workspaces/stop': { options: WorkspaceAddress; answer: StoppedWorkspace };
  /** Makes other workspaces that begin where this one is now, all of them from one snapshot. */
  'workspaces/fork': { options: ForkWorkspaceOptions; answer: ForkedWorkspaces };
  /** Changes how a workspace is kept, or goes back to an earlier snapshot, in a new sandbox. */
  'workspaces/update': { options: UpdateWorkspaceOptions; answer: Workspace };
  /** Ends a workspace, removes its snapshots and frees its name. */
  'workspaces/delete': { options: WorkspaceAddress; answer: DeletedWorkspace };
  /** Keeps the files of a running sandbox as a checkpoint in it. */
  'checkpoints/create': { options: CreateCheckpointOptions; answer: CreatedCheckpoint };
  /** Lists the checkpoints in a running sandbox, the newest first. */
  'checkpoints/list': { options: ListCheckpointsOptions; answer: Checkpoints };
  /** Puts the files of a running sandbox back as they were at a checkpoint. */
  'checkpoints/restore': { options: RestoreCheckpointOptions; answer: RestoredCheckpoint };
  /** Compares the files of a running sandbox with a checkpoint. */
  'checkpoints/diff': { options: DiffCheckpointOptions; answer: CheckpointDiff };
  /** Tells which tools a language model can be given. */
  'tools/list': { options: Toolset; answer: Tools };
  /** Calls a tool, as a language model asked for it. */
  'tools/call': { options: CallToolOptions; answer: ToolResult };
  /** Makes a token for `/mcp` that gives some tools and nothing else. */
  'tools/grant': { options: GrantToolsOptions; answer: ToolGrant };
  /** Looks whether the deployment is fit for work. */
  health: { options: HealthOptions; answer: Health };
}

/** The result of a snapshot call: the ref, and details of the capture. */
export interface TakenSnapshot extends SnapshotRef {
  /** Details of the capture. */
  capture: Capture;
}

/** A reference to a snapshot, for applications to store and pass back. */
export interface SnapshotRef {
  /** The provider. */
  providerId: 'cloudflare-sandbox';
  /** The payload. Pass it back unchanged. */
  ref: SnapshotPayload;
}

/** The payload of a snapshot ref, which only this provider interprets. */
export interface SnapshotPayload {
  /** The version of this format. */
  schemaVersion: 1;
  /** The id of the snapshot. */
  snapshotId: string;
  /** The sandbox that it was taken of. */
  originId: string;
  /** The first sandbox of the lineage. */
  rootId: string;
  /** The SDK's handle of the backup. */
  backup: BackupHandle;
  /** When the backup was stored. */
  createdAt: string;
  /** The signature, which reveals an altered ref. */
  signature: string;
}

/** The handle that `createBackup` returned. It is opaque: stored and passed back without changes. */
export interface BackupHandle {
  /** The id that the SDK gave the backup. */
  id: string;
  /** The directory that the backup is restored into. */
  dir: string;
}

/** How a snapshot was captured. */
export interface Capture {
  /** The label of the snapshot. */
  label: string;
  /** The size of its archive, in bytes. */
  sizeBytes: number;
  /** When the capture began. Files that were written later may be missing. */
  beganAt: string;
  /** Whether the capture was shared with another caller's request. */
  shared: boolean;
  /**
   * Whether this is a rescue snapshot: one of a container that was not the sandbox's own. It never
   * counts as the newest snapshot, and retention ignores it.
   */
  rescue?: boolean;
  /**
   * Present if the snapshot is so much smaller than the previous one that files may be missing by
   * mistake. Retention protects the previous snapshot until the next snapshot, or for 7 days.
   */
  suspect?: SizeDrop;
}

/** The sizes of a snapshot and of the previous one, which was much larger. */
export interface SizeDrop {
  /** The size of the previous archive, in bytes. */
  before: number;
  /** The size of this archive, in bytes. */
  after: number;
}

/** The request to take a snapshot of a sandbox. */
export interface SnapshotOptions extends LineageScope {
  /** The sandbox to capture. */
  sandboxId: string;
  /**
   * Whether to adopt the present files as the sandbox's own after its container was replaced: this call
   * captures them in a rescue snapshot, and the next snapshot is a regular one again. The Worker refuses
   * to adopt an empty directory.
   * @default false
   */
  adopt?: boolean;
  /** The compression of the archive. */
  compression?: Compression;
  /** The directory to capture; the deployment's default directory if absent. */
  dir?: string;
  /**
   * The patterns of names to exclude, at any depth: `node_modules`, `*.log`. The Worker refuses patterns
   * with a slash.
   */
  excludes?: string[];
  /**
   * The expiration, in seconds after the last use. 0 means never; if absent, the workspace's policy
   * applies.
   */
  expirationSeconds?: number;
  /**
   * Whether to start a new capture even if one is already in progress. A capture in progress may miss
   * files that the caller has written since it began.
   * @default false
   */
  fresh?: boolean;
  /**
   * Whether to exclude the files that git ignores. The Worker refuses it if ignored files are in a
   * subdirectory.
   */
  gitignore?: boolean;
  /** An idempotency key: a repeated call with the same key gets the same answer. */
  idempotencyKey?: string;
  /** The label of the snapshot, a name for people; derived from the time if absent. */
  label?: string;
  /**
   * Whether to take the label from another snapshot that has it.
   * @default false
   */
  replace?: boolean;
  /**
   * Whether to start a sandbox that is not running, and to capture it as it starts, without any of its
   * files. If the ledger already knows the sandbox, the result is a rescue snapshot.
   * @default false
   */
  wake?: boolean;
}

/** The lineage that the caller works in. The Worker refuses sandboxes and snapshots of other lineages. */
export interface LineageScope {
  /**
   * Whether to allow sandboxes and snapshots of other lineages.
   * @default false
   */
  allowCrossLineage?: boolean;
  /** The id of a sandbox in the caller's lineage. If absent, the call is not restricted to a lineage. */
  lineageScope?: string;
}

/** How an archive is compressed. */
export interface Compression {
  /**
   * The algorithm.
   *
   * - `gzip`: Available everywhere.
   * - `lz4`: The fastest algorithm.
   * - `zstd`: The smallest archives at a moderate speed.
   */
  format?: 'gzip' | 'lz4' | 'zstd';
  /** The number of threads that compress it. */
  threads?: number;
}

/** A reference to a sandbox as a workspace, for applications to store and pass back. */
export interface WorkspaceRef {
  /** The provider. */
  providerId: 'cloudflare-sandbox';
  /** The payload. Pass it back unchanged. */
  ref: WorkspacePayload;
  /** The capabilities of the workspace. */
  capabilities: Capabilities;
  /** The version of this format. */
  schemaVersion: 1;
}

/** The capabilities of a workspace. */
export interface Capabilities {
  /** Files can be read and written. */
  fs: boolean;
  /** Commands can be run. */
  shell: boolean;
  /** Code can be run. */
  code: boolean;
  /** Snapshots can be taken. */
  snapshot: boolean;
}

/** The payload of a workspace ref, which only this provider interprets. */
export interface WorkspacePayload {
  /** The id of the sandbox, which the application passes to `getSandbox()`. */
  sandboxId: string;
  /** The first sandbox of the lineage. */
  rootId: string;
}

/** The request to restore a snapshot or to branch from it. */
export type RestoreOptions = Selection & {
  /** An idempotency key: a repeated call with the same key gets the same answer. */
  idempotencyKey?: string;
};

/** The selection of a snapshot, with the lineage scope of the caller. */
export type Selection = LineageScope &
  (
    | {
        /** The ref of the snapshot. */
        ref: SnapshotRef;
      }
    | {
        /** The sandbox that the snapshot was taken of. */
        sandboxId: string;
        /** The id of the snapshot. */
        snapshotId: string;
      }
    | {
        /** The sandbox that the snapshot was taken of. */
        sandboxId: string;
        /** The label of the snapshot. */
        label: string;
      }
  );

/** A page of a list of snapshots, newest first. */
export interface Page {
  /** The snapshots. */
  snapshots: Summary[];
  /** The cursor of the next page; absent on the last page. */
  cursor?: string;
}

/** A snapshot, as lists show it. */
export interface Summary {
  /** The id of the snapshot. */
  snapshotId: string;
  /** Its label. */
  label: string;
  /** Its state. */
  state: SnapshotState;
  /** The directory that it contains. */
  dir: string;
  /** When it was taken; while it is being taken, when the capture began. */
  createdAt: string;
  /** Its age, in seconds. */
  ageSeconds: number;
  /** When it was taken or last restored. */
  lastUsedAt: string;
  /** Whether it is pinned: the retention policy never removes it. */
  pinned: boolean;
  /** The workspaces that depend on it. */
  dependents: string[];
  /**
   * Whether it can be restored.
   *
   * - `yes`: It can be restored, according to all checks so far.
   * - `no`: It cannot be restored.
   * - `unknown`: R2 did not respond.
   */
  restorable: 'yes' | 'no' | 'unknown';
  /** When R2 was last checked for it; absent if it was not checked. */
  checkedAt?: string;
  /** When it expires; absent if it has no expiration time. */
  expiresAt?: string;
  /** Its ref; absent while it is being taken. */
  ref?: SnapshotRef;
  /** Whether it is a rescue snapshot: one of a container that was not the sandbox's own. */
  rescue?: boolean;
  /** The size of its archive, in bytes; absent while it is being taken. */
  sizeBytes?: number;
  /**
   * The size of the previous snapshot and of this one; present if this one is so much smaller that files
   * may be missing by mistake.
   */
  suspect?: SizeDrop;
  /** Why it cannot be restored, or why that is unknown; absent if it can. */
  why?: string;
}

/**
 * The state of a snapshot.
 *
 * - `creating`: The snapshot is being created.
 * - `ready`: The snapshot was created and has not been removed.
 * - `deleting`: The snapshot is being deleted.
 * - `deleted`: The snapshot is deleted.
 */
export type SnapshotState = 'creating' | 'ready' | 'deleting' | 'deleted';

/** The request for a page of a workspace's snapshots, newest first. */
export interface ListOptions extends LineageScope {
  /** The sandbox that the snapshots were taken of. */
  sandboxId: string;
  /**
   * Whether to check in R2 which snapshots can be restored now; otherwise the answer contains the
   * results of the last check.
   * @default true
   */
  check?: boolean;
  /** The cursor of the previous page; the page begins with the newest snapshot if absent. */
  cursor?: string;
  /** The prefix that the labels of the snapshots must have. */
  labelPrefix?: string;
  /**
   * The maximum number of snapshots on the page.
   * @default 20
   */
  limit?: number;
}

/** All details of a snapshot. */
export interface Manifest extends Summary {
  /** The version of this format: 1. */
  schemaVersion: 1;
  /** The sandbox that the snapshot was taken of. */
  originId: string;
  /** The first sandbox of the lineage. */
  rootId: string;
  /** When the capture began. Files that were written later may be missing. */
  captureBeganAt: string;
  /** The patterns of paths that were left out. */
  excludes: string[];
  /** Whether files that git ignores were left out. */
  gitignore: boolean;
  /** The keys of the snapshot's objects in R2. */
  objects: string[];
  /** Whether the snapshot was added by `import`. */
  imported: boolean;
  /** The sandboxes that were made from the snapshot. */
  derived: DerivedSandbox[];
  /** R2's checksum of the archive at the time of the capture. */
  checksum?: string;
  /** How the archive is compressed, if the request set it. */
  compression?: Compression;
  /** The snapshot's own expiration, in seconds after its last use; 0 is never. */
  expirationSeconds?: number;
  /** The snapshot that the sandbox itself was made from. */
  parent?: ParentSnapshot;
  /** When and why the snapshot was removed, if it was. */
  removal?: Removal;
  /** The time until which the SDK restores the backup. */
  usableUntil?: string;
}

/** A sandbox that was made from a snapshot. */
export interface DerivedSandbox {
  /** The id of the sandbox. */
  sandboxId: string;
  /** Whether it was restored or branched. */
  lineage: DerivationKind;
  /** When its creation began. */
  beganAt: string;
  /** Whether it depends on the snapshot. */
  needsSnapshot: boolean;
}

/**
 * How a sandbox was made from a snapshot.
 *
 * - `restored`: Restored, to recover an earlier state.
 * - `branch`: Branched, to continue separately from the same state.
 */
export type DerivationKind = 'restored' | 'branch';

/** The snapshot that a sandbox was made from. */
export interface ParentSnapshot {
  /** The sandbox that the snapshot was taken of. */
  originId: string;
  /** The id of the snapshot. */
  snapshotId: string;
}

/** When and why a snapshot was removed. */
export interface Removal {
  /** When it was removed. */
  at: string;
  /** Why it was removed. */
  reason: string;
}

/** The result of checks of a backup in R2, which start no container. */
export interface Verification {
  /** The id of the snapshot. */
  snapshotId: string;
  /** Whether no check failed. */
  ok: boolean;
  /** The checks, in the order in which they ran. */
  checks: Check[];
  /** When the checks ran. */
  verifiedAt: string;
}

/** One check of a backup. */
export interface Check {
  /** What was checked. */
  name: 'objects' | 'header' | 'checksum';
  /** What was found. */
  detail: string;
  /** Whether the check passed; absent if there is nothing to compare with. */
  ok?: boolean;
}

/** The request to change the label of a snapshot. */
export type LabelOptions = Selection & {
  /** The new label of the snapshot. */
  newLabel: string;
  /**
   * Whether to take the label from another snapshot that has it.
   * @default false
   */
  replace?: boolean;
};

/** The result of a deletion. */
export interface Deletion {
  /** The id of the snapshot. */
  snapshotId: string;
  /** Whether this call removed the snapshot; `false` if it had been removed before. */
  removed: boolean;
}

/** The request to delete a snapshot. */
export type DeleteOptions = Selection & {
  /**
   * Whether to delete the snapshot although it is pinned or has dependents.
   * @default false
   */
  force?: boolean;
};

/**
 * The request to import a backup that the ledger does not know: one that the SDK created directly, or
 * an earlier version of this product.
 */
export interface ImportOptions {
  /** The sandbox that the backup was taken of. */
  sandboxId: string;
  /** The handle that `createBackup` answered. */
  backup: BackupHandle;
  /**
   * The expiration, in seconds after the last use. 0 means never; if absent, the workspace's policy
   * applies.
   */
  expirationSeconds?: number;
  /** The label of the snapshot, a name for people; derived from the time if absent. */
  label?: string;
  /**
   * Whether to take the label from another snapshot that has it.
   * @default false
   */
  replace?: boolean;
}

/** The tree of sandboxes and snapshots with one sandbox as its root. */
export interface Tree {
  /** The first sandbox of the lineage. */
  root: TreeSandbox;
  /** The number of sandboxes in the tree. */
  sandboxes: number;
  /** Whether the tree is incomplete because a limit was reached. */
  truncated: boolean;
}

/** A sandbox in the tree, with its snapshots. */
export interface TreeSandbox {
  /** The id of the sandbox. */
  sandboxId: string;
  /** Its snapshots, newest first; removed ones only if sandboxes were made from them. */
  snapshots: TreeSnapshot[];
  /** Whether it was restored or branched; absent for the first sandbox. */
  lineage?: DerivationKind;
  /** What is missing here because the sandbox's workspace could not be reached. */
  problem?: string;
  /** Whether its container is running; absent if that was not requested or is unknown. */
  running?: boolean;
  /** The named workspace that the sandbox belongs to, or belonged to. */
  workspace?: WorkspaceAddress;
}

/** A snapshot in the tree, and the sandboxes that were made from it. */
export interface TreeSnapshot {
  /** The id of the snapshot. */
  snapshotId: string;
  /** Its state. */
  state: SnapshotState;
  /** Whether it is pinned: the retention policy never removes it. */
  pinned: boolean;
  /** The workspaces that depend on it. */
  dependents: string[];
  /** The sandboxes that were made from it. */
  derived: TreeSandbox[];
  /** When it was taken. */
  createdAt?: string;
  /** When it expires. */
  expiresAt?: string;
  /** Its label. */
  label?: string;
  /** The size of its archive, in bytes. */
  sizeBytes?: number;
}

/** The address of a workspace: its tenant and its name. */
export interface WorkspaceAddress {
  /** The name of the workspace, unique within its tenant. */
  name: string;
  /** The tenant that owns the workspace; the default tenant if absent. */
  tenant?: string;
}

/** The request for the lineage tree that a sandbox belongs to. */
export interface LineageOptions extends LineageScope {
  /** The id of the sandbox. */
  sandboxId: string;
  /**
   * Whether to query each sandbox's status; otherwise the answer does not say which sandboxes are
   * running. The query starts the Durable Object of every sandbox in the tree, but no container.
   * @default false
   */
  check?: boolean;
}

/** A workspace's retention policy, and its effect on each snapshot. */
export interface Retention {
  /** The policy. */
  policy: Policy;
  /** The decision about each snapshot, newest first. */
  decisions: Decision[];
  /** The number of snapshots that the policy removed; in a dry run, the number that it would remove. */
  evicted: number;
  /** Whether this was a dry run, which removes nothing. */
  dryRun: boolean;
}

/** The policy's decision about one snapshot. */
export interface Decision {
  /** The id of the snapshot. */
  snapshotId: string;
  /** Its label. */
  label: string;
  /** When it was taken. */
  createdAt: string;
  /** Whether it stays. */
  keep: boolean;
  /** The reasons, for people. */
  reasons: string[];
  /** When the snapshot expires if nothing changes; absent if it has no expiration time. */
  expiresAt?: string;
}

/** How long snapshots are kept. */
export interface Policy {
  /**
   * A snapshot expires this many seconds after its last use; 0 is never.
   * @default 2592000
   */
  expirationSeconds?: number;
  /**
   * The number of days, among those with snapshots, whose newest snapshot stays.
   * @default 0
   */
  keepDaily?: number;
  /** Limits the number of snapshots; no limit if absent. */
  keepLast?: KeepLast;
  /**
   * The number of weeks, among those with snapshots, whose newest snapshot stays.
   * @default 0
   */
  keepWeekly?: number;
}

/** The rule that limits the number of snapshots. */
export interface KeepLast {
  /** The number of newest snapshots that stay. */
  count: number;
  /**
   * Whether all other snapshots are deleted at once; otherwise they stay until they expire.
   * @default true
   */
  deleteEvicted?: boolean;
  /** These snapshots expire this many seconds after their last use, instead of the policy's; 0 is never. */
  expirationSeconds?: number;
}

/** The request of an operation that takes only a sandbox. */
export interface SandboxOptions extends LineageScope {
  /** The id of the sandbox. */
  sandboxId: string;
}

/** The request to set the retention policy of a workspace. */
export interface SetRetentionOptions {
  /** The id of the sandbox. */
  sandboxId: string;
  /** The policy, which replaces the present one. */
  policy: Policy;
  /**
   * Whether only to report what the policy would remove.
   * @default false
   */
  dryRun?: boolean;
}

/** The request to apply the retention policy of a workspace. */
export interface ApplyRetentionOptions {
  /** The id of the sandbox. */
  sandboxId: string;
  /**
   * Whether only to report what would be removed.
   * @default false
   */
  dryRun?: boolean;
}

/** The key that signs a workspace's refs from now on. */
export interface KeyRotation {
  /** The number of the key. */
  key: number;
  /** The number of the previous key, whose signatures stay valid; absent if there was none. */
  previous?: number;
}

/** The result of a sweep of the bucket. Every backup is counted once. */
export interface Sweep {
  /** Backups in the bucket. */
  scanned: number;
  /** Backups younger than the grace period: skipped until a later sweep. */
  tooRecent: number;
  /** Backups without the product's mark, or unreadable ones: they belong to an application. */
  unmarked: number;
  /**
   * Backups that a ledger of this deployment owns, or that no ledger of this deployment created: those
   * of another deployment or of an earlier version.
   */
  owned: number;
  /** Backups that no ledger owns: deleted, or in a dry run only counted. */
  deleted: number;
  /** Backups that could not be checked or deleted: skipped until a later sweep. */
  failed: number;
  /**
   * Archives without metadata that are older than the grace period. They carry no mark, so a sweep never
   * deletes them and does not count them in `scanned`. Each is either an application's own upload, or
   * left by a sandbox that failed while it stored a backup.
   * @default 0
   */
  unowned: number;
  /**
   * The first of these archives, in the order of their keys.
   * @default []
   *
   * @maxItems 100
   */
  unownedObjects: UnownedObject[];
  /** Whether this was a dry run, which deletes nothing. */
  dryRun: boolean;
}

/** An object in the bucket that no ledger can own. */
export interface UnownedObject {
  /** The object's key in the bucket. */
  key: string;
  /** The object's size, in bytes. */
  sizeBytes: number;
  /** The time since the object was written, in seconds. */
  ageSeconds: number;
}

/** The request to sweep the bucket: to delete backups that no snapshot owns. */
export interface SweepOptions {
  /**
   * Whether only to count the backups.
   * @default false
   */
  dryRun?: boolean;
  /**
   * The minimum age of a backup that the sweep deletes, in seconds.
   * @default 86400
   */
  graceSeconds?: number;
}

/** A started workspace, ready for use. */
export interface StartedWorkspace extends Workspace {
  /** The reference to the workspace's sandbox, in the form that all operations take. */
  workspace: WorkspaceRef;
  /**
   * How the sandbox got its files.
   *
   * - `running`: The sandbox was running with the files in place.
   * - `restored`: The files were restored from a snapshot.
   * - `empty`: The workspace has no files yet: it is new, or the caller allowed an empty start.
   * - `adopted`: The workspace adopted the files that were written after the sandbox was cold-started.
   */
  how: 'running' | 'restored' | 'empty' | 'adopted';
  /** The reasons why the snapshot is stale; empty if it is not. */
  stale: string[];
  /** The results of the hooks that ran. */
  hookRuns: HookRun[];
  /** The rescue snapshot that contains the files that the sandbox had before the restore. */
  rescueSnapshotId?: string;
  /** The snapshot that was restored. */
  restoredFrom?: string;
}

/** A named workspace. */
export interface Workspace {
  /** The name of the workspace. */
  name: string;
  /** The tenant that owns the workspace. */
  tenant: string;
  /** The last known state. If the sandbox has ended since, the next start detects it. */
  state: WorkspaceState;
  /**
   * The id of the workspace's sandbox. While the workspace is active, the application passes it to
   * `getSandbox()`.
   */
  sandboxId: string;
  /** The sandboxes that the workspace had before, newest first. Their snapshots belong to the workspace. */
  formerSandboxIds: string[];
  /** The directory that persists. */
  dir: string;
  /** Whether a stop takes a snapshot. */
  persistent: boolean;
  /** The retention policy of the workspace's snapshots. */
  retention: Policy;
  /** The commands that run in the sandbox when the workspace starts and stops. */
  hooks: Hooks;
  /** The time limits after which the workspace stops automatically. */
  expiry: Expiry;
  /** What the workspace's snapshots depend on. */
  dependsOn: DependsOn;
  /** The names of the environment variables that are set in the sandbox. */
  envNames: string[];
  /** When the workspace was created. */
  createdAt: string;
  /** When activity in the workspace was last observed. */
  activeAt: string;
  /** The latest state transitions, newest first. */
  history: Transition[];
  /** When the workspace stops automatically if there is no further activity. */
  endsAt?: string;
  /** The snapshot of the last stop. */
  lastSnapshot?: LastSnapshot;
  /** The last problem; absent once the operation succeeds. */
  problem?: WorkspaceProblem;
  /** When the workspace was last started. */
  startedAt?: string;
}

/** What the snapshots of a workspace depend on. */
export interface DependsOn {
  /**
   * The files whose hashes are recorded with each snapshot: absolute paths, or paths relative to the
   * workspace's directory.
   *
   * @maxItems 32
   */
  files?: string[];
  /** A text that identifies the environment, such as a commit or a version. */
  fingerprint?: string;
  /**
   * The effect on a start if the sandbox's image differs from the snapshot's.
   *
   * - `fail`: The start fails.
   * - `report`: The start continues, and its answer reports the change. Most files remain valid on
   * another image.
   * @default "report"
   */
  onImageChange?: 'fail' | 'report';
  /**
   * The effect on a start if a file or the fingerprint differs from the snapshot's.
   *
   * - `fail`: The start fails.
   * - `report`: The start continues, and its answer reports the difference.
   * @default "fail"
   */
  onMismatch?: 'fail' | 'report';
}

/** The time limits after which a workspace stops automatically. */
export interface Expiry {
  /**
   * Seconds without a start, fork or update of the workspace, and without a changed file. 0 means never.
   * @default 600
   */
  idleSeconds?: number;
  /**
   * Seconds after the last start, regardless of activity. 0 means never.
   * @default 0
   */
  maxSeconds?: number;
}

/** A transition of a workspace from one state to another. */
export interface Transition {
  /** The state after the transition. */
  to: WorkspaceState;
  /** When the transition occurred. */
  at: string;
  /** The reason, for people. */
  cause: string;
  /** The state before the transition; absent for a new workspace. */
  from?: WorkspaceState;
}

/**
 * The state of a named workspace.
 *
 * - `provisioning`: The first sandbox is being created.
 * - `active`: The sandbox is ready and in use.
 * - `stopping`: A snapshot is being taken; then the sandbox is destroyed.
 * - `stopped`: No sandbox is running. The workspace can be started from its newest snapshot.
 * - `restoring`: The workspace's files are being restored into a sandbox.
 * - `failed`: The workspace could not be created or started. The caller must decide how to continue.
 * - `deleted`: The workspace is deleted, and its name is free.
 */
export type WorkspaceState =
  'provisioning' | 'active' | 'stopping' | 'stopped' | 'restoring' | 'failed' | 'deleted';

/** The commands that run in the sandbox when the workspace starts and stops. */
export interface Hooks {
  /** Runs after the files are in place, before the start answers. */
  afterStart?: Hook;
  /** Runs before a stop takes its snapshot. */
  beforeStop?: Hook;
  /** Runs before an automatic stop, when a time limit of `expiry` is reached. */
  onTimeout?: Hook;
}

/** A command that runs in the sandbox with `sh -c`, in the workspace's directory. */
export interface Hook {
  /** The command. */
  command: string;
  /**
   * The effect of a failure.
   *
   * - `fail`: The start or stop that ran the hook fails.
   * - `warn`: The start or stop continues, and its answer reports the failure.
   * @default "fail"
   */
  onFailure?: 'fail' | 'warn';
  /**
   * The time limit, in seconds. A command that exceeds it is killed.
   * @default 60
   */
  timeoutSeconds?: number;
}

/** The snapshot of a workspace's last stop. */
export interface LastSnapshot {
  /** The id of the snapshot. */
  id: string;
  /** The sandbox that the snapshot was taken of. */
  originId: string;
  /** The directory that was captured. */
  dir: string;
  /** The size of the archive, in bytes. */
  sizeBytes: number;
  /** When the snapshot was taken. */
  createdAt: string;
}

/** A problem of a workspace. */
export interface WorkspaceProblem {
  /** The stable error code, for programs. */
  code: Code;
  /** What failed, and for which object. */
  message: string;
  /** How to correct the problem. */
  remediation: string;
  /** When the problem occurred. */
  at: string;
}

/** The stable code of a failure, for programs. */
export type Code =
  | 'R2_BINDING_MISSING'
  | 'WORKSPACE_BINDING_MISSING'
  | 'SANDBOX_BINDING_MISSING'
  | 'CONFIG_INVALID'
  | 'API_TOKEN_MISSING'
  | 'UNAUTHORIZED'
  | 'INVALID_ARGUMENT'
  | 'INVALID_SANDBOX_ID'
  | 'INVALID_DIRECTORY'
  | 'EXCLUDE_UNSUPPORTED'
  | 'INVALID_LABEL'
  | 'INVALID_REF'
  | 'FOREIGN_REF'
  | 'UNSUPPORTED_REF_VERSION'
  | 'REF_MISMATCH'
  | 'CROSS_LINEAGE'
  | 'SNAPSHOT_NOT_FOUND'
  | 'SNAPSHOT_HAS_DEPENDENTS'
  | 'SNAPSHOT_BUSY'
  | 'LABEL_TAKEN'
  | 'INVALID_WORKSPACE_NAME'
  | 'WORKSPACE_NOT_FOUND'
  | 'NAME_TAKEN'
  | 'WORKSPACE_DIVERGED'
  | 'NOTHING_RESTORABLE'
  | 'SNAPSHOT_STALE'
  | 'HOOK_FAILED'
  | 'UNSUPPORTED'
  | 'DIRECTORY_UNAVAILABLE'
  | 'IDEMPOTENCY_CONFLICT'
  | 'LEDGER_UNAVAILABLE'
  | 'LEDGER_CORRUPT'
  | 'LEDGER_TOO_NEW'
  | 'INVALID_CHECKPOINT_NAME'
  | 'CHECKPOINT_NOT_FOUND'
  | 'CHECKPOINT_FAILED'
  | 'GIT_MISSING'
  | 'TOOL_NOT_FOUND'
  | 'SANDBOX_NOT_RUNNING'
  | 'SANDBOX_STARTING'
  | 'SANDBOX_REPLACED'
  | 'SANDBOX_EMPTY'
  | 'SANDBOX_UNAVAILABLE'
  | 'SANDBOX_TIMEOUT'
  | 'SANDBOX_UNRESPONSIVE'
  | 'SANDBOX_BUSY'
  | 'SANDBOX_UNSUPPORTED'
  | 'WORKSPACE_UNAVAILABLE'
  | 'SANDBOX_FAILED'
  | 'BACKUP_CONFIG_INVALID'
  | 'BACKUP_FAILED'
  | 'BACKUP_INTERRUPTED'
  | 'BACKUP_INCOMPLETE'
  | 'BACKUP_NOT_FOUND'
  | 'BACKUP_EXPIRED'
  | 'RESTORE_FAILED'
  | 'OPERATION_INTERRUPTED'
  | 'STORAGE_UNAVAILABLE'
  | 'ABORTED'
  | 'ROUTE_NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'PAYLOAD_TOO_LARGE'
  | 'INTERNAL';

/** The result of a hook. */
export interface HookRun {
  /** The name of the hook. */
  hook: 'beforeStop' | 'afterStart' | 'onTimeout';
  /** Whether the hook succeeded. */
  ok: boolean;
  /** Whether the hook was killed because it exceeded its time limit. */
  timedOut: boolean;
  /** The output of the hook on stdout and stderr: the beginning and the end of it. */
  output: string;
  /** The exit code of the hook; absent if the hook was killed or the code is unknown. */
  exitCode?: number;
}

/** The request to create a named workspace. */
export interface CreateWorkspaceOptions extends WorkspaceAddress, WorkspaceSettings {
  /**
   * The directory that persists. If absent: the source's directory, or without a source the deployment's
   * default.
   */
  dir?: string;
  /** An idempotency key: a repeated call with the same key gets the same workspace. */
  idempotencyKey?: string;
  /** A snapshot: the new workspace begins with its files. Excludes `sourceWorkspace`. */
  sourceSnapshot?: Selection;
  /**
   * Another workspace of the tenant: the new workspace begins with its present files. Excludes
   * `sourceSnapshot`.
   */
  sourceWorkspace?: string;
}

/**
 * The settings of a workspace. Each setting is replaced as a whole; a setting that is absent stays
 * unchanged.
 */
export interface WorkspaceSettings {
  /** What the workspace's snapshots depend on. */
  dependsOn?: DependsOn;
  /**
   * The environment variables of the sandbox, which every start sets again. They may be secrets; no
   * answer contains their values.
   */
  env?: Record<string, string>;
  /** The time limits after which the workspace stops automatically. */
  expiry?: Expiry;
  /** The commands that run in the sandbox when the workspace starts and stops. */
  hooks?: Hooks;
  /** Whether a stop takes a snapshot; true if it was never set. */
  persistent?: boolean;
  /** The retention policy of the workspace's snapshots. */
  retention?: Policy;
}

/** The request to start a named workspace, or to create it if it does not exist. */
export type GetOrCreateWorkspaceOptions = Record<string, unknown>;

/** The start options of a workspace. */
export interface StartSettings {
  /**
   * Whether to start the workspace although its snapshot is stale.
   * @default false
   */
  acceptStale?: boolean;
  /**
   * Whether to start the workspace empty if there is nothing to restore.
   * @default false
   */
  allowEmpty?: boolean;
  /**
   * The hashes that files must have had at the snapshot: SHA-256 in hexadecimal, by the paths of
   * `dependsOn.files`.
   */
  expect?: Record<string, string>;
  /**
   * How to handle files that were written after the sandbox was cold-started.
   *
   * - `fail`: The start fails and changes nothing.
   * - `adopt`: The start adopts the files as the workspace's own.
   * - `rescue`: The start saves the files in a rescue snapshot, and restores the newest snapshot before
   * it.
   * - `discard`: The start discards the files, and restores the newest snapshot.
   * @default "fail"
   */
  onDiverged?: 'fail' | 'adopt' | 'rescue' | 'discard';
}

/** A page of a tenant's workspaces, sorted by name. */
export interface WorkspacePage {
  /** The workspaces. */
  workspaces: WorkspaceEntry[];
  /** The cursor of the next page; absent on the last page. */
  cursor?: string;
}

/** A workspace in a list. */
export interface WorkspaceEntry {
  /** The name of the workspace. */
  name: string;
  /** The last reported state. */
  state: WorkspaceState;
  /** The id of the workspace's sandbox. */
  sandboxId: string;
  /** When the workspace was created. */
  createdAt: string;
  /** When the reported state was entered. */
  updatedAt: string;
  /** The number of changes so far, counted over all workspaces that ever had this name. */
  version: number;
  /** The size of the last stop's snapshot, in bytes. */
  sizeBytes?: number;
}

/** The request for a page of a tenant's workspaces, sorted by name. */
export interface ListWorkspacesOptions {
  /** The cursor of the previous page: the page begins after this name. */
  cursor?: string;
  /**
   * The maximum number of workspaces on the page.
   * @default 100
   */
  limit?: number;
  /** The prefix that the names of the workspaces must have. */
  prefix?: string;
  /** The tenant; the default tenant if absent. */
  tenant?: string;
}

/** The request to start a workspace. */
export interface StartWorkspaceOptions extends WorkspaceAddress, StartSettings {
  /** The present fingerprint of the environment; unchanged if absent. */
  fingerprint?: string;
}

/** A stopped workspace. */
export interface StoppedWorkspace extends Workspace {
  /** Whether the sandbox had ended before the stop. Files that were not in a snapshot by then are lost. */
  hadEnded: boolean;
  /** Whether files changed during the capture. The snapshot may contain earlier versions of these files. */
  changedDuringCapture: boolean;
  /** The results of the hooks that ran. */
  hookRuns: HookRun[];
  /** The rescue snapshot that contains files written after the sandbox was cold-started. */
  rescueSnapshotId?: string;
}

/** The forks of a workspace. */
export interface ForkedWorkspaces {
  /** The snapshot that all forks are created from. */
  snapshotId: string;
  /** The sandbox that the snapshot was taken of. */
  originId: string;
  /** The result of each fork, in the order of their numbers. */
  forks: Fork[];
}

/** The result of one fork: a value or an error. */
export interface Fork {
  /** The name of the fork. */
  name: string;
  /** The reason why the fork failed. */
  error?: WorkspaceProblem;
  /** The started workspace; absent if the fork failed. */
  value?: StartedWorkspace;
}

/** The request to fork a workspace: to create new workspaces from its present files. */
export interface ForkWorkspaceOptions extends WorkspaceAddress {
  /**
   * Whether to copy the environment variables, which may be secrets, to the forks.
   * @default false
   */
  copyEnv?: boolean;
  /**
   * The number of forks; 1 if absent.
   * @default 1
   */
  count?: number;
  /** An idempotency key: a repeated call with the same key gets the same workspaces. */
  idempotencyKey?: string;
  /**
   * The name of the fork; several forks are named `<newName>-1`, `<newName>-2`… If absent, the Worker
   * generates a name.
   */
  newName?: string;
}

/** The request to update a workspace: to change its settings, or to go back to an earlier snapshot. */
export interface UpdateWorkspaceOptions extends WorkspaceAddress, WorkspaceSettings {
  /**
   * Whether it goes back although that one is stale.
   * @default false
   */
  acceptStale?: boolean;
  /** The id of the snapshot to go back to, in a new sandbox. */
  currentSnapshotId?: string;
}

/** The result of deleting a workspace. */
export interface DeletedWorkspace {
  /** The name of the workspace. */
  name: string;
  /**
   * Whether this call deleted the workspace. It is false, without an error, if the workspace did not
   * exist.
   */
  removed: boolean;
  /** How many of the workspace's snapshots are deleted. */
  removedSnapshots: number;
  /**
   * The snapshots that are kept because other sandboxes need them, or because they are pinned. A
   * snapshot that is not pinned is deleted when its last dependent no longer needs it.
   */
  kept: KeptSnapshot[];
  /** The sandboxes whose snapshots could not be processed yet. The Worker processes them later. */
  pending: string[];
}

/** A snapshot that is kept because other sandboxes need it, or because it is pinned. */
export interface KeptSnapshot {
  /** The id of the snapshot. */
  snapshotId: string;
  /** The sandbox that the snapshot was taken of. */
  originId: string;
  /** The sandboxes that need the snapshot. */
  dependents: string[];
  /** Whether the snapshot is pinned. */
  pinned: boolean;
}

/** The result of `checkpoints/create`. */
export interface CreatedCheckpoint extends Checkpoint {
  /** The commit that had this name before. */
  replaced?: string;
}

/** A checkpoint. */
export interface Checkpoint {
  /** The name of the checkpoint. */
  name: string;
  /** Its git commit, in hexadecimal: 40 digits, or 64 in a SHA-256 repository. */
  commit: string;
  /** When it was created, by the clock of the container. */
  createdAt: string;
  /** Its description. */
  description: string;
}

/** The request to create a checkpoint. */
export interface CreateCheckpointOptions extends CheckpointsOptions {
  /** The name of the checkpoint. */
  name: string;
  /** A description of the checkpoint; `snapshot: <name>` if absent. */
  description?: string;
}

/** The location of checkpoints: a sandbox and a directory in it. */
export interface CheckpointsOptions extends LineageScope {
  /** The id of the sandbox. */
  sandboxId: string;
  /** The directory; the deployment's default directory if absent. */
  dir?: string;
}

/** A page of a list of checkpoints. */
export interface Checkpoints {
  /**
   * The checkpoints, newest first. A description that another tool wrote is cut to its first 10,000
   * characters.
   */
  checkpoints: Checkpoint[];
  /** The cursor of the next page; absent on the last page. */
  cursor?: string;
}

/** The request for a page of the checkpoints in a sandbox. */
export interface ListCheckpointsOptions extends CheckpointsOptions {
  /** The cursor of the previous page; the page begins with the newest checkpoint if absent. */
  cursor?: string;
  /**
   * The maximum number of checkpoints on the page. A page with more than 1 MiB of checkpoints ends
   * earlier.
   * @default 100
   */
  limit?: number;
}

/** The result of `checkpoints/restore`. */
export interface RestoredCheckpoint {
  /** The name of the checkpoint. */
  name: string;
  /** Its commit. */
  commit: string;
  /**
   * The paths that the restore added, edited or removed, sorted, relative to the directory; at most
   * 5,000. A path with control characters, quotes, backslashes or bytes that are not UTF-8 is quoted as
   * git quotes it.
   */
  changed: string[];
  /** The number of all changed paths. */
  changedCount: number;
  /**
   * The commit of the files before the restore, if they differed. It is kept under
   * `refs/sandbox/before-restore` until the next restore that changes something; in a linked work tree,
   * under `refs/worktree/sandbox/before-restore`.
   */
  before?: string;
}

/** The request to restore a checkpoint. */
export interface RestoreCheckpointOptions extends CheckpointsOptions {
  /** The name of the checkpoint. */
  name: string;
}

/** The result of `checkpoints/diff`. */
export interface CheckpointDiff {
  /** The name of the checkpoint. */
  name: string;
  /** Its commit. */
  commit: string;
  /** A unified diff from the checkpoint to the present files; empty if nothing differs. */
  diff: string;
  /** The size of the complete diff, in bytes. */
  sizeBytes: number;
  /** Whether the end of the diff was cut off because it is larger than the requested maximum. */
  truncated: boolean;
}

/** The request to compare the files of a sandbox with a checkpoint. */
export interface DiffCheckpointOptions extends CheckpointsOptions {
  /** The name of the checkpoint. */
  name: string;
  /**
   * The maximum length of the diff, in bytes.
   * @default 262144
   */
  maxBytes?: number;
}

/** The result of `tools/list`. */
export interface Tools {
  /** The tools. */
  tools: ToolDefinition[];
}

/** The definition of a tool, as a language model receives it. */
export interface ToolDefinition {
  /** The name by which it is called: 1–64 characters of `A–Z a–z 0–9 _ -`. */
  name: string;
  /** The title for people. */
  title: string;
  /** What it does, what it does not do, and how to use its result. */
  description: string;
  /** The JSON Schema of its arguments. */
  inputSchema: Record<string, unknown>;
  /** The JSON Schema of the `structuredContent` that it returns. */
  outputSchema: Record<string, unknown>;
  /** The effects of a call. */
  annotations: ToolAnnotations;
}

/** The effects of calling a tool, for clients that decide whether a model may call it. */
export interface ToolAnnotations {
  /** Whether a call changes nothing. */
  readOnlyHint: boolean;
  /** Whether a call can delete data. */
  destructiveHint: boolean;
  /** Whether a repeated call with the same arguments changes nothing more. */
  idempotentHint: boolean;
  /** Whether a call has effects outside of the workspaces. It is `false` for all tools. */
  openWorldHint: boolean;
}

/** A set of tools: the tools for some workspaces. */
export interface Toolset {
  /**
   * The workspaces. At least one of them must have tools.
   *
   * @minItems 1
   * @maxItems 16
   */
  workspaces: ToolWorkspace[];
  /**
   * Whether the set contains only tools that change nothing.
   * @default false
   */
  readOnly?: boolean;
  /**
   * The style of the tool names.
   *
   * - `namespaced`: `workspace__<name>__<op>`: each workspace has its own tools.
   * - `flat`: `workspace_<op>`, and `snapshot_<op>` for checkpoints: all workspaces share the tools. If
   * there is more than one workspace, the tools take its name as an argument.
   * @default "namespaced"
   */
  style?: 'namespaced' | 'flat';
}

/** A workspace in a toolset. */
export interface ToolWorkspace {
  /**
   * The name that the model uses for the workspace: 1–35 letters, digits, `_` and `-`; up to 64 in the
   * flat style.
   */
  name: string;
  /**
   * Whether the tools may use every sandbox and snapshot of this deployment. Otherwise they may use only
   * the workspace and the sandboxes and snapshots that were created from it.
   * @default false
   */
  allowCrossLineage?: boolean;
  /** Whether the workspace has tools for checkpoints; the value of `snapshot` if absent. */
  checkpoint?: boolean;
  /** The directory to capture, for a sandbox only; the deployment's default directory if absent. */
  dir?: string;
  /** The id of the sandbox. If absent, the workspace is a named workspace. */
  sandboxId?: string;
  /**
   * Whether the workspace has tools for snapshots.
   * @default false
   */
  snapshot?: boolean;
  /** The tenant of the named workspace; the default tenant if absent. */
  tenant?: string;
  /** The name of the named workspace; the value of `name` if absent. */
  workspace?: string;
}

/** The result of a tool call. */
export interface ToolResult {
  /** A short text for the model. */
  content: ToolText[];
  /** If the call failed, the error under the key `sandbox-snapshotter/error`. */
  _meta?: Record<string, unknown>;
  /** Whether the call failed. */
  isError?: boolean;
  /** The same result as data, in the form of the tool's output schema; absent if the call failed. */
  structuredContent?: Record<string, unknown>;
}

/** A text for a language model. */
export interface ToolText {
  /** Always `text`. */
  type: 'text';
  /** The text. */
  text: string;
}

/** The request to call a tool. */
export interface CallToolOptions extends Toolset {
  /** The name of the tool. */
  name: string;
  /** The arguments from the model, unchanged. */
  arguments?: {
    [k: string]: unknown;
  };
  /**
   * An idempotency key: a repeated call with the same key returns the same snapshot or the same new
   * workspace.
   */
  idempotencyKey?: string;
}

/** The result of `tools/grant`. */
export interface ToolGrant {
  /** A bearer token for `/mcp`, which gives access to these tools only. */
  token: string;
  /** When the token expires. */
  expiresAt: string;
}

/** The request to create a token that permits the use of some tools over MCP. */
export interface GrantToolsOptions extends Toolset {
  /**
   * The lifetime of the token, in seconds.
   * @default 86400
   */
  expirationSeconds?: number;
}

/** The health of a deployment. */
export interface Health {
  /** Whether no check failed. */
  ok: boolean;
  /** The version of sandbox-snapshotter. */
  version: string;
  /** The current time of the deployment. */
  time: string;
  /** The checks, in the order in which they ran. */
  checks: HealthCheck[];
}

/**
 * The check of one component. It contains no configured values, only the names of variables and
 * whether they are set.
 */
export interface HealthCheck {
  /**
   * The component.
   *
   * - `config`: The variables that the Worker reads.
   * - `bucket`: The R2 bucket that contains the backups.
   * - `sandboxes`: The Durable Object namespace of the sandboxes.
   * - `workspaces`: The Durable Object namespaces of the Worker's own workspaces.
   * - `directory`: The list of named workspaces.
   * - `apiToken`: The token of the HTTP API.
   * - `backupCredentials`: The credentials with which sandboxes sign their transfers to the bucket.
   * - `metrics`: The Analytics Engine dataset that counts operations.
   */
  name:
    | 'config'
    | 'bucket'
    | 'sandboxes'
    | 'workspaces'
    | 'directory'
    | 'apiToken'
    | 'backupCredentials'
    | 'metrics';
  /** What was found. */
  detail: string;
  /** The code with which operations fail because of it. */
  code?: Code;
  /**
   * Whether the component works; absent if it is optional and missing, or cannot be checked from this
   * Worker.
   */
  ok?: boolean;
  /** How to fix it. */
  remediation?: string;
}

/** The request to check the deployment. It has no options. */
export type HealthOptions = Record<string, unknown>;

/** An error, in the form that RPC and HTTP share. */
export interface Problem {
  /** The stable code, for programs. */
  code: Code;
  /** The class of the failure. */
  kind: Kind;
  /** What failed, for which object. */
  message: string;
  /** What to do about it. */
  remediation: string;
  /** Whether the same call may succeed later. */
  retryable: boolean;
  /** The id under which the log contains the call. */
  correlationId: string;
  /** What the platform or the SDK threw, if it threw something. */
  cause?: Failure;
}

/**
 * A failure of the platform or the SDK, as it was thrown.
 *
 * Its texts are redacted on creation: the user names, passwords and query strings of URLs are removed,
 * because the SDK signs its URLs in the query. Each text is cut to 500 characters.
 */
export interface Failure {
  /** The name of the thrown error's class. */
  name: string;
  /** The message of the thrown error. */
  message: string;
  /** The SDK's error code (`errorResponse.code`), if it was passed on. */
  code?: string;
}

/**
 * The class of a failure, for callers that handle failures by class.
 *
 * - `transient`: It may pass without a change: the same call can be made again.
 * - `permanent`: It stays until the arguments, the configuration or the sandbox are changed.
 * - `conflict`: The current state of the sandbox does not allow the call.
 * - `not_found`: The object does not exist, or does not exist any more.
 * - `resource_exhausted`: A limit was reached.
 * - `unsupported`: This deployment or platform does not support the call.
 * - `policy_denied`: The call is not permitted.
 */
export type Kind =
  | 'transient'
  | 'permanent'
  | 'conflict'
  | 'not_found'
  | 'resource_exhausted'
  | 'unsupported'
  | 'policy_denied';
