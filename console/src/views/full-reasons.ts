// The texts about a snapshot that is full: what it contains, and why.

import type { FullReason, Manifest } from '../../../client/src/index.ts';

/** Why a snapshot contains all files, and not the changes since another one. The command line has the same texts. */
export const FULL_REASONS: Record<FullReason, string> = {
  noBase: 'the container has no full snapshot to compare with',
  container: 'the container is another one than that of the base',
  inventory: 'the inventory of the base is missing, damaged or of another base',
  directory: 'the base is of another directory, or the directory is reached through a symbolic link',
  excludes: 'files are excluded',
  rescue: 'it is a rescue snapshot',
  baseUnusable: 'the base is deleted, damaged or about to expire',
  baseSmall: 'the files or the base are smaller than 5 MB',
  baseOld: 'the base is older than 7 days',
  baseFull: 'the base has 32 deltas already',
  large: 'more than 25 % of the bytes changed',
  entries: 'the directory has more than 500,000 entries',
  overlay: 'the files are in an overlay over a mounted archive',
  mount: 'a file system is mounted in the directory',
  fileSystem: 'the file system may not record all changes',
  tools: 'the image lacks a program',
  special: 'the directory contains devices, FIFOs or symbolic links with several names',
  attributes: 'a directory has extended attributes or an access control list',
  changing: 'files changed while they were read',
  clock: 'the clock of the container was set',
  disk: 'the disk of the container is full',
  failed: 'the comparison failed',
};

/** Says which files a snapshot without a base contains, and why it is full. Undefined if there is nothing to say. */
export function fullForm({
  partial,
  fullReason,
}: Pick<Manifest, 'partial' | 'fullReason'>): string | undefined {
  if (!partial && fullReason === undefined) return undefined;
  const isPartial = partial || fullReason === 'excludes';
  const files = isPartial ? 'all files, except the excluded ones' : 'all files';
  return fullReason === undefined || fullReason === 'excludes'
    ? files
    : `${files}: ${FULL_REASONS[fullReason] ?? fullReason}`;
}
