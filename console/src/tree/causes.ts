// The signs of the causes of snapshots.

import type { SnapshotCause } from '../../../client/src/index.ts';
import type { IconName } from '../ui/icons.tsx';

/** The sign of a cause. */
interface Sign {
  icon: IconName;
  text: string;
}

const back = (text: string): Sign => ({ icon: 'back', text: `before ${text}` });

/** The signs of the causes. A snapshot that a caller took has none, nor has one with a cause of a later release. */
export const CAUSES: Partial<Record<SnapshotCause, Sign>> = {
  stop: { icon: 'moon', text: 'at a stop' },
  autosave: { icon: 'refresh', text: 'automatic' },
  fork: { icon: 'branch', text: 'for a fork' },
  beforeRollback: back('rollback'),
  beforePromotion: back('promotion'),
  beforeStart: back('start from snapshot'),
  beforeImage: back('change of image'),
  rescue: { icon: 'warning', text: 'rescue' },
  import: { icon: 'add', text: 'imported' },
};
