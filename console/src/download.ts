// Saves files and directories of snapshots on the user's machine.

import { client } from './session.ts';

/** A snapshot, and a path in it. */
export interface FilePlace {
  sandboxId: string;
  snapshotId: string;
  path: string;
}

/** Downloads a file, or a directory as a tar, and has the browser save it. The page holds it in memory until then. */
export async function save({ sandboxId, snapshotId, path }: FilePlace, isDirectory: boolean): Promise<void> {
  const selection = { sandboxId, snapshotId };
  const { body } = isDirectory
    ? await client.files.export({ ...selection, path: path || '/' })
    : await client.files.download({ ...selection, path });
  const url = URL.createObjectURL(await new Response(body).blob());
  const name = path.split('/').findLast((part) => part !== '') ?? snapshotId;
  const link = document.createElement('a');
  link.href = url;
  link.download = isDirectory ? `${name}.tar` : name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
