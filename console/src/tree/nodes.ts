// A lineage as a list of nodes: sandboxes and snapshots, each with what grows from it.

import type { Tree, TreeSandbox, TreeSnapshot } from '../../../client/src/index.ts';
import type { Selected } from '../routes.ts';

/** What every node has. */
interface Base {
  /** By which the tree knows it. */
  id: string;
  /** The node that it grows from; absent for the first sandbox. */
  parentId?: string;
  /** What grows from it, by their ids. */
  children: string[];
  /** What it is called, for typing ahead. */
  name: string;
  /** How deep it stands; 0 for the first sandbox. */
  level: number;
  /** Its place in the lineage. */
  selected: Selected;
  /** Everything about it that is shown, to tell whether anything changed. */
  face: string;
}

/** A sandbox in the tree. */
export interface SandboxNode extends Base {
  kind: 'sandbox';
  sandbox: TreeSandbox;
  /** How many characters of its id are those of the sandbox that it grew from. */
  inherited: number;
}

/** A snapshot in the tree. */
export interface SnapshotNode extends Base {
  kind: 'snapshot';
  snapshot: TreeSnapshot;
}

/** A node of a lineage. */
export type LineageNode = SandboxNode | SnapshotNode;

/** The nodes of a lineage by their ids, each after the one that it grows from. */
export type Nodes = ReadonlyMap<string, LineageNode>;

/** The id of a node. */
export function nodeId({ sandboxId, snapshotId }: Selected): string {
  return JSON.stringify(snapshotId === undefined ? [sandboxId] : [sandboxId, snapshotId]);
}

/** The nodes of a lineage. */
export function nodesOf(tree: Tree): Nodes {
  const nodes = new Map<string, LineageNode>();

  function addSandbox(sandbox: TreeSandbox, level: number, parentId?: string, origin?: string): string {
    const selected = { sandboxId: sandbox.sandboxId };
    const { snapshots, ...own } = sandbox;
    const children: string[] = [];
    const id = nodeId(selected);
    const base = { id, children, level, selected, ...(parentId === undefined ? {} : { parentId }) };
    const inherited = origin && sandbox.sandboxId.startsWith(`${origin}-`) ? origin.length : 0;
    const name = sandbox.sandboxId;
    nodes.set(id, { ...base, kind: 'sandbox', sandbox, inherited, name, face: JSON.stringify(own) });
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
    nodes.set(id, { ...base, kind: 'snapshot', snapshot, face: JSON.stringify(own) });
    for (const sandbox of derived) children.push(addSandbox(sandbox, level + 1, id, sandboxId));
    return id;
  }

  addSandbox(tree.root, 0);
  return nodes;
}

/** What is said of a snapshot that is not simply there. */
export const PASSING: Record<TreeSnapshot['state'], string | undefined> = {
  creating: 'being made',
  ready: undefined,
  deleting: 'being deleted',
  deleted: 'deleted',
};
