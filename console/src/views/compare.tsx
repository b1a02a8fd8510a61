// Selects the snapshot to compare another one with, or present files.

import { useState } from 'preact/hooks';

import type { Workspace } from '../../../client/src/index.ts';
import { now } from '../clock.ts';
import { go } from '../routes.ts';
import { nodeId, takenAt, type Nodes, type SnapshotNode } from '../tree/nodes.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ChoiceField } from '../ui/field.tsx';
import {
  diffToPresent,
  ownPresentFiles,
  parentOf,
  presentChoices,
  snapshotChoices,
  type PresentFiles,
} from './compare-choices.ts';

/** Asks for the other snapshot or the present files, and shows the differences from the older one to the newer one. */
export function Compare({
  node,
  others,
  present,
  nodes,
  workspace,
  onClose,
}: {
  node: SnapshotNode;
  /** The other snapshots. */
  others: SnapshotNode[];
  /** The present files of the running sandboxes. */
  present: PresentFiles[];
  nodes: Nodes;
  /** The workspace that the page is about. */
  workspace: Workspace | undefined;
  onClose: () => void;
}) {
  const choices = [
    ...presentChoices(present),
    ...snapshotChoices(node, others, nodes, workspace, now.peek()),
  ];
  const [other, setOther] = useState(() => {
    const own = ownPresentFiles(node, nodes, workspace);
    return own ? nodeId(own) : (parentOf(node, others, nodes)?.id ?? others[0]?.id ?? choices[0]?.[0] ?? '');
  });
  const of = ({ selected: { sandboxId, snapshotId = '' } }: SnapshotNode) => ({ sandboxId, snapshotId });
  const submit = (event: Event) => {
    event.preventDefault();
    const files = present.find(({ sandboxId }) => nodeId({ sandboxId }) === other);
    if (files) return go(diffToPresent(node, files));
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
