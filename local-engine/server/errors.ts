/** Errors in the form that the Sandbox class recognizes: capnweb transfers `code` and `details`. */

/** An error with one of the SDK's codes. */
export class SandboxError extends Error {
  readonly code: string;
  readonly details: Record<string, unknown>;
  constructor(code: string, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

const FILE_CODES: Record<string, string> = {
  ENOENT: 'FILE_NOT_FOUND',
  EACCES: 'PERMISSION_DENIED',
  EPERM: 'PERMISSION_DENIED',
  EEXIST: 'FILE_EXISTS',
  EISDIR: 'IS_DIRECTORY',
  ENOTDIR: 'NOT_DIRECTORY',
  ENOSPC: 'NO_SPACE',
  EROFS: 'READ_ONLY',
  EBUSY: 'RESOURCE_BUSY',
  ENAMETOOLONG: 'NAME_TOO_LONG',
};

/** Converts a thrown value to an error of the SDK. */
export function toSandboxError(thrown: unknown): SandboxError {
  if (thrown instanceof SandboxError) return thrown;
  const error = (thrown instanceof Error ? thrown : new Error(String(thrown))) as NodeJS.ErrnoException;
  if (error.code === undefined) return new SandboxError('INTERNAL_ERROR', error.message);
  return new SandboxError(FILE_CODES[error.code] ?? 'FILESYSTEM_ERROR', error.message, { path: error.path });
}
