/** The basic operations on the files of a container. Paths can be relative to the directory of the class. */
import { SandboxError, type SandboxErrorCode } from './errors.ts';
import { MAX_OUTPUT_BYTES, sh, type ProgramOptions, type Ran } from './process.ts';

/** The content of a file, to write. */
export type FileContent = string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>;

/** What runs a program in a container. */
export interface Programs {
  execProgram(argv: string[], options?: ProgramOptions): Promise<Ran>;
}

/** The codes of the errors that programs print. */
const CODES: Record<string, SandboxErrorCode> = {
  'No such file or directory': 'FILE_NOT_FOUND',
  'Directory nonexistent': 'FILE_NOT_FOUND',
  'File exists': 'FILE_EXISTS',
  'Is a directory': 'IS_DIRECTORY',
  'Not a directory': 'NOT_DIRECTORY',
  'Permission denied': 'PERMISSION_DENIED',
  'No space left on device': 'NO_SPACE',
};

/** Runs a program, and returns its output. Fails where the program does, with the code of its last message. */
export async function outputOf(programs: Programs, argv: string[], stdin?: ReadableStream): Promise<string> {
  const { exitCode, stdout, stderr } = await programs.execProgram(argv, { env: { LC_ALL: 'C' }, stdin });
  if (exitCode === 0) return stdout;
  const reason = stderr.trim();
  throw new SandboxError(CODES[reason.split(': ').pop() as string] ?? 'FILESYSTEM_ERROR', reason);
}

export abstract class Files implements Programs {
  abstract execProgram(argv: string[], options?: ProgramOptions): Promise<Ran>;

  async writeFile(path: string, content: FileContent) {
    await outputOf(this, sh('cat >"$1"', path), new Response(content).body as ReadableStream);
    return { success: true as const, path };
  }

  async readFile(path: string) {
    const content = await outputOf(this, ['head', '-c', String(MAX_OUTPUT_BYTES + 1), '--', path]);
    return { success: true as const, path, content };
  }

  async exists(path: string) {
    const output = await outputOf(this, sh('[ ! -e "$1" ] || echo 1', path));
    return { success: true as const, path, exists: output !== '' };
  }

  async mkdir(path: string, { recursive = false } = {}) {
    await outputOf(this, ['mkdir', ...(recursive ? ['-p'] : []), '--', path]);
    return { success: true as const, path };
  }

  async deleteFile(path: string) {
    await outputOf(this, ['rm', '--', path]);
    return { success: true as const, path };
  }
}
