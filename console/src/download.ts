// Saves files of snapshots and workspaces on the user's machine.

import { SnapshotterError, type FileContent, type SecretsReport } from '../../client/src/index.ts';
import type { Address } from './routes.ts';
import { client } from './session.ts';
import { announce } from './ui/notice.tsx';

/** The maximum number of bytes of a file in an answer. */
export const PART = 1024 * 1024;

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
  if (secrets && secrets.excluded > 0) announce(leftOut(secrets));
}

/** Says which files a tar leaves out. */
function leftOut({ excluded, paths }: SecretsReport): string {
  const shown = paths.slice(0, 5).join(', ') + (excluded > 5 ? ', …' : '');
  return `Files with secrets are left out of the tar: ${shown} (${excluded}). snapshotter export --secrets keep includes them.`;
}

/** Downloads a file of a workspace part by part, and has the browser save it. */
export async function saveFromWorkspace(address: Address, path: string): Promise<void> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  let first: FileContent | undefined;
  for (;;) {
    const part = await client.files.read({ ...address, path, offset, length: PART });
    first ??= part;
    if (part.modifiedAt !== first.modifiedAt || part.sizeBytes !== first.sizeBytes) throw changed(path);
    parts.push(bytesOf(part));
    offset += part.length;
    if (part.length === 0 || offset >= part.sizeBytes) break;
  }
  saveAs(new Blob(parts), path.split('/').at(-1) ?? path);
}

function bytesOf({ content, encoding }: FileContent): Uint8Array<ArrayBuffer> {
  if (encoding === 'utf8') return new TextEncoder().encode(content) as Uint8Array<ArrayBuffer>;
  return Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
}

function changed(path: string): SnapshotterError {
  return new SnapshotterError({
    code: 'FILE_CHANGED',
    kind: 'conflict',
    message: `${path} changed while it was read.`,
    remediation: 'Download it again.',
    retryable: true,
    correlationId: undefined,
  });
}

function saveAs(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
