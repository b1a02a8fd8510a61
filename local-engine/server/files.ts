/** The part `files` of the API. */
import { isUtf8 } from 'node:buffer';
import { lstat, mkdir, open, readdir, readFile, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { SandboxError } from './errors.ts';
import { encodeEvent } from './events.ts';
import type { Api } from './rpc.ts';
import type { Sessions } from './sessions.ts';

/** The size of a chunk, in bytes. A multiple of 3, so that its base64 has no padding. */
const CHUNK_BYTES = 3 * 64 * 1024;

const mimeType = (binary: boolean) => (binary ? 'application/octet-stream' : 'text/plain');

/** Returns whether a file is binary: it contains a NUL byte or is not valid UTF-8. */
async function isBinaryFile(path: string): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const data of chunks(path)) {
      if (data.includes(0)) return true;
      decoder.decode(data, { stream: true });
    }
    decoder.decode();
    return false;
  } catch (error) {
    if (error instanceof TypeError) return true;
    throw error;
  }
}

async function* chunks(path: string): AsyncGenerator<Buffer, void> {
  const file = await open(path);
  try {
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

async function* fileEvents(path: string, size: number, binary: boolean): AsyncGenerator<Uint8Array, void> {
  const encoding = binary ? 'base64' : 'utf-8';
  yield encodeEvent({ type: 'metadata', mimeType: mimeType(binary), size, isBinary: binary, encoding });
  const decoder = new TextDecoder();
  let bytesRead = 0;
  for await (const data of chunks(path)) {
    bytesRead += data.length;
    const text = binary ? data.toString('base64') : decoder.decode(data, { stream: true });
    yield encodeEvent({ type: 'chunk', data: text });
  }
  yield encodeEvent({ type: 'complete', bytesRead });
}

async function describe(path: string, folder: string, name: string): Promise<object> {
  const info = await lstat(path);
  const kinds = [
    [info.isFile(), 'file'],
    [info.isDirectory(), 'directory'],
    [info.isSymbolicLink(), 'symlink'],
  ] as const;
  return {
    name,
    absolutePath: path,
    relativePath: relative(folder, path),
    type: kinds.find(([is]) => is)?.[1] ?? 'other',
    size: info.size,
    modifiedAt: info.mtime.toISOString(),
    mode: (info.mode & 0o7777).toString(8),
    permissions: {
      readable: (info.mode & 0o400) !== 0,
      writable: (info.mode & 0o200) !== 0,
      executable: (info.mode & 0o100) !== 0,
    },
  };
}

/** The part `files` of the API. Relative paths start at the session's directory. */
export function files(sessions: Sessions): Api {
  const at = (path: string, sessionId: string) => resolve(sessions.cwd(sessionId), path);
  const done = (path: string, more: object = {}) => ({
    success: true,
    path,
    timestamp: new Date().toISOString(),
    ...more,
  });

  const move = async (from: string, to: string, sessionId: string) => {
    await rename(at(from, sessionId), at(to, sessionId));
    return done(from, { newPath: to });
  };

  return {
    async readFile(path: string, sessionId: string, { encoding }: { encoding?: string } = {}) {
      const file = at(path, sessionId);
      if (encoding === 'none') {
        const { size } = await stat(file);
        const content = ReadableStream.from(chunks(file));
        return done(path, { content, size, mimeType: mimeType(await isBinaryFile(file)) });
      }
      const data = await readFile(file);
      const binary = encoding === 'base64' || (encoding === undefined && (data.includes(0) || !isUtf8(data)));
      const content = data.toString(binary ? 'base64' : 'utf8');
      const contentEncoding = binary ? 'base64' : 'utf-8';
      return done(path, {
        content,
        encoding: contentEncoding,
        isBinary: binary,
        mimeType: mimeType(binary),
        size: data.length,
      });
    },

    async readFileStream(path: string, sessionId: string) {
      const file = at(path, sessionId);
      const { size } = await stat(file);
      return ReadableStream.from(fileEvents(file, size, await isBinaryFile(file)));
    },

    async writeFile(
      path: string,
      content: string,
      sessionId: string,
      { encoding, permissions }: { encoding?: string; permissions?: string } = {},
    ) {
      const file = await open(at(path, sessionId), 'w');
      try {
        if (permissions !== undefined) await file.chmod(Number.parseInt(permissions, 8));
        await writeFile(file, Buffer.from(content, encoding === 'base64' ? 'base64' : 'utf8'));
      } finally {
        await file.close();
      }
      return done(path);
    },

    async writeFileStream(path: string, stream: ReadableStream<Uint8Array>, sessionId: string) {
      const file = await open(at(path, sessionId), 'w');
      let bytesWritten = 0;
      try {
        for await (const data of stream) {
          await writeFile(file, data);
          bytesWritten += data.length;
        }
      } finally {
        await file.close();
      }
      return done(path, { bytesWritten });
    },

    async deleteFile(path: string, sessionId: string) {
      await unlink(at(path, sessionId));
      return done(path);
    },

    renameFile: move,
    moveFile: move,

    async mkdir(path: string, sessionId: string, { recursive = false }: { recursive?: boolean } = {}) {
      await mkdir(at(path, sessionId), { recursive });
      return done(path, { recursive });
    },

    async exists(path: string, sessionId: string) {
      const found = await stat(at(path, sessionId)).catch(() => undefined);
      return done(path, { exists: found !== undefined });
    },

    async listFiles(
      path: string,
      sessionId: string,
      { recursive = false, includeHidden = false }: { recursive?: boolean; includeHidden?: boolean } = {},
    ) {
      const folder = at(path, sessionId);
      if (!(await stat(folder)).isDirectory()) {
        throw new SandboxError('NOT_DIRECTORY', `${path} is not a directory`, { path });
      }
      const entries = await readdir(folder, { recursive, withFileTypes: true });
      const paths = entries
        .map(({ parentPath, name }) => ({ name, path: join(parentPath, name) }))
        .filter((entry) => includeHidden || !/(^|\/)\./.test(relative(folder, entry.path)));
      const found = await Promise.all(paths.map((entry) => describe(entry.path, folder, entry.name)));
      return done(path, { files: found, count: found.length });
    },
  };
}
