// Links to snapshots of a workspace.

import type { ComponentChildren } from 'preact';

import type { Workspace } from '../../../client/src/index.ts';
import { href } from '../routes.ts';
import { SnapshotName } from './snapshot-name.tsx';

/** A link to a snapshot on the page of its workspace. `children` names the snapshot; if absent, its label is read once. */
export function SnapshotLink({
  of: { tenant, name, sandboxId },
  id: snapshotId,
  children = <SnapshotName {...{ sandboxId, snapshotId }} />,
}: {
  of: Workspace;
  id: string;
  children?: ComponentChildren;
}) {
  return (
    <a href={href({ at: 'workspace', tenant, name, selected: { sandboxId, snapshotId } })}>{children}</a>
  );
}

/** Says which snapshot has the files from before a rollback or a promotion, if it is known. */
export function SavedBefore({ of }: { of: Workspace }) {
  return of.formerSnapshotId ? (
    <>
      {' '}
      The files from before are in <SnapshotLink of={of} id={of.formerSnapshotId} />.
    </>
  ) : null;
}
