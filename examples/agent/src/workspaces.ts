import type { Policy, Selection, WorkspaceRef } from './snapshotter.ts';

/**
 * Workspaces that persist by name, across sandboxes that come and go: `env.SNAPSHOTTER.workspaces`.
 *
 * Over HTTP each of them is `POST /v1/workspaces/<name of the method>`, with the same JSON.
 */
export interface Workspaces {
  /** Makes a workspace; `NAME_TAKEN` where there is one. */
  create(options: CreateOptions): Promise<Started>;
  /** Starts a workspace, or makes it where there is none. Of one that exists, only the fingerprint is changed. */
  getOrCreate(options: CreateOptions & StartOptions): Promise<Started>;
  /** What is known of a workspace. Starts nothing. */
  getByName(options: Name): Promise<Workspace>;
  /** A page of a tenant's workspaces, by their names. It may lag a little behind. */
  list(options: ListNamesOptions): Promise<Names>;
  /** Gives a workspace a sandbox that runs with its files in place. */
  start(options: Name & StartOptions & { fingerprint?: string }): Promise<Started>;
  /** Takes a snapshot, and ends the sandbox. */
  stop(options: Name): Promise<Stopped>;
  /** Makes other workspaces that begin where this one is now, all of them from one snapshot. */
  fork(options: ForkOptions): Promise<Forked>;
  /** Changes how a workspace is kept, or goes back to an earlier snapshot, in a new sandbox. */
  update(options: UpdateOptions): Promise<Workspace>;
  /** Ends a workspace, removes its snapshots and frees its name. */
  delete(options: Name): Promise<Deleted>;
}

export interface Name {
  /** `[A-Za-z0-9_][A-Za-z0-9_.-]*`, up to 63 characters. */
  name: string;
  /** Whose it is, in the same form: `default` where absent. */
  tenant?: string;
  signal?: AbortSignal;
}

/** How a workspace is kept. Each is taken as a whole: an update gives all of `hooks`, `expiry`, `dependsOn` or `env` anew. */
export interface Settings {
  /** Whether a stop takes a snapshot: yes where absent. */
  persistent?: boolean;
  retention?: Policy;
  hooks?: Hooks;
  expiry?: Expiry;
  dependsOn?: DependsOn;
  /** Environment variables, set again at every start. They are never told. The shell's own and `PATH` are refused. */
  env?: Record<string, string>;
}

export interface CreateOptions extends Name, Settings {
  /** What persists: `/workspace` where absent. */
  dir?: string;
  /** Another workspace of the tenant to begin with. */
  sourceWorkspace?: string;
  /** A snapshot to begin with. */
  sourceSnapshot?: Selection;
  /** The same key gets the same workspace. */
  idempotencyKey?: string;
}

/** Commands, run by `sh -c` in the workspace's directory. */
export interface Hooks {
  /** Before the snapshot of a stop. */
  beforeStop?: Hook;
  /** When the files are in place, before the workspace is handed out. */
  afterStart?: Hook;
  /** Before a stop that nobody asked for. */
  onTimeout?: Hook;
}

export interface Hook {
  command: string;
  /** 60 where absent, 600 at most. */
  timeoutSeconds?: number;
  /** `fail` where absent: the start or the stop fails too. */
  onFailure?: 'fail' | 'warn';
}

/** When a workspace is stopped by itself. */
export interface Expiry {
  /** Without a start, fork or update of it, and without a changed file: 600 where absent, 0 is never. */
  idleSeconds?: number;
  /** After it was started: 0, which is never, where absent. */
  maxSeconds?: number;
}

/** What the snapshots of a workspace depend on. */
export interface DependsOn {
  /** Files whose hashes are taken with each snapshot. Those outside of the directory are compared at a start. */
  files?: string[];
  /** Anything that says what the world is like, such as a commit. */
  fingerprint?: string;
  /** `fail` where absent. */
  onMismatch?: 'fail' | 'report';
  /** `report` where absent. */
  onImageChange?: 'fail' | 'report';
}

export interface StartOptions {
  /** What becomes of files that were written since the sandbox woke by itself: `fail` where absent. */
  onDiverged?: 'fail' | 'keep' | 'save' | 'discard';
  /** Start with nothing where there is nothing to restore. */
  allowEmpty?: boolean;
  /** Start although the snapshot is stale. */
  acceptStale?: boolean;
  /** What files must have been at the snapshot: SHA-256 in hexadecimal, by the paths of `dependsOn.files`. */
  expect?: Record<string, string>;
}

export interface ForkOptions extends Name {
  /** What the fork is called; `<newName>-1`, `<newName>-2`… where there are several. */
  newName?: string;
  /** 1 where absent, 100 at most. */
  count?: number;
  /** Whether the environment variables are copied, which may be secrets. */
  copyEnv?: boolean;
  /** The same key gets the same workspaces, for two days: the last 16 keys are remembered. */
  idempotencyKey?: string;
}

export interface UpdateOptions extends Name, Settings {
  /** The snapshot to go back to. */
  currentSnapshotId?: string;
  /** Go back although it is stale. */
  acceptStale?: boolean;
}

export interface ListNamesOptions {
  tenant?: string;
  signal?: AbortSignal;
  /** Of the page before. */
  cursor?: string;
  /** 100 where absent, 1000 at most. */
  limit?: number;
  prefix?: string;
}

export type State = 'provisioning' | 'active' | 'stopping' | 'stopped' | 'restoring' | 'failed' | 'deleted';

export interface Workspace {
  name: string;
  tenant: string;
  state: State;
  /** What `getSandbox()` takes while the workspace is active. */
  sandboxId: string;
  /** Its sandboxes before, the newest first: their snapshots are its own. */
  formerSandboxIds: string[];
  dir: string;
  persistent: boolean;
  retention: Policy;
  hooks: Hooks;
  expiry: Required<Expiry>;
  dependsOn: DependsOn;
  envNames: string[];
  createdAt: string;
  startedAt?: string;
  activeAt: string;
  /** When it is stopped by itself if nothing happens. */
  endsAt?: string;
  lastSnapshot?: { id: string; originId: string; dir: string; sizeBytes: number; createdAt: string };
  /** What went wrong last, until it goes well. */
  problem?: { code: string; message: string; remediation: string; at: string };
  /** How it got to its state, the newest transition first. */
  history: { from?: State; to: State; at: string; cause: string }[];
}

export interface Started extends Workspace {
  workspace: WorkspaceRef;
  /** How it got its files. `empty`: it has none yet. */
  how: 'alive' | 'restored' | 'empty' | 'kept';
  restoredFrom?: string;
  /** The snapshot that the files were saved in which were there instead. */
  saved?: string;
  /** In what the snapshot is stale. */
  stale: string[];
  hookRuns: HookRun[];
}

export interface Stopped extends Workspace {
  /** The snapshot that files were saved in which were written after the sandbox had slept. */
  saved?: string;
  /** Whether the sandbox had ended before. */
  wasAsleep: boolean;
  /** Whether files were still being changed while the snapshot was taken. */
  unsettled: boolean;
  hookRuns: HookRun[];
}

export interface HookRun {
  hook: keyof Hooks;
  ok: boolean;
  exitCode?: number;
  timedOut: boolean;
  /** The beginning and the end of what it printed. */
  output: string;
}

export interface Forked {
  snapshotId: string;
  originId: string;
  /** A value or an error for each. */
  forks: {
    name: string;
    value?: Started;
    error?: { code: string; message: string; remediation: string; at: string };
  }[];
}

export interface Deleted {
  name: string;
  removed: boolean;
  removedSnapshots: number;
  /** Snapshots that others need: they go when they are released. */
  kept: { snapshotId: string; originId: string; holders: string[]; pinned: boolean }[];
  /** Sandboxes whose snapshots could not be looked at yet: that follows. */
  pending: string[];
}

export interface Names {
  workspaces: {
    name: string;
    state: State;
    sandboxId: string;
    createdAt: string;
    updatedAt: string;
    version: number;
  }[];
  cursor?: string;
}
