// Selects the snapshot to compare another one with, or the present files.

import { useState } from 'preact/hooks';

import { now } from '../clock.ts';
import { age } from '../format.ts';
import { go } from '../routes.ts';
import { snapshotsOf, takenAt, type Nodes, type SnapshotNode } from '../tree/nodes.ts';
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

/** Asks for the other snapshot or the present files, and shows the differences from the older one to the newer one. */
export function Compare({
  node,
  others,
  nodes,
  onClose,
}: {
  node: SnapshotNode;
  others: SnapshotNode[];
  nodes: Nodes;
  onClose: () => void;
}) {
  const [other, setOther] = useState((parentOf(node, others, nodes) ?? others[0])?.id ?? PRESENT);
  const { sandboxId } = node.selected;
  const choices = [
    ...others.map((other) => {
      const taken = takenAt(other) && `, ${age(takenAt(other), now.peek())}`;
      return [other.id, `${other.name}${taken} (${other.selected.sandboxId})`] as const;
    }),
    [PRESENT, `Present files of ${sandboxId}`] as const,
  ];
  const of = ({ selected: { sandboxId, snapshotId = '' } }: SnapshotNode) => ({ sandboxId, snapshotId });
  const submit = (event: Event) => {
    event.preventDefault();
    if (other === PRESENT) return go({ at: 'diff', from: of(node), to: { sandboxId } });
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
