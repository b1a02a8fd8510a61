// The model of a round: the versions of files, and the answers so far. It allows for unknown outcomes of failed calls.

import type { SnapshotRef, Workspace } from '../../client/src/index.ts';
import { Tree } from '../tree.ts';
import { ReadWriteLock } from './read-write-lock.ts';
import type { RepeatableCall } from './round.ts';

/** A sandbox whose files callers change. */
export class Origin {
  readonly id: string;
  readonly lock = new ReadWriteLock();
  /** The versions of its files, the newest last. */
  readonly versions: Tree[] = [];
  /** Whether its container was killed, so that its files are lost. */
  isLost = false;
  /** Whether its files were rewritten after a loss. From then on, it is captured with `wake`. */
  wasRewritten = false;

  constructor(id: string) {
    this.id = id;
  }

  get tree(): Tree {
    return this.versions.at(-1) ?? new Tree();
  }
}

/** A reported snapshot. */
export interface KnownSnapshot {
  ref: SnapshotRef;
  /** The possible contents: the origin's files at any time from the first call to the answer. */
  trees: Tree[];
  /** Whether a caller has requested its deletion. */
  mayBeDeleted: boolean;
  isDeleted: boolean;
  /** Whether it is a rescue snapshot, which does not count as the newest one of its sandbox. */
  isRescue: boolean;
  /** Whether the content is unknown: it was captured with `wake`, and the machine went down meanwhile. */
  isUnknown: boolean;
}

/** A sandbox that a caller got from a restore. */
export interface RestoredSandbox {
  id: string;
  of: KnownSnapshot;
  /** The time of the answer. */
  at: number;
  /** The sandbox as an origin, once a caller changes its files. */
  origin?: Origin;
}

/** Where a stop of a workspace stores the files. */
export type Storage = Workspace['storage'];

/** A named workspace. One caller at a time uses it. */
export class Named {
  readonly name: string;
  readonly lock = new ReadWriteLock();
  /** The storage of its next stop. */
  storage: Storage;
  /** The value of its environment variable. */
  readonly secret: string;
  /** The last known sandbox. */
  sandboxId = '';
  /** Whether the last known state is active. */
  isActive = false;
  /** Whether a caller has requested its deletion. */
  mayBeDeleted = false;
  isDeleted = false;
  /** Whether its container was killed after its files were last known. */
  isLost = false;
  /** Whether its storage ever was the platform alone: the answer of a stop that stored its files there may be lost. */
  usedPlatform: boolean;
  /** The number of platform snapshots of its sandboxes that disappeared. */
  disappeared = 0;
  /** Whether an answer reported that files may be lost. */
  isLossReported = false;
  /** The archive of its last stop, and its files. */
  last: { id: string; tree: Tree } | undefined;
  /** A call whose outcome is unknown. */
  pending: RepeatableCall | undefined;
  #saved: Tree | undefined;
  #since: Tree[] = [];
  #disappearedBefore = 0;

  constructor(name: string, secret: string, storage: Storage) {
    this.name = name;
    this.secret = secret;
    this.storage = storage;
    this.usedPlatform = storage === 'platform';
  }

  /** The newest files. */
  get tree(): Tree {
    return this.#since.at(-1) ?? this.#saved ?? new Tree();
  }

  /** The possible files: the newest ones; after its container was killed, all since the saved ones. */
  get trees(): Tree[] {
    if (!this.isLost) return [this.tree];
    return [...(this.#saved ? [this.#saved] : []), ...this.#since];
  }

  /** Whether any files are in a snapshot. */
  get isSaved(): boolean {
    return this.#saved !== undefined;
  }

  /** Records files that were written, and are only in the container. */
  recordWrite(tree: Tree) {
    this.#since.push(tree);
  }

  /** Records that this workspace is a fork of another one. */
  recordForkOf(other: Named) {
    this.isLossReported = other.isLossReported;
    if (!other.isLost) return this.recordSaved(other.tree);
    this.#saved = other.#saved;
    this.#since = [...other.#since];
    this.isLost = true;
  }

  /** Whether the only platform snapshot with its saved files may have disappeared. */
  get isPlatformLost(): boolean {
    return this.usedPlatform && this.disappeared > this.#disappearedBefore;
  }

  /** Records files that are in an archive. */
  recordSaved(tree: Tree) {
    this.#saved = tree;
    this.#since = [tree];
  }

  /** Records files that are only in a platform snapshot. `disappeared` is the number at the beginning of the stop. */
  recordSavedOnPlatform(tree: Tree, disappeared: number) {
    this.recordSaved(tree);
    this.#disappearedBefore = disappeared;
  }
}
