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

/** The fields of a manifest that say why a snapshot without a base is full. */
type Full = Pick<Manifest, 'partial' | 'fullReason'>;

/** Says which files a snapshot without a base contains, unless it is one of a release that did not record why. */
export function fullForm({ partial, fullReason }: Full): string | undefined {
  if (partial || fullReason === 'excludes') return 'all files, except the excluded ones';
  return fullReason && 'all files';
}

/** Says why a snapshot is full, if there is a reason that its form does not say already. */
export function whyFull({ fullReason }: Full): string | undefined {
  return fullReason && fullReason !== 'excludes' ? (FULL_REASONS[fullReason] ?? fullReason) : undefined;
}
