/**
 * More operations on files, for a class with snapshots. They are a module of their own, so that a class without them is smaller.
 *
 *     export class Sandbox extends withFiles(SnapshotSandbox) {}
 */
import type { DurableObject } from 'cloudflare:workers';
import { outputOf } from './basic-files.ts';
import { SandboxError } from './errors.ts';
import type { SnapshotMethods } from './methods.ts';
import { open } from './process.ts';

/** A file, a directory or a symbolic link, which is not followed. */
export interface FileInfo {
  name: string;
  /** Its path, for other calls. */
  path: string;
  /** Its path in the listed directory; empty for `stat`. */
  relativePath: string;
  type: 'file' | 'directory' | 'symlink' | 'other';
  /** In bytes. */
  size: number;
  modifiedAt: string;
  /** Its permissions in octal digits, as `644`. */
  mode: string;
}

/** The methods that {@link withFiles} adds to a class. */
export interface FileMethods {
  /** Reads a file of any size and content. The stream fails where the file can't be read to its end. */
  readFileStream(path: string): Promise<ReadableStream<Uint8Array>>;
  /** Returns the type, the size and the permissions of a file or a directory. */
  stat(path: string): Promise<FileInfo>;
  /** Lists the files and directories in a directory: those with some 100,000 names fit into an answer. */
  listFiles(path: string, options?: { recursive?: boolean }): Promise<{ path: string; files: FileInfo[] }>;
  /** Renames or moves a file or a directory, and replaces a file of the new name. */
  moveFile(path: string, newPath: string): Promise<{ success: true; path: string; newPath: string }>;
  /** As `moveFile`. */
  renameFile(path: string, newPath: string): Promise<{ success: true; path: string; newPath: string }>;
  /** Deletes a file, or with `recursive` a directory and everything in it. */
  deleteFile(path: string, options?: { recursive?: boolean }): Promise<{ success: true; path: string }>;
}

type SnapshotClass = abstract new (...args: any[]) => DurableObject<any> & SnapshotMethods;

/** The output of `find` for each file. */
const FORMAT = ['%P', '%y', '%s', '%T@', '%m', ''].join('\\0');

const TYPES: Record<string, FileInfo['type']> = { f: 'file', d: 'directory', l: 'symlink' };

/** Adds operations on files to a class with snapshots. */
export function withFiles<B extends SnapshotClass>(base: B) {
  abstract class WithFiles extends base implements FileMethods {
    async readFileStream(path: string) {
      // Fails before the stream where the file can't be read.
      const resolved = await outputOf(this, ['realpath', '-e', '--', path]);
      await outputOf(this, ['head', '-c', '1', '--', path]);
      const container = this.ctx.container as Container;
      const process = await open(container, ['cat', '--', resolved.slice(0, -1)], { stderr: 'ignore' });
      const verify = async () => {
        const exitCode = await process.exitCode;
        if (exitCode !== 0)
          throw new SandboxError('FILESYSTEM_ERROR', `${path} was read in part: exit code ${exitCode}.`);
      };
      const stdout = process.stdout as ReadableStream<Uint8Array>;
      return stdout.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({ flush: verify }));
    }

    async stat(path: string) {
      return (await this.#find(path, '-maxdepth', '0'))[0] as FileInfo;
    }

    async listFiles(path: string, { recursive = false } = {}) {
      const depth = recursive ? [] : ['-maxdepth', '1'];
      return { path, files: await this.#find(`${path}/`, '-mindepth', '1', ...depth) };
    }

    async moveFile(path: string, newPath: string) {
      await outputOf(this, ['mv', '-T', '--', path, newPath]);
      return { success: true as const, path, newPath };
    }

    renameFile(path: string, newPath: string) {
      return this.moveFile(path, newPath);
    }

    override async deleteFile(path: string, { recursive = false } = {}) {
      await outputOf(this, ['rm', ...(recursive ? ['-r'] : []), '--', path]);
      return { success: true as const, path };
    }

    override async getSession(id: string) {
      const methods = METHODS.map((name) => [name, (this as any)[name].bind(this)]);
      return { ...(await super.getSession(id)), ...Object.fromEntries(methods) };
    }

    async #find(path: string, ...depth: string[]): Promise<FileInfo[]> {
      const start = path.startsWith('/') ? path : `./${path}`; // It may begin with a hyphen.
      const argv = ['find', start, ...depth, '-ignore_readdir_race', '-printf', FORMAT];
      const fields = (await outputOf(this, argv)).split('\0');
      return Array.from({ length: (fields.length - 1) / 5 }, (_, at) => {
        const [relativePath, type, size, time, mode] = fields.slice(at * 5) as [
          string,
          string,
          string,
          string,
          string,
        ];
        return {
          name: (relativePath || path).split('/').pop() as string,
          path: path + relativePath,
          relativePath,
          type: TYPES[type] ?? 'other',
          size: Number(size),
          modifiedAt: new Date(Number(time) * 1000).toISOString(),
          mode,
        };
      });
    }
  }
  return WithFiles as unknown as B & (new (...args: any[]) => FileMethods);
}

const METHODS: (keyof FileMethods)[] = [
  'readFileStream',
  'stat',
  'listFiles',
  'moveFile',
  'renameFile',
  'deleteFile',
];
