// The model: the expected sandboxes with their files, and the expected snapshots with their files, labels and dependents.

import type { SnapshotRef } from '../../client/src/index.ts';
import { Tree } from '../tree.ts';

/** A running sandbox. */
export class Sandbox {
  readonly id: string;
  tree: Tree;
  /** The existing snapshots of this sandbox. */
  readonly snapshots: Snapshot[] = [];
  /** The snapshot that this sandbox is a dependent of. */
  needs: Snapshot | undefined;

  constructor(id: string, tree: Tree = new Tree(), parent?: Snapshot) {
    this.id = id;
    this.tree = tree;
    this.needs = parent;
    parent?.dependents.add(id);
  }

  /** The snapshots in the order of lists, the newest first. */
  get newestFirst(): Snapshot[] {
    const order = ({ ref }: Snapshot) => `${ref.ref.createdAt} ${ref.ref.snapshotId}`;
    return this.snapshots.toSorted((a, b) => (order(a) < order(b) ? 1 : -1));
  }

  labelled(label: string): Snapshot | undefined {
    return this.snapshots.find((snapshot) => snapshot.label === label);
  }
}

/** An existing snapshot. */
export class Snapshot {
  ref: SnapshotRef;
  readonly origin: Sandbox;
  /** The captured files. */
  readonly tree: Tree;
  label: string;
  pinned = false;
  /** Whether the application made the backup. */
  imported = false;
  /** Whether the snapshot has an expiration of 0 and never expires. */
  neverExpires = false;
  /** The ids of the sandboxes that were made from it and have no snapshot of their own. */
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

  /** Whether policies keep the snapshot, and a deletion without `force` is refused. */
  get isProtected(): boolean {
    return this.pinned || this.dependents.size > 0;
  }

  /** Removes the snapshot from the model. */
  remove() {
    this.origin.snapshots.splice(this.origin.snapshots.indexOf(this), 1);
  }
}
