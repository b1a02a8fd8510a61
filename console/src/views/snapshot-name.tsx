// A snapshot by its label, which is read once, and its id.

import { useOnce } from '../once.ts';
import { client } from '../session.ts';
import { Name } from '../ui/name.tsx';

/** The label of a snapshot and its id, or the id alone: until the label is read, without one, and if the snapshot is gone. */
export function SnapshotName({ sandboxId, snapshotId }: { sandboxId: string; snapshotId: string }) {
  const selection = { sandboxId, snapshotId };
  const { value } = useOnce(JSON.stringify(['name', selection]), (options) =>
    client.get({ ...selection, ...options }),
  );
  return <LabelAndId label={value?.label} snapshotId={snapshotId} />;
}

/** The label of a snapshot, if it is known and there is one, and its id. */
export function LabelAndId({ label, snapshotId }: { label: string | undefined; snapshotId: string }) {
  const id = <span class="mono">{snapshotId}</span>;
  if (label === undefined || label === snapshotId) return id;
  return (
    <>
      <Name of={label} /> ({id})
    </>
  );
}
