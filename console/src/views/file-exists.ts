// The failure of a write that would replace a file without the user's consent.

import { SnapshotterError } from '../../../client/src/index.ts';

/** Returns the failure for a path at which something exists. */
export function fileExists(path: string, remediation: string): SnapshotterError {
  return new SnapshotterError({
    code: 'FILE_EXISTS',
    kind: 'conflict',
    message: `${path} exists.`,
    remediation,
    retryable: false,
    correlationId: undefined,
  });
}
