// The warnings that files of a workspace may be lost.

import type { Workspace } from '../../../client/src/index.ts';
import { Remark } from '../ui/remark.tsx';
import { POSSIBLE_LOSS, sourceOf } from './workspace-operations.ts';

/** Says whether the container of a workspace has ended without a stop, and whether its last start may have lost files. */
export function PossibleLoss({ of }: { of: Workspace }) {
  return (
    <>
      {of.containerEnded && (
        <Remark>
          The container ended without a stop.{' '}
          {of.lastSavedAt ? 'The next start restores the newest snapshot.' : 'No snapshot has its files.'}{' '}
          {POSSIBLE_LOSS}
        </Remark>
      )}
      {of.mayHaveLost && (
        <Remark>
          {of.restoredFrom && `The last start restored ${sourceOf(of)}. `}
          {POSSIBLE_LOSS}
        </Remark>
      )}
    </>
  );
}
