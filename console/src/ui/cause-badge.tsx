// The badge of the cause of a snapshot.

import type { SnapshotCause } from '../../../client/src/index.ts';
import { CAUSES } from '../tree/causes.ts';
import { Badge } from './badge.tsx';

/** Says why a snapshot was taken, unless a caller took it. */
export function CauseBadge({ of }: { of: SnapshotCause | undefined }) {
  const sign = of && CAUSES[of];
  return sign ? <Badge icon={sign.icon}>{sign.text}</Badge> : null;
}
