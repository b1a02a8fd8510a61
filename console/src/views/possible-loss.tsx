// The warnings that files of a workspace may be lost.

import type { Workspace } from '../../../client/src/index.ts';
import { duration } from '../format.ts';
import { href } from '../routes.ts';
import { Name } from '../ui/name.tsx';
import { Remark } from '../ui/remark.tsx';
import { SnapshotLink } from './snapshot-link.tsx';
import { POSSIBLE_LOSS } from './workspace-operations.ts';
import { autosaveTimes } from './workspace-settings.tsx';
import { isLossPast, wasStartedEmpty } from './workspace-start.ts';

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
      {of.mayHaveLost && !of.containerEnded && !isLossPast(of) && (
        <Remark>
          {of.restoredFrom && (
            <>
              The last start restored <Source of={of} />.{' '}
            </>
          )}
          {wasStartedEmpty(of) && 'The last start was empty, although the workspace had files. '}
          {POSSIBLE_LOSS} If a file is missing, look into{' '}
          {of.restoredFrom?.newerPartialId && (
            <>
              the newer snapshot <LinkedId of={of} id={of.restoredFrom.newerPartialId} />, which leaves out
              files, and into{' '}
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

/** Says in the history that the last start may have lost files, after a stop saved the later ones. */
export function PastLoss({ of }: { of: Workspace }) {
  if (!isLossPast(of)) return null;
  return (
    <p class="hint">
      At its last start, files may have been lost: it was{' '}
      {of.restoredFrom ? (
        <>
          restored from <Source of={of} />
        </>
      ) : (
        'started without files'
      )}
      .
    </p>
  );
}

function LinkedId({ of, id }: { of: Workspace; id: string }) {
  return (
    <SnapshotLink of={of} id={id}>
      <Name of={id} />
    </SnapshotLink>
  );
}

/** The snapshot that the last start restored, with a link to it. */
function Source({ of }: { of: Workspace }) {
  if (!of.restoredFrom) return null;
  const { storage, snapshotId, ageSeconds } = of.restoredFrom;
  return (
    <>
      {storage === 'platform' && `a platform snapshot${snapshotId ? ' with the files of ' : ''}`}
      {snapshotId && <LinkedId of={of} id={snapshotId} />}, which was {duration(ageSeconds)} old
    </>
  );
}
