// Selects the snapshot to compare another one with, or the present files.

import { useState } from 'preact/hooks';

import type { Workspace } from '../../../client/src/index.ts';
import { now } from '../clock.ts';
import { age } from '../format.ts';
import { go, type Place } from '../routes.ts';
import { nodeId, snapshotsOf, takenAt, type Nodes, type SnapshotNode } from '../tree/nodes.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ChoiceField } from '../ui/field.tsx';

/** The choice of the present files. */
const PRESENT = '';

/** Returns the snapshots of a lineage that can be compared with a snapshot, newest first. */
export function comparable(node: SnapshotNode, nodes: Nodes): SnapshotNode[] {
  return snapshotsOf(nodes).filter((other) => other.id !== node.id && other.snapshot.state === 'ready');
}

/** Returns the parent of a snapshot: the one before it in its sandbox, or the one that the sandbox was created from. */
export function parentOf(node: SnapshotNode, others: SnapshotNode[], nodes: Nodes): SnapshotNode | undefined {
  const origin = nodes.get(node.parentId ?? '')?.parentId;
  return (
    others.find((other) => other.parentId === node.parentId && takenAt(other) < takenAt(node)) ??
    others.find(({ id }) => id === origin)
  );
}

/** The present files that a snapshot can be compared with: those of a sandbox whose container runs. */
export interface PresentFiles {
  name: string;
  sandboxId: string;
}

/** Returns the present files of the workspace that the page is about, or else of the sandbox of the snapshot. */
export function presentFiles(
  node: SnapshotNode,
  nodes: Nodes,
  workspace?: Workspace,
): PresentFiles | undefined {
  const sandboxId = workspace?.sandboxId ?? node.selected.sandboxId;
  const owner = nodes.get(nodeId({ sandboxId }));
  if (owner?.kind === 'sandbox' && owner.sandbox.running === false) return undefined;
  return { name: workspace?.name ?? sandboxId, sandboxId };
}

/** Returns the page with the differences from a snapshot to present files. */
export function diffToPresent({ selected }: SnapshotNode, { sandboxId }: PresentFiles): Place {
  return {
    at: 'diff',
    from: { sandboxId: selected.sandboxId, snapshotId: selected.snapshotId ?? '' },
    to: { sandboxId },
  };
}

/** Asks for the other snapshot or the present files, and shows the differences from the older one to the newer one. */
export function Compare({
  node,
  others,
  nodes,
  present,
  onClose,
}: {
  node: SnapshotNode;
  others: SnapshotNode[];
  nodes: Nodes;
  present: PresentFiles | undefined;
  onClose: () => void;
}) {
  const [other, setOther] = useState(
    (present ? undefined : (parentOf(node, others, nodes) ?? others[0])?.id) ?? PRESENT,
  );
  const choices = [
    ...(present ? [[PRESENT, `Present files of ${present.name}`] as const] : []),
    ...others.map((other) => {
      const taken = takenAt(other) && `, ${age(takenAt(other), now.peek())}`;
      return [other.id, `${other.name}${taken} (${other.selected.sandboxId})`] as const;
    }),
  ];
  const of = ({ selected: { sandboxId, snapshotId = '' } }: SnapshotNode) => ({ sandboxId, snapshotId });
  const submit = (event: Event) => {
    event.preventDefault();
    if (other === PRESENT && present) return go(diffToPresent(node, present));
    const chosen = others.find(({ id }) => id === other);
    if (!chosen) return;
    const [from, to] = takenAt(chosen) < takenAt(node) ? [chosen, node] : [node, chosen];
    go({ at: 'diff', from: of(from), to: of(to) });
  };
  return (
    <Dialog title="Compare the files of the snapshot" onClose={onClose}>
      <form onSubmit={submit}>
        <ChoiceField label="With" value={other} choices={choices} onValue={setOther} />
        <div class="buttons end">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary">Compare</Button>
        </div>
      </form>
    </Dialog>
  );
}
