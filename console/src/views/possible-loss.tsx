// The warnings that files of a workspace may be lost.

import type { Workspace } from '../../../client/src/index.ts';
import { href } from '../routes.ts';
import { Name } from '../ui/name.tsx';
import { Remark } from '../ui/remark.tsx';
import { SnapshotLink } from './snapshot-link.tsx';
import { POSSIBLE_LOSS, sourceOf } from './workspace-operations.ts';
import { autosaveTimes } from './workspace-settings.tsx';
import { wasStartedEmpty } from './workspace-start.ts';

/** Says whether the container of a workspace has ended without a stop, and whether its last start may have lost files. */
export function PossibleLoss({ of }: { of: Workspace }) {
  return (
    <>
      {of.containerEnded && (
        <Remark>
          The container ended without a stop.{' '}
          {of.lastSavedAt
            ? 'The next start restores the newest snapshot of all files, or else the one it began with.'
            : 'No snapshot has all of its files.'}{' '}
          {POSSIBLE_LOSS}
        </Remark>
      )}
      {of.mayHaveLost && !of.containerEnded && (
        <Remark>
          {of.restoredFrom && `The last start restored ${sourceOf(of)}. `}
          {wasStartedEmpty(of) && 'The last start was empty, although the workspace had files. '}
          {POSSIBLE_LOSS} If a file is missing, look into{' '}
          {of.restoredFrom?.newerPartialId && (
            <>
              the newer snapshot{' '}
              <SnapshotLink of={of} id={of.restoredFrom.newerPartialId}>
                <Name of={of.restoredFrom.newerPartialId} />
              </SnapshotLink>
              , which leaves out files, and into{' '}
            </>
          )}
          <a href={href({ at: 'workspace', tenant: of.tenant, name: of.name })}>its other snapshots</a>.
          {autosaveTimes(of.autosave) === undefined &&
            ' Automatic saves, in the settings of the workspace, shorten the time in which changes can be lost.'}
        </Remark>
      )}
    </>
  );
}
