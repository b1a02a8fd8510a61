// The objects of a backup in R2. The SDK stores backups/<id>/data.sqsh and backups/<id>/meta.json.

import { SnapshotterError } from './errors.ts';

/** The metadata of a stored backup, with the checksum of its archive. */
export interface StoredBackup {
  name: string | null;
  dir: string;
  sizeBytes: number;
  createdAt: string;
  ttl: number;
  checksum: string | null;
}

interface Metadata extends Omit<StoredBackup, 'checksum'> {
  id: string;
}

const archiveKey = (id: string) => `backups/${id}/data.sqsh`;
const metadataKey = (id: string) => `backups/${id}/meta.json`;

/** Returns the owner that the name of a snapshot's backup states. A backup of another owner is never deleted. */
export const ownerOf = (snapshotId: string, originId: string) => `snapshotter/1 ${snapshotId} ${originId}`;

/** Reads the metadata of a backup and heads its archive. */
export async function headBackup(bucket: R2Bucket, id: string): Promise<StoredBackup> {
  const [metadata, archive] = await Promise.all([
    bucket.get(metadataKey(id)).then((object) => object?.json<Metadata>()),
    bucket.head(archiveKey(id)),
  ]);
  if (!metadata && !archive)
    throw new SnapshotterError('BACKUP_NOT_FOUND', `The backup ${id} is not in the bucket.`, 'Use another.');
  if (!metadata || !archive || metadata.id !== id || metadata.sizeBytes !== archive.size)
    throw new SnapshotterError(
      'BACKUP_INCOMPLETE',
      `The backup ${id} is incomplete.`,
      'Use another snapshot.',
    );
  const { md5 } = archive.checksums;
  const checksum = md5 ? `md5:${Buffer.from(md5).toString('hex')}` : null;
  const { name, dir, sizeBytes, createdAt, ttl } = metadata;
  return { name, dir, sizeBytes, createdAt, ttl, checksum };
}

/** Deletes a backup of this owner. The metadata is deleted last, so that an incomplete deletion still states its owner. */
export async function remove(bucket: R2Bucket, id: string, owner: string) {
  const metadata = await bucket.get(metadataKey(id)).then((object) => object?.json<Metadata>());
  if (metadata && metadata.name !== owner) return;
  await bucket.delete(archiveKey(id));
  await bucket.delete(metadataKey(id));
}

/** Deletes all backups of an owner in the bucket. */
export async function removeByOwner(bucket: R2Bucket, owner: string) {
  let cursor: string | undefined;
  do {
    const page = await bucket.list({ prefix: 'backups/', ...(cursor ? { cursor } : {}) });
    for (const { key } of page.objects) {
      const id = /^backups\/(.*)\/meta\.json$/.exec(key)?.[1];
      if (id) await remove(bucket, id, owner);
    }
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor);
}
