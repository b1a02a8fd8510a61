/** The errors of the class: they have the names and codes of the errors of the Sandbox SDK 0.12. */

/** The error codes, with the name of the error and its HTTP status. */
const ERRORS = {
  INVALID_BACKUP_CONFIG: ['InvalidBackupConfigError', 400],
  VALIDATION_FAILED: ['ValidationFailedError', 400],
  BACKUP_NOT_FOUND: ['BackupNotFoundError', 404],
  BACKUP_EXPIRED: ['BackupExpiredError', 400],
  BACKUP_INTEGRITY: ['BackupIntegrityError', 500],
  BACKUP_TRANSFER: ['BackupTransferError', 503],
  BACKUP_CREATE_FAILED: ['BackupCreateError', 500],
  BACKUP_RESTORE_FAILED: ['BackupRestoreError', 500],
  OPERATION_INTERRUPTED: ['OperationInterruptedError', 409],
  CONTAINER_UNAVAILABLE: ['ContainerUnavailableError', 503],
  CONTAINER_REPLACED: ['ContainerReplacedError', 409],
  COMMAND_TIMEOUT: ['CommandTimeoutError', 504],
  OUTPUT_TOO_LARGE: ['OutputTooLargeError', 413],
  TOOL_MISSING: ['ToolMissingError', 501],
  NO_SPACE: ['NoSpaceError', 507],
  FILE_NOT_FOUND: ['FileNotFoundError', 404],
  FILESYSTEM_ERROR: ['FileSystemError', 500],
} as const;

/** A code of a {@link SandboxError}. */
export type SandboxErrorCode = keyof typeof ERRORS;

/** An error with a stable code. Its properties survive RPC, also between Workers of different compatibility dates. */
export class SandboxError extends Error {
  override readonly name: string;
  readonly code: SandboxErrorCode;
  /** The members that the errors of the SDK 0.12 have. */
  readonly errorResponse: { code: SandboxErrorCode; message: string; httpStatus: number; timestamp: string };

  constructor(code: SandboxErrorCode, message: string) {
    const [name, httpStatus] = ERRORS[code];
    super(message);
    this.name = name;
    this.code = code;
    this.errorResponse = { code, message, httpStatus, timestamp: new Date().toISOString() };
  }
}

/** Returns the message of a thrown value. */
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);
