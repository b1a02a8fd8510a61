// Errors with codes and remediations.

/** The kind of each code. */
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

/** The error of an operation. Its properties are passed over RPC. */
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

  /** Converts an exception, and adds the correlation id of the call. */
  static of(thrown: unknown, correlationId: string): SnapshotterError {
    const candidate = thrown as SnapshotterError;
    const error =
      candidate?.code in KINDS
        ? candidate
        : new SnapshotterError(
            'INTERNAL',
            String(candidate?.message ?? thrown),
            'Try again. If it fails again, report it.',
            thrown,
          );
    error.correlationId = correlationId;
    return error;
  }
}

export function notFound(id: string) {
  return new SnapshotterError(
    'SNAPSHOT_NOT_FOUND',
    `The ledger has no snapshot ${id}.`,
    'Use another snapshot.',
  );
}

export function busy(id: string) {
  return new SnapshotterError(
    'SNAPSHOT_BUSY',
    `The snapshot ${id} is still being created.`,
    'Try again later.',
  );
}
