// The remark that a sandbox will lack the files that a snapshot leaves out.

import { Remark } from '../ui/remark.tsx';

/** Says what a new sandbox lacks that is created from a partial snapshot. */
export function PartialRemark() {
  return <Remark>This snapshot leaves out files: they will be missing in the new sandbox.</Remark>;
}
