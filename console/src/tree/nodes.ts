// A lineage as a list of nodes: sandboxes and snapshots, each with the ids of its children.

import type { Tree, TreeSandbox, TreeSnapshot } from '../../../client/src/index.ts';
import type { Selected } from '../routes.ts';

/** The fields of every node. */
interface Base {
  /** The id of the node in the tree. */
  id: string;
  /** The id of the parent; absent for the first sandbox. */
  parentId?: string;
  /** The ids of the children. */
  children: string[];
  /** The name, for type-ahead. */
  name: string;
  /** The depth in the tree; 0 for the first sandbox. */
  level: number;
  /** The selection that shows the node's details. */
  selected: Selected;
  /** The data that the row shows, as text: a row is rendered again only if it differs. */
  rowData: string;
}

/** A sandbox in the tree. */
export interface SandboxNode extends Base {
  kind: 'sandbox';
  sandbox: TreeSandbox;
  /** Whether there is no trace of it: its container is not running, and there are no snapshots. */
  isUnknown: boolean;
  /** The length of the prefix that its id shares with the sandbox it was created from. */
  inherited: number;
}

/** A snapshot in the tree. */
export interface SnapshotNode extends Base {
  kind: 'snapshot';
  snapshot: TreeSnapshot;
}

/** A node of a lineage. */
export type LineageNode = SandboxNode | SnapshotNode;

/** The nodes of a lineage by their ids, each after its parent. */
export type Nodes = ReadonlyMap<string, LineageNode>;

/** Returns the id of a node. */
export function nodeId({ sandboxId, snapshotId }: Selected): string {
  return JSON.stringify(snapshotId === undefined ? [sandboxId] : [sandboxId, snapshotId]);
}

/** Returns the snapshots of a lineage, newest first. */
export function snapshotsOf(nodes: Nodes): SnapshotNode[] {
  return [...nodes.values()]
    .filter((node) => node.kind === 'snapshot')
    .toSorted((a, b) => takenAt(b).localeCompare(takenAt(a)));
}

/** When a snapshot was taken; empty if that is not known. */
export function takenAt({ snapshot }: SnapshotNode): string {
  return snapshot.createdAt ?? '';
}

/** Whether a snapshot has earlier files of a sandbox: the sandbox was created from it or from a later one, directly or through others. */
export function precedes(snapshot: SnapshotNode, sandboxId: string, nodes: Nodes): boolean {
  let node = nodes.get(nodeId({ sandboxId }));
  while (node?.parentId !== undefined) {
    node = nodes.get(node.parentId);
    if (node?.kind === 'snapshot' && node.parentId === snapshot.parentId)
      return takenAt(snapshot) <= takenAt(node);
  }
  return false;
}

/**
 * Returns the selection with the sandbox that has the snapshot: the snapshot that a workspace was restored from may be one of
 * another sandbox. A snapshot that is not in the lineage stays as it is.
 */
export function resolve(nodes: Nodes, selected: Selected): Selected {
  if (selected.snapshotId === undefined || nodes.has(nodeId(selected))) return selected;
  const found = [...nodes.values()].find((node) => node.selected.snapshotId === selected.snapshotId);
  return found?.selected ?? selected;
}

/** Converts a lineage to its nodes. `ended` is a sandbox that has ended since it was checked. */
export function nodesOf(tree: Tree, ended?: string): Nodes {
  const nodes = new Map<string, LineageNode>();

  function addSandbox(checked: TreeSandbox, level: number, parentId?: string, origin?: string): string {
    const sandbox = checked.sandboxId === ended ? { ...checked, running: false } : checked;
    const selected = { sandboxId: sandbox.sandboxId };
    const { snapshots, ...own } = sandbox;
    const children: string[] = [];
    const id = nodeId(selected);
    const base = { id, children, level, selected, ...(parentId === undefined ? {} : { parentId }) };
    const inherited = origin && sandbox.sandboxId.startsWith(`${origin}-`) ? origin.length : 0;
    const name = sandbox.sandboxId;
    const isUnknown = parentId === undefined && isWithoutTrace(sandbox);
    const rowData = JSON.stringify([own, isUnknown]);
    nodes.set(id, { ...base, kind: 'sandbox', sandbox, isUnknown, inherited, name, rowData });
    for (const snapshot of snapshots) children.push(addSnapshot(snapshot, sandbox.sandboxId, level + 1, id));
    return id;
  }

  function addSnapshot(snapshot: TreeSnapshot, sandboxId: string, level: number, parentId: string): string {
    const selected = { sandboxId, snapshotId: snapshot.snapshotId };
    const { derived, ...own } = snapshot;
    const children: string[] = [];
    const id = nodeId(selected);
    const name = snapshot.label ?? snapshot.snapshotId;
    const base = { id, children, level, selected, parentId, name };
    nodes.set(id, { ...base, kind: 'snapshot', snapshot, rowData: JSON.stringify(own) });
    for (const sandbox of derived) children.push(addSandbox(sandbox, level + 1, id, sandboxId));
    return id;
  }

  addSandbox(tree.root, 0);
  return nodes;
}

function isWithoutTrace({ running, workspace, problem, snapshots }: TreeSandbox): boolean {
  return running === false && !workspace && !problem && snapshots.length === 0;
}

/** The number of characters at the end of a name that a row always shows: `-8ap51un6` of a sandbox, `-143740-2` of a snapshot. */
const END = 9;

/** Returns where the end of a name begins that a narrow row keeps. A short name, or one that is not plain text, has none. */
export function endOf(name: string): number {
  return name.length > 2 * END && /^[ -~]+$/.test(name) ? name.length - END : name.length;
}

/** What it means that a snapshot is partial. */
export const PARTIAL = 'It leaves out files: no start restores it by itself';

/** The labels of the states that a row shows; undefined for the normal state. */
export const STATE_LABELS: Record<TreeSnapshot['state'], string | undefined> = {
  creating: 'creating',
  ready: undefined,
  deleting: 'deleting',
  deleted: 'deleted',
};
