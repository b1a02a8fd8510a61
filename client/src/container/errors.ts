/** The errors of the class: they have the names and codes of the errors of the Sandbox SDK 0.12. */

/** A code of a {@link SandboxError}. */
export type SandboxErrorCode =
  | 'INVALID_BACKUP_CONFIG'
  | 'BACKUP_NOT_FOUND'
  | 'BACKUP_EXPIRED'
  | 'BACKUP_INTEGRITY'
  | 'BACKUP_TRANSFER'
  | 'BACKUP_CREATE_FAILED'
  | 'BACKUP_RESTORE_FAILED'
  | 'OPERATION_INTERRUPTED'
  | 'CONTAINER_UNAVAILABLE'
  | 'CONTAINER_REPLACED'
  | 'COMMAND_TIMEOUT'
  | 'OUTPUT_TOO_LARGE'
  | 'TOOL_MISSING'
  | 'NO_SPACE'
  | 'FILE_NOT_FOUND'
  | 'FILE_EXISTS'
  | 'IS_DIRECTORY'
  | 'NOT_DIRECTORY'
  | 'PERMISSION_DENIED'
  | 'FILESYSTEM_ERROR';

/** Returns the name of the error with a code: `BackupCreateError` for `BACKUP_CREATE_FAILED`. */
const nameOf = (code: SandboxErrorCode): string =>
  code
    .replace(/_(FAILED|ERROR)$/, '')
    .replace('FILES', 'FILE_S')
    .toLowerCase()
    .replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase()) + 'Error';

/** An error with a stable code. Its properties survive RPC, also between Workers of different compatibility dates. */
export class SandboxError extends Error {
  override readonly name: string;
  readonly code: SandboxErrorCode;
  /** As the errors of the SDK 0.12 have it. */
  readonly errorResponse: { code: SandboxErrorCode; message: string };

  constructor(code: SandboxErrorCode, message: string) {
    super(message);
    this.name = nameOf(code);
    this.code = code;
    this.errorResponse = { code, message };
  }
}

/** Returns the error of an archive that a thrown value interrupted. */
export const transferError = (thrown: unknown): SandboxError =>
  thrown instanceof SandboxError
    ? thrown
    : new SandboxError('BACKUP_TRANSFER', `The archive can't be transferred: ${messageOf(thrown)}`);

/** Returns the message of a thrown value. */
export const messageOf = (thrown: unknown): string => (thrown as Partial<Error>)?.message ?? String(thrown);
