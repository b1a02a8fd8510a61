// A file of a running workspace as a stream, which is read in parts.

import { errorOf } from './errors.ts';
import type { FileContent } from './types.ts';

/** The maximum number of bytes of a file in one answer. */
export const PART = 1024 * 1024;

/** A file as a stream. */
export interface FileStream {
  /** The size of the file in bytes. */
  sizeBytes: number;
  /** The bytes. An error of the stream means that they are incomplete. */
  body: ReadableStream<Uint8Array>;
}

/** Reads at most {@link PART} bytes of a file, from an offset. */
type Read = (offset: number) => Promise<FileContent>;

/**
 * Returns a file as a stream. Each part is read when it is consumed. The stream fails with `FILE_CHANGED` if the file changes before its
 * end: the parts would be of two versions.
 */
export async function streamOf(path: string, read: Read): Promise<FileStream> {
  const first = await read(0);
  let next: FileContent | undefined = first;
  let offset = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const part = next ?? (await read(offset));
        next = undefined;
        if (!isSameVersion(part, first)) throw changed(path);
        if (part.length > 0) controller.enqueue(bytesOf(part));
        offset += part.length;
        if (part.length === 0 || offset >= part.sizeBytes) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { sizeBytes: first.sizeBytes, body };
}

/** A large file has no etag. */
function isSameVersion(part: FileContent, first: FileContent): boolean {
  return (
    part.etag === first.etag && part.modifiedAt === first.modifiedAt && part.sizeBytes === first.sizeBytes
  );
}

function bytesOf({ content, encoding }: FileContent): Uint8Array {
  if (encoding === 'utf8') return new TextEncoder().encode(content);
  return Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
}

function changed(path: string) {
  return errorOf({
    code: 'FILE_CHANGED',
    kind: 'conflict',
    message: `${path} changed while it was read.`,
    remediation: 'Read it again.',
    retryable: false,
  });
}
