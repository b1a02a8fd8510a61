// Selects the snapshot to compare another one with.

import { useState } from 'preact/hooks';

import { go } from '../routes.ts';
import type { Nodes, SnapshotNode } from '../tree/nodes.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ChoiceField } from '../ui/field.tsx';

/** Returns the snapshots of a lineage that can be compared with a snapshot. */
export function comparable(node: SnapshotNode, nodes: Nodes): SnapshotNode[] {
  const isOther = (other: SnapshotNode) => other.id !== node.id && other.snapshot.state === 'ready';
  return [...nodes.values()].filter((other) => other.kind === 'snapshot').filter(isOther);
}

/** Asks for the other snapshot, and shows the differences from the older one to the newer one. */
export function Compare({
  node,
  others,
  onClose,
}: {
  node: SnapshotNode;
  others: SnapshotNode[];
  onClose: () => void;
}) {
  const [other, setOther] = useState(others[0]?.id ?? '');
  const choices = others.map(({ id, name, selected }) => [id, `${name} (${selected.sandboxId})`] as const);
  const submit = (event: Event) => {
    event.preventDefault();
    const chosen = others.find(({ id }) => id === other);
    if (!chosen) return;
    const isOlder = (chosen.snapshot.createdAt ?? '') < (node.snapshot.createdAt ?? '');
    const [from, to] = isOlder ? [chosen, node] : [node, chosen];
    const of = ({ selected: { sandboxId, snapshotId = '' } }: SnapshotNode) => ({ sandboxId, snapshotId });
    go({ at: 'diff', from: of(from), to: of(to) });
  };
  return (
    <Dialog title="Compare the files of two snapshots" onClose={onClose}>
      <form onSubmit={submit}>
        <ChoiceField label="Other snapshot" value={other} choices={choices} onValue={setOther} />
        <div class="buttons end">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary">Compare</Button>
        </div>
      </form>
    </Dialog>
  );
}
