// The directory or the file that a page is about.

import type { FileContent, FileDescription, FilePage } from '../../../client/src/index.ts';
import { PART } from '../../../client/src/file-stream.ts';
import { useOnce, type Once } from '../once.ts';
import type { Address } from '../routes.ts';
import { client } from '../session.ts';

/** What is at a path. */
export type Found = { file: FileDescription; page?: FilePage; content?: FileContent };

/** Reads what is at a path of a workspace or a snapshot: again only for another `key`. */
export function useFiles(
  of: Address | { sandboxId: string; snapshotId: string },
  path: string,
  limit: number,
  key?: unknown,
): Once<Found> {
  return useOnce(JSON.stringify([of, path, key]), async (options): Promise<Found> => {
    const at = { ...of, path: path || '/', ...options };
    const file = await client.files.stat(at);
    if (file.type === 'directory') return { file, page: await client.files.list({ ...at, limit }) };
    return file.type === 'file'
      ? { file, content: await client.files.read({ ...at, length: PART }) }
      : { file };
  });
}
