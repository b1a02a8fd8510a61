// Errors: what happened, and what to do about it.

/** What kind of failure each code is. */
const KINDS = {
  INVALID_ARGUMENT: 'permanent',
  INVALID_REF: 'permanent',
  REF_MISMATCH: 'policy_denied',
  SANDBOX_NOT_RUNNING: 'conflict',
  SANDBOX_REPLACED: 'conflict',
  INVALID_DIRECTORY: 'permanent',
  LABEL_TAKEN: 'conflict',
  IDEMPOTENCY_CONFLICT: 'conflict',
  SNAPSHOT_NOT_FOUND: 'not_found',
  SNAPSHOT_BUSY: 'transient',
  SNAPSHOT_HAS_DEPENDENTS: 'conflict',
  BACKUP_NOT_FOUND: 'not_found',
  BACKUP_INCOMPLETE: 'permanent',
  BACKUP_FAILED: 'transient',
  RESTORE_FAILED: 'transient',
  INTERNAL: 'permanent',
} as const;

export type Code = keyof typeof KINDS;

/** A failure of an operation. Its properties survive RPC. */
export class SnapshotterError extends Error {
  readonly code: Code;
  readonly kind: string;
  readonly remediation: string;
  readonly retryable: boolean;
  correlationId?: string;

  constructor(code: Code, message: string, remediation: string, cause?: unknown) {
    super(`${code}: ${message}`, cause === undefined ? {} : { cause });
    this.name = 'SnapshotterError';
    this.code = code;
    this.kind = KINDS[code];
    this.remediation = remediation;
    this.retryable = this.kind === 'transient';
  }

  /** What was thrown, as one of these, for the call with that id. */
  static of(thrown: unknown, correlationId: string): SnapshotterError {
    const known = thrown as SnapshotterError;
    const error =
      known?.code in KINDS
        ? known
        : new SnapshotterError('INTERNAL', String(known?.message ?? thrown), 'Try again; report it.', thrown);
    error.correlationId = correlationId;
    return error;
  }
}
