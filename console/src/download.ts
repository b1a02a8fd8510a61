// Saves files of snapshots and workspaces on the user's machine.

import { PART, streamOf } from '../../client/src/file-stream.ts';
import type { SecretsReport } from '../../client/src/index.ts';
import type { Address } from './routes.ts';
import { client } from './session.ts';
import { announce } from './ui/notice.tsx';

/** A snapshot, and a path in it. */
export interface FilePlace {
  sandboxId: string;
  snapshotId: string;
  path: string;
}

/** Downloads a file, or a directory as a tar, and has the browser save it. The page holds it in memory until then. */
export async function save({ sandboxId, snapshotId, path }: FilePlace, isDirectory: boolean): Promise<void> {
  const selection = { sandboxId, snapshotId };
  const { body, secrets } = isDirectory
    ? await client.files.export({ ...selection, path: path || '/' })
    : await client.files.download({ ...selection, path });
  const name = path.split('/').findLast((part) => part !== '') ?? snapshotId;
  saveAs(await new Response(body).blob(), isDirectory ? `${name}.tar` : name);
  if (secrets && secrets.excluded > 0) announce(leftOut(secrets), { isWarning: true });
}

/** Says which files a tar leaves out. */
function leftOut({ excluded, paths }: SecretsReport): string {
  const shown = paths.slice(0, 5).join(', ') + (excluded > 5 ? ', …' : '');
  return `Files with secrets are left out of the tar: ${shown} (${excluded}). snapshotter export --secrets keep includes them.`;
}

/** Downloads a file of a workspace, and has the browser save it. The page holds it in memory until then. */
export async function saveFromWorkspace(address: Address, path: string): Promise<void> {
  const read = (offset: number) => client.files.read({ ...address, path, offset, length: PART });
  const { body } = await streamOf(path, read);
  saveAs(await new Response(body).blob(), path.split('/').at(-1) ?? path);
}

function saveAs(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
