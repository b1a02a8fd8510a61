// What is in R2 of a backup: the SDK keeps backups/<id>/data.sqsh and backups/<id>/meta.json.

import { SnapshotterError } from './errors.ts';

/** What was found of a backup. */
export interface Found {
  name: string | null;
  dir: string;
  sizeBytes: number;
  createdAt: string;
  ttl: number;
  checksum: string | null;
}

interface Metadata extends Omit<Found, 'checksum'> {
  id: string;
}

const archiveKey = (id: string) => `backups/${id}/data.sqsh`;
const metadataKey = (id: string) => `backups/${id}/meta.json`;

/** The mark that the backup of a snapshot carries: nothing without it is ever deleted. */
export const markOf = (snapshotId: string, originId: string) => `snapshotter/1 ${snapshotId} ${originId}`;

/** Looks a backup up. */
export async function lookUp(bucket: R2Bucket, id: string): Promise<Found> {
  const [metadata, archive] = await Promise.all([
    bucket.get(metadataKey(id)).then((object) => object?.json<Metadata>()),
    bucket.head(archiveKey(id)),
  ]);
  if (!metadata && !archive)
    throw new SnapshotterError('BACKUP_NOT_FOUND', `The backup ${id} is not in the bucket.`, 'Use another.');
  if (!metadata || !archive || metadata.id !== id || metadata.sizeBytes !== archive.size)
    throw new SnapshotterError(
      'BACKUP_INCOMPLETE',
      `The backup ${id} is not whole.`,
      'Use another snapshot.',
    );
  const { md5 } = archive.checksums;
  const checksum = md5 ? `md5:${Buffer.from(md5).toString('hex')}` : null;
  const { name, dir, sizeBytes, createdAt, ttl } = metadata;
  return { name, dir, sizeBytes, createdAt, ttl, checksum };
}

/** Deletes a backup, if it carries that mark. The metadata goes last: as long as there is anything, it carries its mark. */
export async function remove(bucket: R2Bucket, id: string, mark: string) {
  const metadata = await bucket.get(metadataKey(id)).then((object) => object?.json<Metadata>());
  if (metadata && metadata.name !== mark) return;
  await bucket.delete(archiveKey(id));
  await bucket.delete(metadataKey(id));
}

/** Deletes what carries a mark, wherever in the bucket it is. */
export async function removeMarked(bucket: R2Bucket, mark: string) {
  let cursor: string | undefined;
  do {
    const page = await bucket.list({ prefix: 'backups/', ...(cursor ? { cursor } : {}) });
    for (const { key } of page.objects) {
      const id = /^backups\/(.*)\/meta\.json$/.exec(key)?.[1];
      if (id) await remove(bucket, id, mark);
    }
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor);
}
