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
  | 'FILESYSTEM_ERROR';

/** The HTTP statuses other than 500. */
const STATUSES: Partial<Record<SandboxErrorCode, number>> = {
  INVALID_BACKUP_CONFIG: 400,
  BACKUP_NOT_FOUND: 404,
  BACKUP_EXPIRED: 400,
  BACKUP_TRANSFER: 503,
  OPERATION_INTERRUPTED: 409,
  CONTAINER_UNAVAILABLE: 503,
  CONTAINER_REPLACED: 409,
  COMMAND_TIMEOUT: 504,
  OUTPUT_TOO_LARGE: 413,
  TOOL_MISSING: 501,
  NO_SPACE: 507,
  FILE_NOT_FOUND: 404,
};

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
  /** The members that the errors of the SDK 0.12 have. */
  readonly errorResponse: { code: SandboxErrorCode; message: string; httpStatus: number; timestamp: string };

  constructor(code: SandboxErrorCode, message: string) {
    super(message);
    this.name = nameOf(code);
    this.code = code;
    const timestamp = new Date().toISOString();
    this.errorResponse = { code, message, httpStatus: STATUSES[code] ?? 500, timestamp };
  }
}

/** Returns the message of a thrown value. */
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);
