// The texts of the reasons why a snapshot is full.

import type { FullReason } from '../../../client/src/index.ts';

/** Why a snapshot contains all files, and not the changes since another one. */
export const FULL_REASONS: Record<FullReason, string> = {
  noBase: 'there is no earlier full snapshot of this container',
  container: 'the container is another one than that of the last full snapshot',
  inventory: 'the inventory of the last full snapshot is not in the container',
  directory: 'the last full snapshot is of another directory, or this one is a link',
  excludes: 'paths are excluded',
  rescue: 'it is a rescue snapshot',
  baseUnusable: 'the last full snapshot is deleted, damaged, or about to expire',
  baseSmall: 'the files are small',
  baseOld: 'the last full snapshot is older than 7 days',
  baseFull: 'the last full snapshot has 32 deltas already',
  large: 'more than 25 % of the bytes changed',
  entries: 'there are more than 500,000 files',
  overlay: 'the files are in an overlay over a mounted archive',
  mount: 'a file system is mounted in the directory',
  fileSystem: 'the file system may not record all changes',
  tools: 'the image lacks a program for deltas',
  special: 'there are devices, FIFOs, or links with several names',
  attributes: 'a directory has extended attributes or an access control list',
  changing: 'files changed while they were read',
  clock: 'the clock of the container was set',
  disk: 'the disk of the container is full',
  failed: 'the comparison with the last full snapshot failed',
};
