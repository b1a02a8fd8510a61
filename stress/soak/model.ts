// What there should be: sandboxes with their files, and snapshots with theirs, their labels and their dependents.

import type { SnapshotRef } from '../../client/src/index.ts';
import { Tree } from '../tree.ts';

/** A sandbox that runs. */
export class Sandbox {
  readonly id: string;
  tree: Tree;
  /** The snapshots of it that are there. */
  readonly snapshots: Snapshot[] = [];
  /** The snapshot that it needs. */
  needs: Snapshot | undefined;

  constructor(id: string, tree: Tree = new Tree(), parent?: Snapshot) {
    this.id = id;
    this.tree = tree;
    this.needs = parent;
    parent?.dependents.add(id);
  }

  /** Its snapshots in the order of lists: the newest first. */
  get newestFirst(): Snapshot[] {
    const order = ({ ref }: Snapshot) => `${ref.ref.createdAt} ${ref.ref.snapshotId}`;
    return this.snapshots.toSorted((one, two) => (order(one) < order(two) ? 1 : -1));
  }

  labelled(label: string): Snapshot | undefined {
    return this.snapshots.find((snapshot) => snapshot.label === label);
  }
}

/** A snapshot that is there. */
export class Snapshot {
  ref: SnapshotRef;
  readonly origin: Sandbox;
  /** The files that it holds. */
  readonly tree: Tree;
  label: string;
  pinned = false;
  /** Whether the backup is the application's own. */
  imported = false;
  /** Whether it was given an expiration of its own, of 0: it stays until it is deleted. */
  lasting = false;
  /** The sandboxes that were made from it and have no snapshot of their own, whether they run or not. */
  readonly dependents = new Set<string>();

  constructor(origin: Sandbox, ref: SnapshotRef, label: string, tree: Tree = origin.tree) {
    this.origin = origin;
    this.ref = ref;
    this.label = label;
    this.tree = tree;
    origin.snapshots.push(this);
  }

  get id(): string {
    return this.ref.ref.snapshotId;
  }

  /** Whether no policy lets it go, and no deletion that is not forced. */
  get isProtected(): boolean {
    return this.pinned || this.dependents.size > 0;
  }

  /** It is there no more. */
  forget() {
    this.origin.snapshots.splice(this.origin.snapshots.indexOf(this), 1);
  }
}
