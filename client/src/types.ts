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
  /** Lets go what the policy says. */
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

/** What a snapshot call answers: the ref, and how it came about. */
export interface TakenSnapshot extends SnapshotRef {
  /** The capture that it came from. */
  capture: Capture;
}

/** A snapshot, as it passes through applications. */
export interface SnapshotRef {
  /** The provider. */
  providerId: 'cloudflare-sandbox';
  /** What this provider says of it. Pass it on unchanged. */
  ref: SnapshotPayload;
}

/** What a snapshot ref says, for this provider alone. */
export interface SnapshotPayload {
  /** The version of this form. */
  schemaVersion: 1;
  /** The snapshot. */
  snapshotId: string;
  /** The sandbox that it was taken of. */
  originId: string;
  /** The first sandbox of the lineage. */
  rootId: string;
  /** The SDK's handle of the backup. */
  backup: BackupHandle;
  /** When the backup was stored. */
  createdAt: string;
  /** By which a ref that was altered is known. */
  signature: string;
}

/** The handle that `createBackup` answered: opaque, kept whole and given back whole. */
export interface BackupHandle {
  /** The id that the SDK gave the backup. */
  id: string;
  /** The directory that the backup goes back into. */
  dir: string;
}

/** How a snapshot was captured. */
export interface Capture {
  /** The label that the snapshot was given. */
  label: string;
  /** The size of its archive, in bytes. */
  sizeBytes: number;
  /** When the capture began: what was written later may not be in it. */
  beganAt: string;
  /** Whether another caller had asked for it. */
  shared: boolean;
  /**
   * Whether it is a rescue snapshot: of a container that was not the sandbox's own. It is never the
   * newest, and counts for nothing in retention.
   */
  rescue?: boolean;
  /**
   * How much smaller it is than the snapshot before, where that is so much that files may be missing by
   * mistake. That one is spared by retention until the next snapshot, or for 7 days.
   */
  suspect?: Suspect;
}

/** How much smaller a snapshot is than the one before. */
export interface Suspect {
  /** The size of the archive before, in bytes. */
  before: number;
  /** The size of this one, in bytes. */
  after: number;
}

/** A snapshot to take. */
export interface SnapshotOptions extends Session {
  /** The sandbox to capture. */
  sandboxId: string;
  /**
   * Whether the present files become the sandbox's own, where its container was replaced: they are
   * captured in a rescue snapshot, and the next snapshot counts again. An empty directory is refused.
   * @default false
   */
  adopt?: boolean;
  /** How to compress the archive. */
  compression?: Compression;
  /** The directory to capture; the deployment's default where absent. */
  dir?: string;
  /**
   * Patterns of names to leave out, at any depth: `node_modules`, `*.log`. Patterns with a slash are
   * refused.
   */
  excludes?: string[];
  /** Seconds from its last use to its end, 0 for none; what the workspace's policy says where absent. */
  expirationSeconds?: number;
  /**
   * Whether a capture that is under way already will not do: what the caller wrote since would not be in
   * it.
   * @default false
   */
  fresh?: boolean;
  /** Whether to leave out what git ignores. Refused where that is in a subdirectory. */
  gitignore?: boolean;
  /** A key by which the same call can be made again, and gets the same answer. */
  idempotencyKey?: string;
  /** A person's name for the snapshot; one by the time where absent. */
  label?: string;
  /**
   * Whether the label is taken from another snapshot that has it.
   * @default false
   */
  replace?: boolean;
  /**
   * Whether a sandbox that is not running is started, and captured as it starts: with none of its files.
   * Where the ledger knows it already, that is a rescue snapshot.
   * @default false
   */
  wake?: boolean;
}

/** Who asks: the workspace that the caller works in. What belongs to another lineage is refused. */
export interface Session {
  /**
   * Whether other lineages are allowed.
   * @default false
   */
  allowCrossSession?: boolean;
  /** The sandbox of the session; absent where an application asks for itself. */
  session?: string;
}

/** How an archive is compressed. */
export interface Compression {
  /**
   * The algorithm.
   *
   * - `gzip`: Found everywhere.
   * - `lz4`: The fastest.
   * - `zstd`: The smallest at a fair speed.
   */
  format?: 'gzip' | 'lz4' | 'zstd';
  /** How many threads work on it. */
  threads?: number;
}

/** A sandbox seen as somebody's place of work, as it passes through applications. */
export interface WorkspaceRef {
  /** The provider. */
  providerId: 'cloudflare-sandbox';
  /** The sandbox. */
  ref: WorkspacePayload;
  /** What can be done in it. */
  capabilities: Capabilities;
  /** The version of this form. */
  schemaVersion: 1;
}

/** What can be done in a workspace. */
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

/** What a workspace ref says, for this provider alone. */
export interface WorkspacePayload {
  /** The sandbox: what the application gives to `getSandbox()`. */
  sandboxId: string;
  /** The first sandbox of the lineage. */
  rootId: string;
}

/** A snapshot to restore or to branch from. */
export type RestoreOptions = Selection & {
  /** A key by which the same call can be made again, and gets the same answer. */
  idempotencyKey?: string;
};

/** A snapshot, and whose session it is asked for in. */
export type Selection = Session &
  (
    | {
        /** The ref. */
        ref: SnapshotRef;
      }
    | {
        /** The sandbox that it was taken of. */
        sandboxId: string;
        /** The snapshot. */
        snapshotId: string;
      }
    | {
        /** The sandbox that it was taken of. */
        sandboxId: string;
        /** The label. */
        label: string;
      }
  );

/** A page of a list, the newest first. */
export interface Page {
  /** The snapshots. */
  snapshots: Summary[];
  /** Where the next page begins, if there is one. */
  cursor?: string;
}

/** A snapshot, as lists show it. */
export interface Summary {
  /** The snapshot. */
  snapshotId: string;
  /** Its label. */
  label: string;
  /** How far it is. */
  state: SnapshotState;
  /** The directory that it holds. */
  dir: string;
  /** When it was taken; while it is being made, when that began. */
  createdAt: string;
  /** How long ago that is, in seconds. */
  ageSeconds: number;
  /** When it was taken or last restored. */
  lastUsedAt: string;
  /** Whether it stays whatever the policy says. */
  pinned: boolean;
  /** The workspaces that need it. */
  holders: string[];
  /**
   * Whether it can be restored.
   *
   * - `yes`: It can be, as far as was looked.
   * - `no`: It can not be.
   * - `unknown`: R2 did not say.
   */
  restorable: 'yes' | 'no' | 'unknown';
  /** When R2 was looked into for it; absent where it was not. */
  checkedAt?: string;
  /** When it goes; absent where that is not a matter of time. */
  expiresAt?: string;
  /** Its ref; absent while it is being made. */
  ref?: SnapshotRef;
  /** Whether it is a rescue snapshot: of a container that was not the sandbox's own. */
  rescue?: boolean;
  /** The size of its archive, in bytes; absent while it is being made. */
  sizeBytes?: number;
  /** How much smaller it is than the one before, where files may be missing by mistake. */
  suspect?: Suspect;
  /** Why it isn't yes. */
  why?: string;
}

/**
 * The state of a snapshot, in one word.
 *
 * - `making`: It is being made.
 * - `ready`: It was made, and was not let go.
 * - `deleting`: It is being deleted.
 * - `deleted`: It is gone.
 */
export type SnapshotState = 'making' | 'ready' | 'deleting' | 'deleted';

/** A page of a workspace's snapshots. */
export interface ListOptions extends Session {
  /** The sandbox that they were taken of. */
  sandboxId: string;
  /**
   * Whether R2 is looked into, for what can be restored now; otherwise it is what was last found there.
   * @default true
   */
  check?: boolean;
  /** Where the page begins; at the newest where absent. */
  cursor?: string;
  /** How their labels begin. */
  labelPrefix?: string;
  /**
   * How many are on it at most.
   * @default 20
   */
  limit?: number;
}

/** Everything that is known about a snapshot. */
export interface Manifest extends Summary {
  /** The version of this form: 1. */
  schemaVersion: 1;
  /** The sandbox that it was taken of. */
  originId: string;
  /** The first sandbox of the lineage. */
  rootId: string;
  /** When the capture began: what was written later may not be in it. */
  captureBeganAt: string;
  /** Patterns of paths that were left out. */
  excludes: string[];
  /** Whether what git ignores was left out. */
  gitignore: boolean;
  /** The keys of its objects in R2. */
  objects: string[];
  /** Whether it came in by `import`. */
  imported: boolean;
  /** The sandboxes that were made from it. */
  derived: Derived[];
  /** R2's checksum of the archive, as it was when it was taken. */
  checksum?: string;
  /** How the archive is compressed, where that was asked for. */
  compression?: Compression;
  /** When and why it was let go, if it was. */
  ended?: Ended;
  /** Its own expiration, in seconds after its last use; 0 is never. */
  expirationSeconds?: number;
  /** The snapshot that the sandbox itself was made from. */
  parent?: Ancestor;
  /** Until when the SDK restores the backup. */
  usableUntil?: string;
}

/** A sandbox that was made from a snapshot. */
export interface Derived {
  /** The sandbox. */
  sandboxId: string;
  /** Whether it was restored or branched. */
  lineage: Lineage;
  /** When that began. */
  beganAt: string;
  /** Whether it needs the snapshot. */
  holds: boolean;
}

/**
 * How a sandbox came from a snapshot.
 *
 * - `restored`: To recover an earlier state.
 * - `branch`: To try something else from the same state.
 */
export type Lineage = 'restored' | 'branch';

/** Why a snapshot is gone. */
export interface Ended {
  /** When it was let go. */
  at: string;
  /** Why. */
  reason: string;
}

/** Where a sandbox came from. */
export interface Ancestor {
  /** The sandbox that the snapshot was taken of. */
  originId: string;
  /** The snapshot. */
  snapshotId: string;
}

/** What was found in R2, without starting a container. */
export interface Verification {
  /** The snapshot. */
  snapshotId: string;
  /** Whether everything that could be checked is right. */
  ok: boolean;
  /** The checks, in their order. */
  checks: Check[];
  /** When that was. */
  verifiedAt: string;
}

/** One check of a backup. */
export interface Check {
  /** What was checked. */
  name: 'objects' | 'header' | 'checksum';
  /** What was found. */
  detail: string;
  /** Whether it is right; absent where there is nothing to compare with. */
  ok?: boolean;
}

/** A snapshot to give another label. */
export type LabelOptions = Selection & {
  /** The label that it gets. */
  newLabel: string;
  /**
   * Whether the label is taken from another snapshot that has it.
   * @default false
   */
  replace?: boolean;
};

/** What a deletion came to. */
export interface Deletion {
  /** The snapshot. */
  snapshotId: string;
  /** Whether it was there until now. One that is gone already is fine. */
  removed: boolean;
}

/** A snapshot to delete. */
export type DeleteOptions = Selection & {
  /**
   * Whether it goes although it is pinned, or others need it.
   * @default false
   */
  force?: boolean;
};

/**
 * A backup that the ledger does not know, made by the SDK directly or by an earlier version of this
 * product.
 */
export interface ImportOptions {
  /** The sandbox that it was made of. */
  sandboxId: string;
  /** The handle that `createBackup` answered. */
  backup: BackupHandle;
  /** Seconds from its last use to its end, 0 for none; what the workspace's policy says where absent. */
  expirationSeconds?: number;
  /** A person's name for the snapshot; one by the time where absent. */
  label?: string;
  /**
   * Whether the label is taken from another snapshot that has it.
   * @default false
   */
  replace?: boolean;
}

/** The tree of sandboxes and snapshots that grows from one sandbox. */
export interface Tree {
  /** The first sandbox. */
  root: TreeSandbox;
  /** How many sandboxes are in the tree. */
  sandboxes: number;
  /** Whether there is more than was looked at. */
  truncated: boolean;
}

/** A sandbox in the tree, and what grows from it. */
export interface TreeSandbox {
  /** The sandbox. */
  sandboxId: string;
  /** Its snapshots, the newest first; those that are gone only where something was made from them. */
  snapshots: TreeSnapshot[];
  /** Whether it was restored or branched; absent for the first one. */
  lineage?: Lineage;
  /** What is missing here, if its workspace could not be asked. */
  problem?: string;
  /** Whether it is running; absent where that was not asked, or is not known. */
  running?: boolean;
  /** The named workspace whose sandbox it is, or was. */
  workspace?: WorkspaceAddress;
}

/** A snapshot in the tree, and what was made from it. */
export interface TreeSnapshot {
  /** The snapshot. */
  snapshotId: string;
  /** How far it is. */
  state: SnapshotState;
  /** Whether it stays whatever the policy says. */
  pinned: boolean;
  /** The workspaces that need it. */
  holders: string[];
  /** The sandboxes that were made from it. */
  derived: TreeSandbox[];
  /** When it was taken. */
  createdAt?: string;
  /** When it goes. */
  expiresAt?: string;
  /** Its label. */
  label?: string;
  /** The size of its archive, in bytes. */
  sizeBytes?: number;
}

/** A workspace, by its name. */
export interface WorkspaceAddress {
  /** What it is called. Unique for its tenant. */
  name: string;
  /** Whose it is; the default tenant's where absent. */
  tenant?: string;
}

/** The tree that a sandbox belongs to. */
export interface LineageOptions extends Session {
  /** The sandbox. */
  sandboxId: string;
  /**
   * Whether each sandbox is asked if it is running. Otherwise nothing is said of that. It starts no
   * container, but the Durable Object of every sandbox of the tree.
   * @default false
   */
  check?: boolean;
}

/** A workspace's policy, and what it means for its snapshots. */
export interface Retention {
  /** The policy. */
  policy: Policy;
  /** What becomes of each snapshot, the newest first. */
  decisions: Decision[];
  /** How many go, or went. */
  letGo: number;
  /** Whether nothing was done yet. */
  dryRun: boolean;
}

/** What becomes of a snapshot. */
export interface Decision {
  /** The snapshot. */
  snapshotId: string;
  /** Its label. */
  label: string;
  /** When it was taken. */
  createdAt: string;
  /** Whether it stays. */
  keep: boolean;
  /** Why, for people. */
  reasons: string[];
  /** When it goes, if nothing changes; absent where that is never, or not a matter of time. */
  expiresAt?: string;
}

/** How long snapshots are kept. */
export interface Policy {
  /**
   * Seconds from the last use of a snapshot to its end; 0 is never.
   * @default 2592000
   */
  expirationSeconds?: number;
  /**
   * The newest of each of so many days stay.
   * @default 0
   */
  keepDaily?: number;
  /** Bounds how many there are; no bound where absent. */
  keepLast?: KeepLast;
  /**
   * The newest of each of so many weeks stay.
   * @default 0
   */
  keepWeekly?: number;
}

/** The rule that bounds how many snapshots there are. */
export interface KeepLast {
  /** How many of the newest stay. */
  count: number;
  /**
   * Whether the others go at once; otherwise they go when they expire.
   * @default true
   */
  deleteEvicted?: boolean;
  /** Seconds from the last use of these to their end, in place of the policy's. */
  expirationSeconds?: number;
}

/** The workspace of a sandbox. */
export interface SandboxOptions extends Session {
  /** The sandbox. */
  sandboxId: string;
}

/** A policy for a workspace. */
export interface SetRetentionOptions {
  /** The sandbox. */
  sandboxId: string;
  /** The policy, in place of the one that it has. */
  policy: Policy;
  /**
   * Whether only to say what it would let go.
   * @default false
   */
  dryRun?: boolean;
}

/** A workspace to apply its policy to. */
export interface ApplyRetentionOptions {
  /** The sandbox. */
  sandboxId: string;
  /**
   * Whether only to say what would be let go.
   * @default false
   */
  dryRun?: boolean;
}

/** The key that signs a workspace's refs from now on. */
export interface KeyRotation {
  /** Its number. */
  key: number;
  /** The number of the one before, which is still accepted; absent where there was none. */
  previous?: number;
}

/** What a sweep of the bucket came to. Every backup is counted once. */
export interface Sweep {
  /** Backups in the bucket. */
  seen: number;
  /** Younger than the grace period: left for the next time. */
  young: number;
  /** Without the product's mark, or unreadable: an application's own. */
  unmarked: number;
  /** Owned by a ledger here, or not made by one: of another deployment, or of an earlier version. */
  owned: number;
  /** Owned by no ledger, and deleted; only counted in a dry run. */
  swept: number;
  /** Could not be looked at or deleted: left for the next time. */
  failed: number;
  /**
   * Archives without metadata, older than the grace period. They carry no mark, so they are never
   * deleted and not among the backups seen: each may be an application's own upload, or what a sandbox
   * left that died while it stored a backup.
   * @default 0
   */
  unowned: number;
  /**
   * The first of these, in the order of their keys.
   * @default []
   *
   * @maxItems 100
   */
  unownedObjects: UnownedObject[];
  /** Whether nothing was deleted. */
  dryRun: boolean;
}

/** An object in the bucket that no ledger can own. */
export interface UnownedObject {
  /** Its key in the bucket. */
  key: string;
  /** Its size, in bytes. */
  sizeBytes: number;
  /** How long ago it was written, in seconds. */
  ageSeconds: number;
}

/** A bucket to sweep. */
export interface SweepOptions {
  /**
   * Whether only to count.
   * @default false
   */
  dryRun?: boolean;
  /**
   * How old a backup must be, in seconds, to be swept.
   * @default 86400
   */
  graceSeconds?: number;
}

/** A workspace that can be worked in. */
export interface StartedWorkspace extends Workspace {
  /** Its sandbox, as every workspace is passed on. */
  workspace: WorkspaceRef;
  /**
   * How it got its files.
   *
   * - `alive`: They were in place.
   * - `restored`: They were restored from a snapshot.
   * - `empty`: It has none yet: it is new, or begins anew because that was asked for.
   * - `kept`: Those are kept that were written since it woke by itself.
   */
  how: 'alive' | 'restored' | 'empty' | 'kept';
  /** In what the snapshot is stale. */
  stale: string[];
  /** What hooks came to. */
  hookRuns: HookRun[];
  /** The snapshot that was restored. */
  restoredFrom?: string;
  /** The snapshot that the files were saved in which were there instead. */
  saved?: string;
}

/** A named workspace. */
export interface Workspace {
  /** What it is called. */
  name: string;
  /** Whose it is. */
  tenant: string;
  /** What it is doing, as far as is known: a sandbox that fell asleep since is noticed by the next start. */
  state: WorkspaceState;
  /** Its sandbox: what the application gives to `getSandbox()` while it is active. */
  sandboxId: string;
  /** The sandboxes that it had before, the newest first: snapshots of them are its own. */
  formerSandboxIds: string[];
  /** The directory that persists. */
  dir: string;
  /** Whether a stop takes a snapshot. */
  persistent: boolean;
  /** How long its snapshots are kept. */
  retention: Policy;
  /** Commands that run in its sandbox. */
  hooks: Hooks;
  /** When it is stopped by itself. */
  expiry: Expiry;
  /** What its snapshots depend on. */
  dependsOn: DependsOn;
  /** The names of the environment variables that are set in its sandbox. */
  envNames: string[];
  /** When it was made. */
  createdAt: string;
  /** When something was last seen to happen with it. */
  activeAt: string;
  /** How it got to its state, the newest transition first. */
  history: Transition[];
  /** When it is stopped by itself if nothing happens. */
  endsAt?: string;
  /** The snapshot of its last stop. */
  lastSnapshot?: LastSnapshot;
  /** What went wrong last, until it goes well. */
  problem?: WorkspaceProblem;
  /** When it was last started. */
  startedAt?: string;
}

/** What the snapshots of a workspace depend on. */
export interface DependsOn {
  /**
   * Files whose hashes are taken with each snapshot: absolute, or in the workspace's directory.
   *
   * @maxItems 32
   */
  files?: string[];
  /** Anything that says what the world is like: a commit, a version. */
  fingerprint?: string;
  /**
   * What it means when the sandbox's image is another one at a start.
   *
   * - `fail`: The start fails.
   * - `report`: It is only told: files mostly outlive an image.
   * @default "report"
   */
  onImageChange?: 'fail' | 'report';
  /**
   * What it means when a file or the fingerprint is another one at a start.
   *
   * - `fail`: The start fails.
   * - `report`: It is only told.
   * @default "fail"
   */
  onMismatch?: 'fail' | 'report';
}

/** When a workspace is stopped by itself. */
export interface Expiry {
  /**
   * Seconds without a start, fork or update of it, and without a changed file; 0 is never.
   * @default 600
   */
  idleSeconds?: number;
  /**
   * Seconds after it was started, whatever happens; 0 is never.
   * @default 0
   */
  maxSeconds?: number;
}

/** A step from one state to another. */
export interface Transition {
  /** The state from then on. */
  to: WorkspaceState;
  /** When. */
  at: string;
  /** Why, for people. */
  cause: string;
  /** The state before; absent for a new workspace. */
  from?: WorkspaceState;
}

/**
 * What a named workspace is doing.
 *
 * - `provisioning`: Its first sandbox is being made.
 * - `active`: Its sandbox was handed out, and is somebody's place of work.
 * - `stopping`: A snapshot is being taken, and then the sandbox is ended.
 * - `stopped`: It has no sandbox that runs. It can be started from its newest snapshot.
 * - `restoring`: A sandbox is being made to hold its files again.
 * - `failed`: It could not be made or started, and waits for a decision.
 * - `deleted`: It is gone, and its name is free.
 */
export type WorkspaceState =
  'provisioning' | 'active' | 'stopping' | 'stopped' | 'restoring' | 'failed' | 'deleted';

/** Commands that run in the sandbox. */
export interface Hooks {
  /** After the files are in place, before the workspace is handed out. */
  afterStart?: Hook;
  /** Before the snapshot of a stop is taken. */
  beforeStop?: Hook;
  /** Before a stop that nobody asked for, because a time limit is reached. */
  onTimeout?: Hook;
}

/** A command that runs in the sandbox, by `sh -c`, in the workspace's directory. */
export interface Hook {
  /** The command. */
  command: string;
  /**
   * What a failure means.
   *
   * - `fail`: What it belongs to fails too: the start, or the stop.
   * - `warn`: It is only told.
   * @default "fail"
   */
  onFailure?: 'fail' | 'warn';
  /**
   * How long it may take, in seconds; then it is killed.
   * @default 60
   */
  timeoutSeconds?: number;
}

/** A snapshot, as a workspace remembers it. */
export interface LastSnapshot {
  /** The snapshot. */
  id: string;
  /** The sandbox that it was taken of. */
  originId: string;
  /** The directory that it holds. */
  dir: string;
  /** The size of its archive, in bytes. */
  sizeBytes: number;
  /** When it was taken. */
  createdAt: string;
}

/** What went wrong. */
export interface WorkspaceProblem {
  /** The stable code. */
  code: Code;
  /** What happened, to what. */
  message: string;
  /** What to do about it. */
  remediation: string;
  /** When. */
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
  | 'CROSS_SESSION'
  | 'SNAPSHOT_NOT_FOUND'
  | 'SNAPSHOT_HELD'
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

/** What a hook came to. */
export interface HookRun {
  /** Which hook. */
  hook: 'beforeStop' | 'afterStart' | 'onTimeout';
  /** Whether it succeeded. */
  ok: boolean;
  /** Whether it was killed because its time was over. */
  timedOut: boolean;
  /** What it printed, on both streams: the beginning and the end of it. */
  output: string;
  /** Its exit code; absent where it was killed, or is not known. */
  exitCode?: number;
}

/** A workspace to be made. */
export interface CreateWorkspaceOptions extends WorkspaceAddress, WorkspaceSettings {
  /** The directory that persists; the source's, or the deployment's, where absent. */
  dir?: string;
  /** A key by which the same call can be made again, and gets the same workspace. */
  idempotencyKey?: string;
  /** A snapshot to begin with. Not together with `sourceWorkspace`. */
  sourceSnapshot?: Selection;
  /**
   * Another workspace of the tenant, to begin with its present files. Not together with
   * `sourceSnapshot`.
   */
  sourceWorkspace?: string;
}

/** How a workspace is kept. Each is taken as a whole, and what is absent stays as it is. */
export interface WorkspaceSettings {
  /** What its snapshots depend on. */
  dependsOn?: DependsOn;
  /**
   * Environment variables of its sandbox, which are set again at every start. They may be secrets, and
   * are never told.
   */
  env?: Record<string, string>;
  /** When it is stopped by itself. */
  expiry?: Expiry;
  /** Commands that run in its sandbox. */
  hooks?: Hooks;
  /** Whether a stop takes a snapshot; yes where it was never said. */
  persistent?: boolean;
  /** How long its snapshots are kept. */
  retention?: Policy;
}

/** A workspace to be made where there is none, and else to be started. */
export type GetOrCreateWorkspaceOptions = Record<string, unknown>;

/** How a caller wants a workspace to be started. */
export interface StartSettings {
  /**
   * Whether it is started although its snapshot is stale.
   * @default false
   */
  acceptStale?: boolean;
  /**
   * Whether it is started empty where there is nothing to restore.
   * @default false
   */
  allowEmpty?: boolean;
  /**
   * What files must have been at the snapshot: SHA-256 in hexadecimal, by the paths of
   * `dependsOn.files`.
   */
  expect?: Record<string, string>;
  /**
   * What becomes of files that were written since the sandbox woke by itself.
   *
   * - `fail`: The start fails, and nothing is touched.
   * - `keep`: They are the workspace's from now on.
   * - `save`: They are kept as a snapshot of their own, and the newest one before is restored.
   * - `discard`: They go, and the newest snapshot is restored.
   * @default "fail"
   */
  onDiverged?: 'fail' | 'keep' | 'save' | 'discard';
}

/** A page of a tenant's workspaces, in the order of their names. */
export interface WorkspacePage {
  /** The workspaces. */
  workspaces: WorkspaceEntry[];
  /** Where the next page begins, if there is one. */
  cursor?: string;
}

/** A workspace, as lists show it. */
export interface WorkspaceEntry {
  /** What it is called. */
  name: string;
  /** What it was doing when it was last heard of. */
  state: WorkspaceState;
  /** Its sandbox. */
  sandboxId: string;
  /** When it was made. */
  createdAt: string;
  /** When that was last heard. */
  updatedAt: string;
  /** How often it has changed, over all workspaces that ever had the name. */
  version: number;
  /** The size of the snapshot of its last stop, in bytes. */
  sizeBytes?: number;
}

/** A page of a tenant's workspaces. */
export interface ListWorkspacesOptions {
  /** The name behind which the page begins. */
  cursor?: string;
  /**
   * How many are on it at most.
   * @default 100
   */
  limit?: number;
  /** How their names begin. */
  prefix?: string;
  /** Whose; the default tenant's where absent. */
  tenant?: string;
}

/** A workspace to be started. */
export interface StartWorkspaceOptions extends WorkspaceAddress, StartSettings {
  /** What the world is like now; unchanged where absent. */
  fingerprint?: string;
}

/** What a stop answers. */
export interface StoppedWorkspace extends Workspace {
  /** Whether the sandbox had ended before: what was not in a snapshot then is lost. */
  wasAsleep: boolean;
  /**
   * Whether files were still being changed while the snapshot was taken: they may be in it as they were
   * before.
   */
  unsettled: boolean;
  /** What hooks came to. */
  hookRuns: HookRun[];
  /** The snapshot that files were saved in which were written after the sandbox had slept. */
  saved?: string;
}

/** What a fork answers. */
export interface ForkedWorkspaces {
  /** The snapshot that all of them are made from. */
  snapshotId: string;
  /** The sandbox that it was taken of. */
  originId: string;
  /** What became of each, in their order. */
  forks: Fork[];
}

/** One fork: a value or an error. */
export interface Fork {
  /** What it is called. */
  name: string;
  /** Why there is none. */
  error?: WorkspaceProblem;
  /** The workspace, as a start answers it. */
  value?: StartedWorkspace;
}

/** Workspaces to be made from the present files of another one. */
export interface ForkWorkspaceOptions extends WorkspaceAddress {
  /**
   * Whether they get the environment variables, which may be secrets.
   * @default false
   */
  copyEnv?: boolean;
  /**
   * How many; one where absent.
   * @default 1
   */
  count?: number;
  /** A key by which the same call can be made again, and gets the same workspaces. */
  idempotencyKey?: string;
  /** What the fork is called; `<newName>-1`, `<newName>-2`… where there are several. Minted where absent. */
  newName?: string;
}

/** A workspace to be changed. */
export interface UpdateWorkspaceOptions extends WorkspaceAddress, WorkspaceSettings {
  /**
   * Whether it goes back although that one is stale.
   * @default false
   */
  acceptStale?: boolean;
  /** The snapshot to go back to. */
  currentSnapshotId?: string;
}

/** What the deletion of a workspace answers. */
export interface DeletedWorkspace {
  /** What it was called. */
  name: string;
  /** Whether it was there until now. One that is gone already is fine. */
  removed: boolean;
  /** How many of its snapshots go. */
  removedSnapshots: number;
  /** Its snapshots that others need: they go when they are released. */
  kept: KeptSnapshot[];
  /** Its sandboxes whose snapshots could not be looked at yet: that follows. */
  pending: string[];
}

/** A snapshot that others need. */
export interface KeptSnapshot {
  /** The snapshot. */
  snapshotId: string;
  /** The sandbox that it was taken of. */
  originId: string;
  /** The sandboxes that need it. */
  holders: string[];
  /** Whether it is pinned. */
  pinned: boolean;
}

/** What `checkpoints/create` answers. */
export interface CreatedCheckpoint extends Checkpoint {
  /** The commit that had the name until now. */
  replaced?: string;
}

/** A checkpoint. */
export interface Checkpoint {
  /** What it is called. */
  name: string;
  /** The git commit that it is, in hexadecimal: 40 digits, or 64 in a repository of SHA-256. */
  commit: string;
  /** When it was made, by the clock of the container. */
  createdAt: string;
  /** What it is of. */
  description: string;
}

/** A checkpoint to be made. */
export interface CreateCheckpointOptions extends CheckpointsOptions {
  /** What it is called. */
  name: string;
  /** What it is of; `snapshot: <name>` where absent. */
  description?: string;
}

/** Where checkpoints are. */
export interface CheckpointsOptions extends Session {
  /** The sandbox. */
  sandboxId: string;
  /** The directory; the deployment's default where absent. */
  dir?: string;
}

/** A page of a list of checkpoints. */
export interface Checkpoints {
  /**
   * The checkpoints, the newest first. Of a description that another tool wrote, these are the first
   * 10,000 characters.
   */
  checkpoints: Checkpoint[];
  /** Where the next page begins, if there is one. */
  cursor?: string;
}

/** A page of the checkpoints in a sandbox. */
export interface ListCheckpointsOptions extends CheckpointsOptions {
  /** Where the page begins; at the newest where absent. */
  cursor?: string;
  /**
   * How many are on it at most. A page ends earlier where its checkpoints have more than 1 MiB.
   * @default 100
   */
  limit?: number;
}

/** What `checkpoints/restore` answers. */
export interface RestoredCheckpoint {
  /** The checkpoint. */
  name: string;
  /** Its commit. */
  commit: string;
  /**
   * The paths that were written, edited or removed by it, in their order, relative to the directory; at
   * most 5,000. One with control characters, quotes, backslashes or bytes that are not UTF-8 is quoted
   * as git quotes it.
   */
  changed: string[];
  /** How many there are of them. */
  changedCount: number;
  /**
   * The commit of what was there before, if that was anything else. It is kept under
   * `refs/sandbox/before-restore` until the next restore that changes something; in a linked work tree,
   * under `refs/worktree/sandbox/before-restore`.
   */
  before?: string;
}

/** A checkpoint to go back to. */
export interface RestoreCheckpointOptions extends CheckpointsOptions {
  /** Which. */
  name: string;
}

/** What `checkpoints/diff` answers. */
export interface CheckpointDiff {
  /** The checkpoint. */
  name: string;
  /** Its commit. */
  commit: string;
  /** A unified diff from the checkpoint to the files as they are now; empty where nothing differs. */
  diff: string;
  /** The size of the whole diff, in bytes. */
  sizeBytes: number;
  /** Whether the end of the diff was cut off, because it is longer than was asked for. */
  truncated: boolean;
}

/** A checkpoint to compare the files with. */
export interface DiffCheckpointOptions extends CheckpointsOptions {
  /** Which. */
  name: string;
  /**
   * How long the diff may be, in bytes.
   * @default 262144
   */
  maxBytes?: number;
}

/** What `tools/list` answers. */
export interface Tools {
  /** The tools. */
  tools: ToolDefinition[];
}

/** A tool, as a language model is told of it. */
export interface ToolDefinition {
  /** What it is called by: 1–64 of the characters `A–Z a–z 0–9 _ -`. */
  name: string;
  /** What it is called for people. */
  title: string;
  /** What it does, what it does not, and what to do with its answer. */
  description: string;
  /** The JSON Schema of its arguments. */
  inputSchema: Record<string, unknown>;
  /** The JSON Schema of the `structuredContent` that it answers. */
  outputSchema: Record<string, unknown>;
  /** What calling it means. */
  annotations: ToolAnnotations;
}

/** What calling a tool means, for who decides whether a model may. */
export interface ToolAnnotations {
  /** Whether it changes nothing. */
  readOnlyHint: boolean;
  /** Whether it can take away what somebody may still want. */
  destructiveHint: boolean;
  /** Whether calling it again with the same arguments changes nothing more. */
  idempotentHint: boolean;
  /** Whether it reaches beyond the workspaces: none does. */
  openWorldHint: boolean;
}

/** Which tools there are: those for some workspaces. */
export interface Toolset {
  /**
   * The workspaces; at least one of them has tools.
   *
   * @minItems 1
   * @maxItems 16
   */
  workspaces: ToolWorkspace[];
  /**
   * Whether there are only tools that change nothing.
   * @default false
   */
  readOnly?: boolean;
  /**
   * How the tools are called.
   *
   * - `namespaced`: `workspace__<name>__<op>`: for each workspace tools of its own.
   * - `flat`: `workspace_<op>`, and `snapshot_<op>` for checkpoints: tools for all workspaces, which
   * take the name as an argument where there is more than one.
   * @default "namespaced"
   */
  style?: 'namespaced' | 'flat';
}

/** A workspace that tools are for. */
export interface ToolWorkspace {
  /** What the model knows it by: 1–35 letters, digits, `_` and `-`; up to 64 in the flat style. */
  name: string;
  /**
   * Whether the tools reach every sandbox and snapshot of this deployment, and not only the workspace
   * and what was made from it.
   * @default false
   */
  allowCrossSession?: boolean;
  /** Whether there are tools for checkpoints; as `snapshot` where absent. */
  checkpoint?: boolean;
  /** The directory that is captured, of a sandbox; the deployment's default where absent. */
  dir?: string;
  /** The sandbox that it is; where absent, it is the workspace that persists by a name. */
  sandboxId?: string;
  /**
   * Whether there are tools for snapshots.
   * @default false
   */
  snapshot?: boolean;
  /** Whose it is; the default tenant's where absent. */
  tenant?: string;
  /** The name by which it persists; `name` where absent. */
  workspace?: string;
}

/** What a tool came to. */
export interface ToolResult {
  /** A short text for the model. */
  content: ToolText[];
  /** Of a failure: the error, as `sandbox-snapshotter/error`. */
  _meta?: Record<string, unknown>;
  /** Whether it failed. */
  isError?: boolean;
  /** The same as data, by the tool's output schema; absent where it failed. */
  structuredContent?: Record<string, unknown>;
}

/** A text for a language model. */
export interface ToolText {
  /** Always `text`. */
  type: 'text';
  /** The text. */
  text: string;
}

/** A tool to be called. */
export interface CallToolOptions extends Toolset {
  /** The name of the tool. */
  name: string;
  /** The arguments, as the model gave them. */
  arguments?: {
    [k: string]: unknown;
  };
  /**
   * A key by which the same call can be made again, and takes the same snapshot, or answers the same new
   * workspace.
   */
  idempotencyKey?: string;
}

/** What `tools/grant` answers. */
export interface ToolGrant {
  /** A bearer token for `/mcp`, which gives these tools and nothing else. */
  token: string;
  /** Until when. */
  expiresAt: string;
}

/** A token to be made, for who may use some tools over MCP. */
export interface GrantToolsOptions extends Toolset {
  /**
   * For how long, in seconds.
   * @default 86400
   */
  expirationSeconds?: number;
}

/** What was found of a deployment. */
export interface Health {
  /** Whether nothing was found that is wrong. */
  ok: boolean;
  /** The version of the snapshotter. */
  version: string;
  /** What time it is there. */
  time: string;
  /** What was looked at, in its order. */
  checks: HealthCheck[];
}

/** One part of a deployment. It tells of no configured value: names and absences only. */
export interface HealthCheck {
  /**
   * The part.
   *
   * - `config`: The vars that the Worker reads.
   * - `bucket`: The R2 bucket that backups are in.
   * - `sandboxes`: The Durable Object namespace of the sandboxes.
   * - `workspaces`: The Durable Object namespaces of the Worker's own workspaces.
   * - `directory`: The list of named workspaces.
   * - `apiToken`: The token of the HTTP API.
   * - `backupCredentials`: What sandboxes sign their transfers to the bucket with.
   * - `metrics`: The Analytics Engine dataset that operations are counted in.
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
  /** The code that operations fail with because of it. */
  code?: Code;
  /** Whether it is right; absent where it need not be there, or can't be judged from here. */
  ok?: boolean;
  /** What to do about it. */
  remediation?: string;
}

/** A look at the deployment. */
export type HealthOptions = Record<string, unknown>;

/** What an error carries, over RPC and HTTP alike. */
export interface Problem {
  /** The stable code, for programs. */
  code: Code;
  /** What sort of failure it is. */
  kind: Kind;
  /** What happened, to what. */
  message: string;
  /** What to do about it. */
  remediation: string;
  /** Whether the same call may succeed later. */
  retryable: boolean;
  /** By which the call is found in the log. */
  correlationId: string;
  /** What the platform or the SDK threw, where something did. */
  cause?: Failure;
}

/**
 * A failure of the world outside: what the platform or the SDK threw.
 *
 * What is text in it is made safe when it is taken in: query strings of URLs are cut out, since the
 * SDK signs its URLs in them, and it is shortened to 500 characters.
 */
export interface Failure {
  /** The name of the thrown error's class. */
  name: string;
  /** What it said. */
  message: string;
  /** The SDK's error code (`errorResponse.code`), where it survived the way here. */
  code?: string;
}

/**
 * What sort of failure it is, for callers that handle failures by class.
 *
 * - `transient`: May pass by itself: the same call can be made again.
 * - `permanent`: Stays until something is changed: the arguments, the configuration, the sandbox.
 * - `conflict`: The present state of the sandbox does not allow it.
 * - `not_found`: It definitely does not exist (any more).
 * - `resource_exhausted`: A limit was reached.
 * - `unsupported`: This deployment or platform can't do it.
 * - `policy_denied`: The caller may not do it.
 */
export type Kind =
  | 'transient'
  | 'permanent'
  | 'conflict'
  | 'not_found'
  | 'resource_exhausted'
  | 'unsupported'
  | 'policy_denied';
